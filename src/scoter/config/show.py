"""Showing the configuration: as TOML with origins, as a commented template, as rows."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from scoter.config.load import Loaded, plugin_key
from scoter.config.sections import SECTIONS, fields
from scoter.config.setting_values import accepts, quoted, read, write
from scoter.config.settings import Field, fields_of
from scoter.config.sources import DEFAULT, GivenValue
from scoter.secrets import has_secret, sounds_secret

_WIDTH = 100
_HIDDEN = "(hidden)"


class SettingRow(msgspec.Struct, frozen=True):
    """One setting for a table or ``--json``; values are TOML."""

    name: str
    value: str
    origin: str
    default: str
    doc: str
    nutch: tuple[str, ...]


def rows(loaded: Loaded) -> list[SettingRow]:
    """Return every setting with its value and origin, then those of plug-ins."""
    found = [
        SettingRow(
            name=field.name,
            value=_HIDDEN if _is_hidden(field, loaded) else _value(field, loaded),
            origin=_origin(field, loaded),
            default=written_default(field),
            doc=field.setting.doc,
            nutch=field.setting.nutch,
        )
        for field in fields().values()
    ]
    for name, table in sorted(loaded.config.plugin.items()):
        for key, given in table.items():
            value = _HIDDEN if sounds_secret(key) else toml_value(given.value)
            found.append(SettingRow(f"plugin.{name}.{key}", value, str(given.origin), "", "", ()))
    return found


def effective_toml(loaded: Loaded, plugin_names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the effective configuration as TOML, with the origin of each value as a comment.

    Passwords are left out, so that the text can be shared. ``plugin_names`` maps the keys of plug-in tables to the
    plug-ins' names.
    """
    lines: list[str] = []
    for section, struct in SECTIONS.items():
        lines += ["", f"[{section}]"]
        for field in fields_of(section, struct):
            line = f"{field.key} = {_value(field, loaded)}"
            if _is_hidden(field, loaded):
                line = f"# {field.key} = {_HIDDEN}"
            lines.append(f"{line}  # {_origin(field, loaded)}")
    for name, table in sorted(loaded.config.plugin.items()):
        lines += ["", f"[plugin.{toml_key(plugin_names.get(name, name))}]"]
        for key, given in table.items():
            hidden = sounds_secret(key)
            line = f"# {toml_key(key)} = {_HIDDEN}" if hidden else f"{toml_key(key)} = {toml_value(given.value)}"
            lines.append(f"{line}  # {given.origin}")
    return "\n".join(lines[1:]) + "\n"


def recorded_toml(loaded: Loaded, plugins: Mapping[str, type[msgspec.Struct]] = MappingProxyType({})) -> str:
    """Return the settings that were given, from whatever source, as TOML; secrets are left out.

    ``plugins`` are the settings structs that installed plug-ins declare: their relative paths become absolute.
    """
    lines: list[str] = []
    for section, struct in SECTIONS.items():
        given = [field for field in fields_of(section, struct) if field.name in loaded.origins]
        kept = [f"{field.key} = {_value(field, loaded)}" for field in given if not _is_hidden(field, loaded)]
        kept += [f"{toml_key(key)} = {toml_value(value)}" for key, value in _ignored(loaded, section)]
        if kept:
            lines += ["", f"[{section}]", *kept]
    structs = {plugin_key(name): (name, struct) for name, struct in plugins.items()}
    for key, table in sorted(loaded.config.plugin.items()):
        name, declared = structs.get(key, (key, None))
        known = {field.key: field for field in fields_of(f"plugin.{name}", declared)} if declared else {}
        kept = [
            f"{toml_key(each)} = {_written(known.get(each), table[each])}" for each in table if not sounds_secret(each)
        ]
        lines += ["", f"[plugin.{toml_key(name)}]", *kept]
    for name in sorted({item.name.rpartition(".")[0] for item in loaded.ignored if item.name.startswith("plugin.")}):
        if plugin_key(name.partition(".")[2]) not in loaded.config.plugin:
            entries = _ignored(loaded, name)
            lines += ["", f"[{name}]", *(f"{toml_key(key)} = {toml_value(value)}" for key, value in entries)]
    return "\n".join(lines[1:]) + "\n" if lines else ""


def _ignored(loaded: Loaded, section: str) -> Iterator[tuple[str, Any]]:
    """Yield the ignored settings of a crawl directory: they stay there, in case somebody trusts them later."""
    for item in loaded.ignored:
        above, _, key = item.name.rpartition(".")
        if above == section:
            yield key, item.value


def secrets(loaded: Loaded) -> list[str]:
    """Return the names of the secrets that were given."""
    own = [field.name for field in fields().values() if field.name in loaded.origins and _is_hidden(field, loaded)]
    tables = loaded.config.plugin.items()
    return own + [f"plugin.{name}.{key}" for name, table in tables for key in table if sounds_secret(key)]


def _written(field: Field | None, given: GivenValue) -> str:
    return toml_value(given.value) if field is None else write(field.type, read(field, given), field.setting.none)


def defaults_toml(plugins: Mapping[str, type[msgspec.Struct]] = MappingProxyType({})) -> str:
    """Return a complete configuration file: every setting with its description, accepted values and default.

    ``plugins`` are the settings structs that installed plug-ins declare, by plug-in name.
    """
    lines = [
        "# Every setting of Scoter with its default.",
        "# Durations and sizes have units; a plain number is seconds or bytes.",
        "# Relative paths start at the folder of this file.",
    ]
    for section, struct in SECTIONS.items():
        lines += ["", "", *_comment(struct.__doc__ or ""), f"[{section}]"]
        for field in fields_of(section, struct):
            lines += ["", *_about(field), _template(field)]
    lines += ["", "", "# A plug-in with its own settings has a table [plugin.NAME]."]
    for name, declared in plugins.items():
        fields = list(fields_of(f"plugin.{name}", declared))
        # A table would fail to load without the values that such a plug-in requires.
        mark = "# " if any(field.default is msgspec.NODEFAULT for field in fields) else ""
        lines += ["", f"{mark}[plugin.{toml_key(name)}]"]
        for field in fields:
            line = _template(field)
            lines += ["", *_about(field), line if line.startswith("#") else mark + line]
    return "\n".join(lines) + "\n"


def _about(field: Field) -> Iterator[str]:
    setting = field.setting
    if setting.doc:
        yield from _comment(setting.doc)
    yield from _comment(f"Accepts {accepts(field, brief=True)}.")
    if setting.nutch:
        yield from _comment(f"Nutch: {setting.nutch[0]}" + (f" ({setting.departs})" if setting.departs else ""))


def _template(field: Field) -> str:
    if field.default is msgspec.NODEFAULT:  # a required setting of a plug-in
        return f"# {field.key} ="
    line = f"{field.key} = {written_default(field)}"
    # If written out, it would no longer follow; but one with a default of its own would follow the leader's default.
    return f"# {line}  # as {field.setting.follows}" if has_default_of_leader(field) else line


def has_default_of_leader(field: Field) -> bool:
    """Return whether a setting follows another one even in its default."""
    leader = fields().get(field.setting.follows)
    return leader is not None and leader.default == field.default


def _comment(text: str) -> Iterable[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_long_words=False, break_on_hyphens=False
    )


def written_default(field: Field) -> str:
    """Return the default of a setting as TOML."""
    return write(field.type, field.default, field.setting.none)


def _value(field: Field, loaded: Loaded) -> str:
    return write(field.type, loaded.config.value(field.name), field.setting.none)


def _is_hidden(field: Field, loaded: Loaded) -> bool:
    value = loaded.config.value(field.name)
    return (field.setting.secret and value != field.default) or has_secret(field.name, value)


def _origin(field: Field, loaded: Loaded) -> str:
    origin = loaded.origin(field.name)
    leader = field.setting.follows
    follows = origin is DEFAULT and leader and loaded.origin(leader) is not DEFAULT
    return f"as {leader}" if follows else str(origin)


def toml_value(value: Any) -> str:
    """Return a value from tomllib as TOML again."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case list():
            return f"[{', '.join(map(toml_value, value))}]"
        case dict():
            return "{" + ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items()) + "}"
        case int() | float():
            return repr(value)
        case _:  # dates and times
            return value.isoformat() if hasattr(value, "isoformat") else quoted(value)


def toml_key(key: str) -> str:
    """Return a key as TOML, in quotes if necessary."""
    return key if key.isascii() and key.replace("_", "").replace("-", "").isalnum() else quoted(key)
