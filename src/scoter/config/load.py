"""Loading: one frozen configuration from a file, the environment and flags, each overriding the one before.

A crawl's own settings come before all of them: they are what it was started with, and new values override them.
A setting may also be given by a name that it had in an earlier version; whoever loads it can warn of that.

All mistakes are collected and reported together, since fixing them one run at a time is tedious. A plug-in's settings
come from its table ``[plugin.NAME]`` and are read into the struct that it declares: a plain ``msgspec.Struct`` whose
fields have the types of settings, and may carry ``Annotated[..., Setting(...)]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from scoter.config.sections import SECTIONS, Config, fields, former_names
from scoter.config.setting_values import VALUE_FORMATS, accepts, read, write
from scoter.config.settings import Field, fields_of
from scoter.config.sources import (
    DEFAULT,
    PREFIX,
    GivenValue,
    SettingOrigin,
    given_in_environment,
    given_in_file,
    given_in_flags,
)
from scoter.config.trust import settable_by_others
from scoter.errors import ConfigError, PluginError, nearest

_MOST_MISTAKES: Final = 20
_LONGEST_NAME: Final = 100  # characters; finding the nearest name takes more than linear time
_LIST_ALL: Final = "to list all settings: scoter config show --defaults"

PluginSettings = TypeVar("PluginSettings", bound=msgspec.Struct)


class RenamedSetting(msgspec.Struct, frozen=True):
    """A setting that was given by a name of an earlier version."""

    former: str
    name: str
    origin: SettingOrigin


class Loaded(msgspec.Struct, frozen=True):
    """A configuration, and the origin of every value that is not a default."""

    config: Config
    origins: Mapping[str, SettingOrigin]
    ignored: tuple[GivenValue, ...] = ()
    """Settings of a crawl directory that only the user may set, and has not set."""
    renamed: tuple[RenamedSetting, ...] = ()

    def origin(self, name: str) -> SettingOrigin:
        """Return where the value of a setting came from."""
        return self.origins.get(name, DEFAULT)

    def of_crawl(self) -> list[str]:
        """Return the settings whose value comes from the crawl's own settings."""
        return sorted(name for name, origin in self.origins.items() if origin.kind == "crawl")


def load(file: Path | None = None, environ: Mapping[str, str] | None = None, overrides: Sequence[str] = ()) -> Config:
    """Return the effective configuration: defaults < file < ``SCOTER_SECTION__KEY`` < ``-D section.key=value``."""
    return load_with_origins(file, environ, overrides).config


def load_with_origins(
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Sequence[str] = (),
    *,
    crawl: Path | None = None,
    trusts_crawl: bool = False,
) -> Loaded:
    """Return the effective configuration and the origins of its values; ``crawl`` is the file of a crawl's settings.

    Of these, only those are used that others may set (``trust.py``), unless ``trusts_crawl``.

    Relative paths start at the folder of the file they are in, or at the working directory in flags and environment
    variables. They become absolute.
    """
    environ = environ or {}
    flags, mistakes = given_in_flags(overrides)
    sources = [
        given_in_file(crawl, "crawl") if crawl else [],
        given_in_file(file) if file else [],
        given_in_environment(environ),
        flags,
    ]
    renamed = tuple(each for source in sources for each in _renamed(source))
    mistakes += [mistake for source in sources for mistake in _given_twice(source)]
    recorded, *rest = ([_by_present_name(item) for item in source] for source in sources)
    untrusted = [] if trusts_crawl else [item for item in recorded if item.name not in settable_by_others()]
    recorded = [item for item in recorded if item not in untrusted]
    given = [*recorded, *(item for source in rest for item in source)]
    mistakes += _near_variables(environ)

    values: dict[str, Any] = {}
    origins: dict[str, SettingOrigin] = {}
    plugin: dict[str, dict[str, GivenValue]] = {}
    for item in given:
        try:
            if item.name.partition(".")[0] == "plugin":
                _take_plugin(plugin, item, origins)
            elif (field := _field(item)) is not None:
                values[field.name] = read(field, item)
                origins[field.name] = item.origin
        except ValueError as error:
            mistakes.append(f"{item.origin}: {error}")
    _follow(values)
    mistakes += _order_mistakes(values, origins)
    if mistakes:
        raise _config_error(mistakes)
    ignored = tuple(item for item in untrusted if _origin_name(item) not in origins and item.value != {})
    return Loaded(_assembled(values, plugin), origins, ignored, renamed)


def _renamed(given: Iterable[GivenValue]) -> Iterator[RenamedSetting]:
    for item in given:
        if item.name in former_names():
            yield RenamedSetting(item.name, former_names()[item.name], item.origin)


def _by_present_name(item: GivenValue) -> GivenValue:
    name = former_names().get(item.name)
    if name is None:
        return item
    translated = fields()[name].setting.former_values
    value = translated.get(item.value, item.value) if isinstance(item.value, str) else item.value
    return replace(item, name=name, value=value)


def _given_twice(given: Sequence[GivenValue]) -> Iterator[str]:
    """Find settings that one source gives by two of their names; different sources override each other."""
    first: dict[str, GivenValue] = {}
    for item in given:
        name = former_names().get(item.name, item.name)
        before = first.setdefault(name, item)
        if before.name != item.name:
            old, other = (item, before) if item.name != name else (before, item)
            yield f"{old.origin}: {old.name} is now {name}, and {other.origin} sets {other.name}; remove {old.name}"


def _origin_name(item: GivenValue) -> str:
    section, _, rest = item.name.partition(".")
    name, _, key = rest.partition(".")
    return f"plugin.{plugin_key(name)}.{key.replace('-', '_')}" if section == "plugin" else item.name


def _field(item: GivenValue) -> Field | None:
    field = fields().get(item.name)
    if field is not None:
        return field
    if item.value == {} and item.name in SECTIONS:  # a header with nothing below it
        return None
    raise ValueError(_unknown_setting(item))


def _unknown_setting(item: GivenValue) -> str:
    name = item.name[:_LONGEST_NAME]
    section, _, key = name.partition(".")
    if section in SECTIONS and not key:
        return (
            f"{section} is a section, not a setting; write its settings below [{section}], such as {_sample(section)}"
        )
    # In a file the dots of a Nutch name become tables, which are flattened into the whole name again.
    translated = next((field.name for field in fields().values() if name in field.setting.nutch), "")
    if translated:
        return f"{name} is a Nutch property; the setting is {translated}"
    if not key:
        same_key = next((field.name for field in fields().values() if field.key == name), "")
        meant = same_key or _nearest_section(section)
        problem = f"[{name}] is not a section" if item.value == {} else f"{name} is outside any section"
        return f"{problem}; did you mean {meant}?" if meant else f"{problem}; {_LIST_ALL}"
    meant = _nearest_setting(section, key)
    advice = f"did you mean {meant}?" if meant else _LIST_ALL
    if section not in SECTIONS:
        return f"{name} is not a setting: there is no section [{section}]; {advice}"
    return f"{name} is not a setting; {advice}"


def _nearest_setting(section: str, key: str) -> str:
    """Look in the section that was meant, then for the same key in others.

    Keys are compared without their section: a shared first half makes any two names look alike.
    """
    meant = section if section in SECTIONS else nearest(section, SECTIONS)
    keys = {field.key: field.name for field in fields().values() if field.section == meant}
    elsewhere = [field.name for field in fields().values() if field.key == key]
    if key in keys or not elsewhere:
        return keys.get(nearest(key, keys), "") or (_nearest_section(section) if section != meant else "")
    return elsewhere[0]


def _nearest_section(name: str) -> str:
    close = nearest(name, [*SECTIONS, "plugin"])
    return f"[{close}]" if close else ""


def _sample(section: str) -> str:
    field = next(field for field in fields().values() if field.section == section)
    return f"{field.key} = {field.setting.example or write(field.type, field.default, field.setting.none)}"


def plugin_key(name: str) -> str:
    """Return the key of a plug-in's table: with ``_`` for ``-``, which environment variables cannot contain."""
    return name.replace("-", "_").lower()


def _take_plugin(plugin: dict[str, dict[str, GivenValue]], item: GivenValue, origins: dict[str, SettingOrigin]) -> None:
    _, _, rest = item.name.partition(".")
    name, _, key = rest.partition(".")
    if name and not key and item.value == {}:
        plugin.setdefault(plugin_key(name), {})
        return
    if not name or not key or "." in key:
        raise ValueError(
            f"{item.name} is not a plug-in's setting; write plugin.NAME.KEY, or KEY below the header [plugin.NAME]"
        )
    table, key = plugin.setdefault(plugin_key(name), {}), key.replace("-", "_")
    before = table.get(key)
    if before is not None and before.origin.kind == item.origin.kind == "file" and before.name != item.name:
        raise ValueError(f"{item.name} and {before.name} are the same setting; remove one of them")
    table[key] = item
    origins[f"plugin.{plugin_key(name)}.{key}"] = item.origin


def _near_variables(environ: Mapping[str, str]) -> Iterable[str]:
    """Find variables that lack an underscore; other ``SCOTER_`` names may belong to other programs."""
    suspects = sorted(name for name in environ if name.startswith(PREFIX) and "__" not in name)
    if not suspects:
        return []
    known = {f"{PREFIX}{field.section}_{field.key}".upper(): field for field in fields().values()}
    return [
        f"{name}: separate section and key by two underscores: {PREFIX}{field.section.upper()}__{field.key.upper()}"
        for name in suspects
        if (field := known.get(name.upper())) is not None
    ]


def _follow(values: dict[str, Any]) -> None:
    for field in fields().values():
        leader = field.setting.follows
        if leader in values and field.name not in values:
            values[field.name] = values[leader]


def _order_mistakes(values: Mapping[str, Any], origins: Mapping[str, SettingOrigin]) -> Iterable[str]:
    for field in fields().values():
        other = fields().get(field.setting.not_above)
        if other is None or not {field.name, other.name} & origins.keys():
            continue
        low, high = values.get(field.name, field.default), values.get(other.name, other.default)
        if low > high:
            where = origins.get(field.name) or origins[other.name]
            yield (
                f"{where}: {field.name} = {write(field.type, low)} must not exceed"
                f" {other.name} = {write(other.type, high)}; lower the first or raise the second"
            )


def _config_error(mistakes: Sequence[str]) -> ConfigError:
    # A key may contain anything, and terminals obey control characters.
    shown = [
        "".join(character if character.isprintable() else "\ufffd" for character in mistake)
        for mistake in mistakes[:_MOST_MISTAKES]
    ]
    if len(mistakes) > len(shown):
        shown.append(f"and {len(mistakes) - len(shown)} more")
    return ConfigError("\n".join(shown))


def _assembled(values: Mapping[str, Any], plugin: Mapping[str, Mapping[str, GivenValue]]) -> Config:
    sections: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        section, _, key = name.partition(".")
        sections.setdefault(section, {})[key] = value
    built = {section: SECTIONS[section](**keys) for section, keys in sections.items()}
    return Config(**built, plugin=plugin)  # type: ignore[arg-type]


def plugin_settings(config: Config, name: str, struct: type[PluginSettings]) -> PluginSettings:
    """Return the settings of the plug-in ``name`` as an instance of its struct."""
    known = _plugin_fields(name, struct)
    table = config.plugin.get(plugin_key(name), {})
    values: dict[str, Any] = {}
    mistakes: list[str] = []
    for key, given in table.items():
        field = known.get(key)
        try:
            if field is None:
                raise ValueError(_unknown_plugin_setting(name, key, known))
            values[key] = read(field, given)
        except ValueError as error:
            mistakes.append(f"{given.origin}: {error}")
    mistakes += [
        f"plugin.{name}.{field.key} must be set; it accepts {accepts(field)}"
        for field in known.values()
        if field.default is msgspec.NODEFAULT and field.key not in table
    ]
    if mistakes:
        raise ConfigError("\n".join(mistakes))
    try:
        return struct(**values)
    except (TypeError, ValueError) as error:  # how the __post_init__ of a msgspec struct rejects its values
        raise ConfigError(str(error), where=f"plugin.{name}") from error


def _plugin_fields(name: str, struct: type[msgspec.Struct]) -> dict[str, Field]:
    try:
        found = fields_of(f"plugin.{name}", struct)
    except (TypeError, NameError) as error:
        raise PluginError(f"the plug-in {name} declares invalid Settings: {error}") from None
    for field in found:
        if field.type.item not in VALUE_FORMATS:
            raise PluginError(
                f"the plug-in {name} declares invalid Settings: {field.key} has a type that no setting can have"
            )
    return {field.key: field for field in found}


def _unknown_plugin_setting(name: str, key: str, known: dict[str, Field]) -> str:
    if not known:
        return f"plugin.{name}.{key} is not a setting; the plug-in {name} has no settings"
    close = nearest(key, known)
    advice = f"did you mean plugin.{name}.{close}?" if close else f"{name} has the settings {', '.join(known)}"
    return f"plugin.{name}.{key} is not a setting; {advice}"
