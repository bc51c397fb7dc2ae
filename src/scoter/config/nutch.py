"""A Nutch site file as a Scoter configuration, with a list of what has no counterpart and why.

Values go through the same reader as any setting, so what is written here always loads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from scoter.config.nutch_names import FAMILIES, NO_COUNTERPART
from scoter.config.nutch_plugins import Chains, chains_of
from scoter.config.nutch_values import native
from scoter.config.nutch_xml import properties
from scoter.config.sections import SECTIONS, fields
from scoter.config.settings import Field
from scoter.config.sources import Given, Origin
from scoter.config.unread import UNREAD
from scoter.config.values import accepts, read, write

_REFERENCE: Final = re.compile(r"\$\{([^${}\s]{1,200})\}")
_MOST_STEPS: Final = 20  # Hadoop, which reads these files for Nutch, stops there too
_LONGEST_VALUE: Final = 65_536
NO_EFFECT: Final = "no effect yet"


class Translated(msgspec.Struct, frozen=True):
    """A property and the setting it became; ``value`` is TOML, empty where the default already follows."""

    nutch: str
    nutch_value: str
    setting: str
    value: str
    note: str = ""


class Untranslated(msgspec.Struct, frozen=True):
    """A property that became nothing, and why."""

    nutch: str
    nutch_value: str
    reason: str


class Imported(msgspec.Struct, frozen=True):
    """What became of a site file."""

    toml_text: str
    translated: tuple[Translated, ...]
    untranslated: tuple[Untranslated, ...]


def import_nutch(xml_text: str | bytes, source_name: str) -> Imported:
    """Translate a Nutch site file; ``UsageError`` for what is no such file."""
    # As in Hadoop, the last property of a name holds.
    given = {item.name: item.value for item in properties(xml_text, source_name)}
    by_name = {nutch: field for field in fields().values() for nutch in field.setting.nutch}
    chains = chains_of(given.get("plugin.includes"), given.get("plugin.excludes"))
    done: list[Translated] = []
    left: list[Untranslated] = []
    for name, raw in given.items():
        if name == "plugin.includes":
            done += _chain_rows(raw, chains)
            left += [Untranslated(name, piece, reason) for piece, reason in chains.untranslated]
            continue
        if name == "plugin.excludes" and "plugin.includes" in given:
            continue
        field = by_name.get(name)
        try:
            if field is None:
                raise ValueError(_reason(name))
            done.append(_translated(field, name, raw, given, chains))
        except ValueError as error:
            left.append(Untranslated(name, _shown(field, raw), str(error)))
    done = [_with_effect(row) for row in done]
    return Imported(_toml(source_name, done, left), tuple(done), tuple(left))


def _with_effect(row: Translated) -> Translated:
    """Return the row, with a note if nothing asks for its setting yet."""
    if row.setting not in UNREAD:
        return row
    return msgspec.structs.replace(row, note="; ".join(filter(None, (row.note, NO_EFFECT))))


def _reason(name: str) -> str:
    if name in NO_COUNTERPART:
        return NO_COUNTERPART[name]
    family = next((reason for prefix, reason in FAMILIES.items() if name.startswith(prefix)), "")
    return family or "not a property of Nutch that Scoter knows"


def _shown(field: Field | None, raw: str) -> str:
    if field is not None and field.setting.secret:
        return "(hidden)"
    return raw if len(raw) <= 80 else raw[:79] + "…"


def _translated(field: Field, name: str, raw: str, given: Mapping[str, str], chains: Chains) -> Translated:
    if field.setting.follows and _follows(field, raw):
        return Translated(name, raw, field.name, "", f"follows {field.setting.follows} unless set")
    value, note = native(field, _expanded(raw, given))
    if field.name in chains.named:
        value = chains.ordered(field.name, value)
    origin = Origin("file", "")
    try:
        typed = read(field, Given(field.name, value, origin))
    except ValueError:
        raise ValueError(f"{field.name} would accept {accepts(field)}") from None
    written = write(field.kind, typed, field.setting.none)
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
            raise ValueError(f"it refers to ${{{found[1]}}}, which this file does not set")
        text = text[: found.start()] + given[found[1]] + text[found.end() :]
        if len(text) > _LONGEST_VALUE:
            raise ValueError("its references make it too long")
    raise ValueError("its references lead in a circle or are too many")


def _chain_rows(raw: str, chains: Chains) -> list[Translated]:
    shown = raw if len(raw) <= 80 else raw[:79] + "…"
    return [
        Translated("plugin.includes", shown, name, write(fields()[name].kind, names))
        for name, names in chains.named.items()
    ]


def _toml(source: str, done: list[Translated], left: list[Untranslated]) -> str:
    # A later row for the same setting replaces an earlier one: an order property knows more than
    # plugin.includes, and of two spellings of one property the last holds.
    rows = {row.setting: row for row in sorted(done, key=lambda row: row.nutch != "plugin.includes")}
    lines = [f"# Translated from {_one_line(source)}."]
    for section in SECTIONS:
        mine = [row for row in rows.values() if row.setting.startswith(f"{section}.") and row.value]
        if mine:
            lines += ["", f"[{section}]", *(_line(row) for row in mine)]
    if left:
        lines += ["", "# Not translated:"]
        lines += [f"# {_one_line(row.nutch)} = {_one_line(row.nutch_value)}: {row.reason}" for row in left]
    return "\n".join(lines) + "\n"


def _line(row: Translated) -> str:
    note = f" ({row.note})" if row.note else ""
    return f"{row.setting.partition('.')[2]} = {row.value}  # {_one_line(row.nutch)}{note}"


def _one_line(text: Any) -> str:
    """Return the text without anything that could end a TOML comment."""
    return "".join(character if character.isprintable() else " " for character in str(text))
