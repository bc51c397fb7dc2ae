"""Translate a Nutch site file into a Scoter configuration, and list what has no counterpart and why.

Values go through the same reader as any setting, so the result always loads. Hostile XML is rejected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from scoter.config.nutch_names import FAMILIES, NO_COUNTERPART
from scoter.config.nutch_values import Chains, active_plugins, chains_of, native
from scoter.config.nutch_xml import XmlReader
from scoter.config.sections import SECTIONS, fields
from scoter.config.settings import Field
from scoter.config.sources import GivenValue, SettingOrigin
from scoter.config.values import accepts, read, write

_REFERENCE: Final = re.compile(r"\$\{([^${}\s]{1,200})\}")
_MOST_STEPS: Final = 20  # Hadoop, which reads these files for Nutch, stops there too
_LONGEST_VALUE: Final = 65_536
_DEFAULT_PLUGINS: Final = "indexer-solr"  # of those that matter here
_OTHER_FILES: Final = ("indexer.indexwriters.file", "exchanges.exchanges.file")
UNKNOWN: Final = "unknown Nutch property"


class Translated(msgspec.Struct, frozen=True):
    """A property and its setting; ``value`` is TOML, or empty if the default already follows."""

    nutch: str
    nutch_value: str
    setting: str
    value: str
    note: str = ""


class Untranslated(msgspec.Struct, frozen=True):
    """A property without counterpart, and why."""

    nutch: str
    nutch_value: str
    reason: str


class Imported(msgspec.Struct, frozen=True):
    """The translation of a site file."""

    toml_text: str
    translated: tuple[Translated, ...]
    untranslated: tuple[Untranslated, ...]


def import_nutch(xml_text: str | bytes, source_name: str, more: Sequence[Translated] = ()) -> Imported:
    """Translate a Nutch site file; raise ``UsageError`` if it is not one.

    ``more`` are settings from other files, which override those of this one.
    """
    # As in Hadoop, the last property with a name wins.
    given = dict(properties(xml_text, source_name))
    by_name = {nutch: field for field in fields().values() for nutch in field.setting.nutch}
    chains = chains_of(given.get("plugin.includes"), given.get("plugin.excludes"))
    done: list[Translated] = []
    left: list[Untranslated] = []
    for name, raw in given.items():
        if name == "plugin.includes":
            done += _chain_rows(raw, chains)
            left += [Untranslated(name, piece, reason) for piece, reason in chains.untranslated]
            continue
        if (name == "plugin.excludes" and "plugin.includes" in given) or (more and name in _OTHER_FILES):
            continue
        field = by_name.get(name)
        try:
            if field is None:
                raise ValueError(reason_without(name))
            done.append(_translated(field, name, raw, given, chains))
        except ValueError as error:
            left.append(Untranslated(name, _shown(field, raw), str(error)))
    done += more
    return Imported(_toml(source_name, done, left), tuple(done), tuple(left))


def plugins_of(xml_text: str | bytes, source_name: str) -> frozenset[str]:
    """Return the ids of the plug-ins that a site file activates, or that Nutch does if the file does not say."""
    given = dict(properties(xml_text, source_name))
    return active_plugins(given.get("plugin.includes", _DEFAULT_PLUGINS), given.get("plugin.excludes", ""))


def reason_without(name: str) -> str:
    """Return why a property has no counterpart."""
    if name in NO_COUNTERPART:
        return NO_COUNTERPART[name]
    family = next((reason for prefix, reason in FAMILIES.items() if name.startswith(prefix)), "")
    return family or UNKNOWN


def _shown(field: Field | None, raw: str) -> str:
    if field is not None and field.setting.secret:
        return "(hidden)"
    return raw if len(raw) <= 80 else raw[:79] + "…"


def _translated(field: Field, name: str, raw: str, given: Mapping[str, str], chains: Chains) -> Translated:
    if field.setting.follows and _follows(field, raw):
        return Translated(name, raw, field.name, "", f"follows {field.setting.follows} unless set")
    between = given.get("index.static.fieldsep", "") if field.name == "index.static" else ""
    value, note = native(field, _expanded(raw, given), between)
    if field.name in chains.named:
        value = chains.ordered(field.name, value)
    origin = SettingOrigin("file", "")
    try:
        typed = read(field, GivenValue(field.name, value, origin))
    except ValueError:
        raise ValueError(f"not valid for {field.name}, which accepts {accepts(field)}") from None
    written = write(field.type, typed, field.setting.none)
    return Translated(name, _shown(field, raw), field.name, written, note)


def _follows(field: Field, raw: str) -> bool:
    leader = fields()[field.setting.follows]
    return raw in {f"${{{nutch}}}" for nutch in leader.setting.nutch}


def _expanded(raw: str, given: Mapping[str, str]) -> str:
    """Put the values of other properties in place of ``${name}``."""
    text = raw
    for _ in range(_MOST_STEPS):
        found = _REFERENCE.search(text)
        if found is None:
            return text
        if found[1] not in given:
            raise ValueError(f"refers to ${{{found[1]}}}, which this file does not set")
        text = text[: found.start()] + given[found[1]] + text[found.end() :]
        if len(text) > _LONGEST_VALUE:
            raise ValueError("too long after expanding its references")
    raise ValueError("its references are circular or too many")


def _chain_rows(raw: str, chains: Chains) -> list[Translated]:
    return [
        Translated("plugin.includes", _shown(None, raw), name, write(fields()[name].type, names))
        for name, names in chains.named.items()
    ]


def _toml(source: str, done: list[Translated], left: list[Untranslated]) -> str:
    # A later row for the same setting replaces an earlier one: an order property knows more than
    # plugin.includes, and of two spellings of one property the last holds.
    rows = {row.setting: row for row in sorted(done, key=lambda row: row.nutch != "plugin.includes")}
    lines = [f"# Translated from {one_line(source)}."]
    for section in SECTIONS:
        mine = [row for row in rows.values() if row.setting.startswith(f"{section}.") and row.value]
        if mine:
            lines += ["", f"[{section}]", *(_line(row) for row in mine)]
    if left:
        lines += ["", "# Not translated:"]
        lines += [f"# {one_line(row.nutch)} = {one_line(row.nutch_value)}: {row.reason}" for row in left]
    return "\n".join(lines) + "\n"


def _line(row: Translated) -> str:
    note = f" ({row.note})" if row.note else ""
    return f"{row.setting.partition('.')[2]} = {row.value}  # {one_line(row.nutch)}{note}"


def one_line(text: Any) -> str:
    """Return the text without anything that could end a TOML comment."""
    return "".join(character if character.isprintable() else " " for character in str(text))


_MOST_PROPERTIES: Final = 10_000
_HINT: Final = "Pass a file such as Nutch's conf/nutch-site.xml."


def properties(xml: str | bytes, source: str) -> list[tuple[str, str]]:
    """Return the names and values of a site file's properties in their order."""
    reader = _PropertyReader(source, _HINT)
    reader.read(xml)
    return reader.found


class _PropertyReader(XmlReader):
    """Collects ``configuration/property/{name,value}`` and rejects other files."""

    def __init__(self, source: str, hint: str) -> None:
        super().__init__(source, hint)
        self.found: list[tuple[str, str]] = []
        self._parts: dict[str, list[str]] = {}

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if len(self.path) == 1 and tag != "configuration":
            raise self.refuse(f"starts with <{tag[:40]}> instead of <configuration>")
        if self.path == ["configuration", "property"]:
            self._parts = {}
        elif self._is_part():
            self._parts[tag] = []

    def text(self, text: str) -> None:
        if self._is_part():
            self._parts[self.path[-1]].append(text)

    def end(self) -> None:
        if self.path == ["configuration", "property"]:
            if len(self.found) >= _MOST_PROPERTIES:
                raise self.refuse(f"more than {_MOST_PROPERTIES:,} properties")
            name, value = ("".join(self._parts.get(part, [])).strip() for part in ("name", "value"))
            if name:
                self.found.append((name, value))

    def _is_part(self) -> bool:
        return self.path[:2] == ["configuration", "property"] and len(self.path) == 3
