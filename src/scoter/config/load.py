"""One frozen configuration out of a file, the environment and flags, each stronger than the last.

All mistakes are gathered and told at once: mending them one run at a time is tedious.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from scoter.config.sections import SECTIONS, Config, fields
from scoter.config.settings import Field
from scoter.config.sources import (
    DEFAULT,
    PREFIX,
    GivenValue,
    SettingOrigin,
    given_in_environment,
    given_in_file,
    given_in_flags,
)
from scoter.config.values import read, write
from scoter.errors import ConfigError, nearest

_MOST_MISTAKES: Final = 20
_LONGEST_NAME: Final = 100  # characters; looking for the nearest name takes longer than linear time
ALL_SETTINGS: Final = "`scoter config show --defaults` lists all settings"


class Loaded(msgspec.Struct, frozen=True):
    """A configuration and where each value that is not a default came from."""

    config: Config
    origins: Mapping[str, SettingOrigin]

    def origin(self, name: str) -> SettingOrigin:
        """Return where the value of a setting came from."""
        return self.origins.get(name, DEFAULT)


def load(file: Path | None = None, environ: Mapping[str, str] | None = None, overrides: Sequence[str] = ()) -> Config:
    """Return the effective configuration: defaults < file < ``SCOTER_SECTION__KEY`` < ``-D section.key=value``."""
    return load_with_origins(file, environ, overrides).config


def load_with_origins(
    file: Path | None = None, environ: Mapping[str, str] | None = None, overrides: Sequence[str] = ()
) -> Loaded:
    """Return the same, and where each value came from.

    Paths are taken from the folder of the file they stand in; in the environment and in flags,
    from the working directory. They come out absolute.
    """
    environ = environ or {}
    flags, mistakes = given_in_flags(overrides)
    given = [*(given_in_file(file) if file else []), *given_in_environment(environ), *flags]
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
        raise _gathered(mistakes)
    return Loaded(_assembled(values, plugin), origins)


def _field(item: GivenValue) -> Field | None:
    field = fields().get(item.name)
    if field is not None:
        return field
    if item.value == {} and item.name in SECTIONS:  # a header with nothing below it
        return None
    raise ValueError(_unknown(item))


def _unknown(item: GivenValue) -> str:
    name = item.name[:_LONGEST_NAME]
    section, _, key = name.partition(".")
    if section in SECTIONS and not key:
        return f"{section} is a section; write its settings below [{section}], such as {_sample(section)}"
    # A file may spell Nutch's names as they are: the dots become tables, and the whole name is back here.
    translated = next((field.name for field in fields().values() if name in field.setting.nutch), "")
    if translated:
        return f"{name} is Nutch's name; write {translated}"
    if not key:
        own = next((field.name for field in fields().values() if field.key == name), "")
        meant = own or _nearest_section(section)
        said = f"[{name}] is not a section" if item.value == {} else f"{name} stands outside any section"
        return f"{said}; did you mean {meant}?" if meant else f"{said}; {ALL_SETTINGS}"
    meant = _nearest_setting(section, key)
    advice = f"did you mean {meant}?" if meant else ALL_SETTINGS
    if section not in SECTIONS:
        return f"[{section}] is not a section, so {name} is not a setting; {advice}"
    return f"{name} is not a setting; {advice}"


def _nearest_setting(section: str, key: str) -> str:
    """Look in the section that was meant, then for the same key elsewhere.

    The key is compared without its section: a shared first half makes any two names look alike.
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
    return f"{field.key} = {field.setting.example or write(field.kind, field.default, field.setting.none)}"


def plugin_key(name: str) -> str:
    """Return the form under which a plug-in's table is kept: an environment variable has no ``-``."""
    return name.replace("-", "_").lower()


def _take_plugin(plugin: dict[str, dict[str, GivenValue]], item: GivenValue, origins: dict[str, SettingOrigin]) -> None:
    _, _, rest = item.name.partition(".")
    name, _, key = rest.partition(".")
    if name and not key and item.value == {}:
        plugin.setdefault(plugin_key(name), {})
        return
    if not name or not key or "." in key:
        raise ValueError(f"{item.name} is not a plug-in's setting; write plugin.NAME.key, or key below [plugin.NAME]")
    table, key = plugin.setdefault(plugin_key(name), {}), key.replace("-", "_")
    before = table.get(key)
    if before is not None and before.origin.kind == item.origin.kind == "file" and before.name != item.name:
        raise ValueError(f"{item.name} is the same setting as {before.name}; keep one of them")
    table[key] = item
    origins[f"plugin.{plugin_key(name)}.{key}"] = item.origin


def _near_variables(environ: Mapping[str, str]) -> Iterable[str]:
    """Find variables with one underscore too few; other ``SCOTER_`` names are none of our business."""
    suspects = sorted(name for name in environ if name.startswith(PREFIX) and "__" not in name)
    if not suspects:
        return []
    known = {f"{PREFIX}{field.section}_{field.key}".upper(): field for field in fields().values()}
    return [
        f"{name}: two underscores stand between section and key; "
        f"write {PREFIX}{field.section.upper()}__{field.key.upper()}"
        for name in suspects
        if (field := known.get(name.upper())) is not None
    ]


def _follow(values: dict[str, Any]) -> None:
    for field in fields().values():
        leader = field.setting.follows
        if leader in values and field.name not in values:
            values[field.name] = values[leader]


def _order_mistakes(values: Mapping[str, Any], origins: Mapping[str, SettingOrigin]) -> Iterable[str]:
    mistakes = []
    for field in fields().values():
        other = fields().get(field.setting.not_above)
        if other is None or not {field.name, other.name} & origins.keys():
            continue
        low, high = values.get(field.name, field.default), values.get(other.name, other.default)
        if low > high:
            where = origins.get(field.name) or origins[other.name]
            mistakes.append(
                f"{where}: {field.name} = {write(field.kind, low)} is above "
                f"{other.name} = {write(other.kind, high)}; lower the one or raise the other"
            )
    return mistakes


def _gathered(mistakes: Sequence[str]) -> ConfigError:
    # A key may hold anything, and a terminal obeys control characters.
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
