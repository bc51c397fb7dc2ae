"""Find plug-ins, check them against their extension point, and instantiate them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from msgspec import Struct

from scoter.config import Config, plugin_key, plugin_settings
from scoter.core.bounded import BoundedMap
from scoter.core.chain import takes
from scoter.errors import ConfigError, PluginError, UserError, did_you_mean, nearest
from scoter.plugins.points import COLUMN_HOOKS, POINTS, SCORING_HOOKS, Column, NoSettings, Point, ScoringFilter, Setup


class Plugin(Struct, frozen=True):
    """An installed plug-in, not yet imported."""

    point: Point
    name: str
    entry: EntryPoint

    @property
    def full_name(self) -> str:
        return f"{self.point.name}-{self.name}"

    @property
    def package(self) -> str:
        return self.entry.dist.name if self.entry.dist else "?"

    @property
    def version(self) -> str:
        return self.entry.dist.version if self.entry.dist else "?"

    def load(self) -> type[Any]:
        """Import the class and check that it fits its extension point."""
        try:
            found = self.entry.load()
        except (Exception, SystemExit) as error:  # whatever somebody else's module raises when it is imported
            raise self._broken("failed to import", error) from error
        problems = _misfits(self.point, found)
        if problems:
            raise PluginError(
                f"{self.full_name} (package {self.package} {self.version}, {self.entry.value}) does not fit"
                f" its extension point: {'; '.join(problems)}",
                hint=f"See {self.point.protocol.__name__} in scoter.plugins for what it must provide.",
            )
        return found  # type: ignore[no-any-return]

    def purpose(self) -> str:
        """Return the first sentence of the class's docstring."""
        return (inspect.getdoc(self.load()) or "").partition("\n")[0]

    def make(self, config: Config) -> Any:
        """Instantiate the plug-in with its settings."""
        found = self.load()
        declared = getattr(found, "Settings", None)
        settings = None if declared is None else plugin_settings(config, self.full_name, declared)
        try:
            made = found(Setup(config, settings))
        except UserError:
            raise
        except (Exception, SystemExit) as error:  # whatever somebody else's class raises when it is made
            raise self._broken("cannot be instantiated", error) from error
        _ORIGINS.put(id(made), (made, self, config))
        return made

    def _broken(self, what: str, error: BaseException) -> PluginError:
        return PluginError(
            f"{self.full_name} (package {self.package} {self.version}) {what}: {type(error).__name__}: {error}",
            hint=f"Fix or uninstall {self.package}, or remove {self.name!r} from {self.point.chain}.",
        )


_ORIGINS: BoundedMap[int, tuple[Any, Plugin, Config]] = BoundedMap(128)
"""The plug-ins made last, by identity: some cannot be hashed or referenced weakly."""


def origin(made: Any) -> tuple[Plugin, Config] | None:
    """Return the plug-in and the configuration that an object was made from; ``None`` if from none, or forgotten."""
    found = _ORIGINS.peek(id(made))
    return None if found is None or found[0] is not made else found[1:]


@lru_cache(maxsize=1)
def installed() -> tuple[Plugin, ...]:
    """Return every plug-in of every installed package, by point and name."""
    found = entry_points()
    return tuple(
        Plugin(point, entry.name, entry)
        for point in POINTS.values()
        for entry in sorted(found.select(group=point.group), key=lambda entry: entry.name)
    )


def find(point: Point, name: str) -> Plugin:
    """Return the one plug-in of that name at a point."""
    at_point = [plugin for plugin in installed() if plugin.point is point]
    matches = [plugin for plugin in at_point if plugin.name == name]
    if not matches:
        known = [plugin.name for plugin in at_point]
        raise PluginError(
            f"{name!r} is not a {point.name} plug-in{did_you_mean(name, known)}",
            where=point.chain,
            hint=f"Installed: {', '.join(known) or 'none'}. To list all plug-ins: scoter plugin list",
        )
    if len({plugin.entry.value for plugin in matches}) > 1:
        owners = " and ".join(f"{plugin.package} ({plugin.entry.value})" for plugin in matches)
        raise PluginError(f"two packages offer {point.name}-{name}: {owners}", hint="Uninstall one of them.")
    return matches[0]


def find_by_full_name(full_name: str) -> Plugin:
    """Return the plug-in of a name such as ``urlfilter-regex``."""
    point, _, name = full_name.partition("-")
    if point in POINTS and name:
        return find(POINTS[point], name)
    raise PluginError(
        f"{full_name!r} is not a plug-in{did_you_mean(full_name, [plugin.full_name for plugin in installed()])}",
        hint="Plug-ins are named POINT-NAME, such as urlfilter-regex. To list them: scoter plugin list",
    )


def declared_settings() -> Mapping[str, type[Struct]]:
    """Return the declared Settings of all plug-ins that can be imported, by full name."""
    found: dict[str, type[Struct]] = {}
    for plugin in installed():
        with suppress(PluginError):  # `scoter plugin list` reports it
            declared = getattr(plugin.load(), "Settings", None)
            if declared is not None:
                found[plugin.full_name] = declared
    return found


def names_by_key() -> Mapping[str, str]:
    """Map the keys of plug-in tables in the configuration to the plug-ins' full names."""
    return {plugin_key(plugin.full_name): plugin.full_name for plugin in installed()}


def check_tables(config: Config) -> None:
    """Check every table ``[plugin.NAME]``, including those of inactive plug-ins."""
    if not config.plugin:
        return
    by_key = {plugin_key(plugin.full_name): plugin for plugin in installed()}
    for key, table in config.plugin.items():
        plugin = by_key.get(key)
        if plugin is None:
            close = nearest(key, by_key)
            where = str(next(iter(table.values())).origin) if table else f"plugin.{key}"
            raise ConfigError(
                f"{key} is not a plug-in" + (f"; did you mean {by_key[close].full_name}?" if close else ""),
                where=where,
                hint="To list all plug-ins: scoter plugin list",
            )
        plugin_settings(config, plugin.full_name, getattr(plugin.load(), "Settings", NoSettings))


def active(point: Point, config: Config) -> tuple[str, ...]:
    """Return the names of a point's active plug-ins, in order."""
    value = config.value(point.chain)
    return (value,) if isinstance(value, str) else tuple(value)


def chain(name: str, config: Config) -> tuple[tuple[str, Any], ...]:
    """Instantiate the active plug-ins of a point, in order, each with its name."""
    point = POINTS[name]
    names = active(point, config)
    twice = next((each for each in names if names.count(each) > 1), None)
    if twice is not None:
        raise ConfigError(f"{twice!r} is listed twice", where=point.chain, hint="List each plug-in once.")
    return tuple((each, find(point, each).make(config)) for each in names)


def preload(names: Iterable[str], config: Config) -> None:
    """Import the active plug-ins of points before this process forks others, which then share the modules."""
    for name in names:
        point = POINTS[name]
        with suppress(PluginError):  # reported when they are made
            for each in active(point, config):
                find(point, each).load()


def _misfits(point: Point, found: Any) -> list[str]:
    """Return what a class lacks for its extension point."""
    if not isinstance(found, type):
        return [f"{found!r} is not a class"]
    columns = getattr(found, "columns", ())
    if not (isinstance(columns, tuple) and all(isinstance(each, Column) for each in columns)):
        return ["columns is not a tuple of Column"]
    if point.protocol is ScoringFilter:
        hooks = [name for name in (*SCORING_HOOKS, *COLUMN_HOOKS) if callable(getattr(found, name, None))]
        missing = [] if hooks else ["has none of the scoring hooks " + ", ".join(SCORING_HOOKS)]
        return missing + [text for hook in hooks for text in _wrong_call(found, hook, _wanted(hook))]
    problems = [f"lacks {name}" for name in getattr(point.protocol, "__annotations__", {}) if not hasattr(found, name)]
    for name, wanted in vars(point.protocol).items():
        if name.startswith("_") or not callable(wanted):
            continue
        if not callable(getattr(found, name, None)):
            problems.append(f"lacks {name}()")
        else:
            problems += _wrong_call(found, name, wanted)
    return problems


def _wanted(hook: str) -> Any:
    return getattr(ScoringFilter, hook, None) or (lambda self, table: None)


_OPTIONAL = {"index": 2}
"""How many of the last parameters of a method a plug-in need not take."""


def _wrong_call(found: type, name: str, wanted: Any) -> list[str]:
    parameters = list(inspect.signature(wanted).parameters)
    own = getattr(found, name)
    if isinstance(inspect.getattr_static(found, name), staticmethod | classmethod):
        parameters = parameters[1:]
    if name in _OPTIONAL and not takes(own, len(parameters)):
        parameters = parameters[: -_OPTIONAL[name]]
    try:
        inspect.signature(own).bind(*parameters)
    except TypeError:
        return [f"{name}() must take ({', '.join(parameters)})"]
    except ValueError:  # a built-in function without a signature
        return []
    return []
