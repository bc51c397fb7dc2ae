"""Translate a Nutch site file into a Scoter configuration, and list what has no counterpart and why.

Values go through the same reader as any setting, so the result always loads. Hostile XML is rejected.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from typing import Any, Final

import msgspec

from scoter.config.sections import SECTIONS, fields
from scoter.config.setting_values import accepts, read, write
from scoter.config.settings import Field
from scoter.config.sources import GivenValue, SettingOrigin
from scoter.nutch.settings.names import FAMILIES, NO_COUNTERPART
from scoter.nutch.settings.property_values import Chains, active_plugins, chains_of, listed_plugins, native
from scoter.nutch.settings.site import properties

_REFERENCE: Final = re.compile(r"\$\{([^${}\s]{1,200})\}")
_MOST_STEPS: Final = 20  # Hadoop, which reads these files for Nutch, stops there too
_LONGEST_VALUE: Final = 65_536
_DEFAULT_PLUGINS: Final = (
    "protocol-http|urlfilter-regex|parse-(html|tika)|index-(basic|anchor)|indexer-solr|scoring-opic|"
    "urlnormalizer-(pass|regex|basic)"
)
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


def import_nutch(xml_text: str | bytes, source_name: str) -> Imported:
    """Translate a Nutch site file; raise ``UsageError`` if it is not one."""
    return translate(properties(xml_text, source_name), source_name)


def translate(
    given: Mapping[str, str], source_name: str, more: Sequence[Translated] = (), elsewhere: Container[str] = ()
) -> Imported:
    """Translate the properties of a site file.

    ``more`` are settings from other files, which override those of this one; ``elsewhere`` are the properties that
    these settings stand for.
    """
    by_name = {nutch: field for field in fields().values() for nutch in field.setting.nutch}
    chains = chains_of(given.get("plugin.includes"), given.get("plugin.excludes"))
    done: list[Translated] = []
    left: list[Untranslated] = []
    for name, raw in given.items():
        if name == "plugin.includes":
            done += _chain_rows(raw, chains)
            left += [Untranslated(name, piece, reason) for piece, reason in chains.untranslated]
            continue
        if (name == "plugin.excludes" and "plugin.includes" in given) or name in elsewhere:
            continue
        field = by_name.get(name)
        try:
            if field is None:
                raise ValueError(reason_without(name))
            done.append(_translated(field, name, raw, given, chains))
        except ValueError as error:
            left.append(Untranslated(name, _shown(field, raw), str(error)))
    done += more
    return Imported(_toml(source_name, [*_implied(given, done), *done], left), tuple(done), tuple(left))


def plugins_of(given: Mapping[str, str]) -> frozenset[str]:
    """Return the ids of the plug-ins that a site file activates, or that Nutch does if the file does not say."""
    return active_plugins(given.get("plugin.includes", _DEFAULT_PLUGINS), given.get("plugin.excludes", ""))


def with_url_chains(given: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
    """Add the URL filters and normalisers that Nutch activates if a site file does not say.

    ``defaults`` is the content of nutch-default.xml, if known. The other plug-ins stay those of Scoter's defaults.
    """
    includes = defaults.get("plugin.includes", _DEFAULT_PLUGINS)
    chains = [name for name in listed_plugins(includes) if name.startswith(("urlfilter-", "urlnormalizer-"))]
    return {"plugin.includes": "|".join(chains), **given}


def reason_without(name: str) -> str:
    """Return why a property has no counterpart."""
    if name in NO_COUNTERPART:
        return NO_COUNTERPART[name]
    family = next((reason for prefix, reason in FAMILIES.items() if name.startswith(prefix)), "")
    return family or UNKNOWN


def _implied(given: Mapping[str, str], done: Sequence[Translated]) -> list[Translated]:
    """Return what Nutch does without a property for it: it skips hosts with a Crawl-delay above the maximum."""
    if any(row.setting == "fetch.max_crawl_delay" and row.value == '"off"' for row in done):
        return []
    name = "fetcher.max.crawl.delay"
    return [Translated(name, given.get(name, "30"), "fetch.long_crawl_delay", '"skip"', "as Nutch does")]


def _shown(field: Field | None, raw: str) -> str:
    if field is not None and field.setting.secret:
        return "(hidden)"
    return raw if len(raw) <= 80 else raw[:79] + "…"


def _translated(field: Field, name: str, raw: str, given: Mapping[str, str], chains: Chains) -> Translated:
    if field.setting.follows and _follows(field, raw):
        return Translated(name, raw, field.name, "", f"follows {field.setting.follows} unless set")
    between = given.get("index.static.fieldsep", "") if field.name == "index.static" else ""
    value, note = native(field, expanded(raw, given), between)
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


def expanded(raw: str, given: Mapping[str, str]) -> str:
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
    for table in sorted({_table(row) for row in rows.values() if row.setting.startswith("plugin.")}):
        lines += ["", f"[{table}]", *(_line(row) for row in rows.values() if _table(row) == table)]
    if left:
        lines += ["", "# Not translated:"]
        lines += [f"# {one_line(row.nutch)} = {one_line(row.nutch_value)}: {row.reason}" for row in left]
    return "\n".join(lines) + "\n"


def _table(row: Translated) -> str:
    return row.setting.rpartition(".")[0]


def _line(row: Translated) -> str:
    note = f" ({row.note})" if row.note else ""
    return f"{row.setting.rpartition('.')[2]} = {row.value}  # {one_line(row.nutch)}{note}"


def one_line(text: Any) -> str:
    """Return the text without anything that could end a TOML comment."""
    return "".join(character if character.isprintable() else " " for character in str(text))
