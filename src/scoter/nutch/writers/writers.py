"""Translating Nutch's index-writers.xml and exchanges.xml into a file of index writers, and listing the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from scoter.config.setting_values import accepts, read, write
from scoter.config.settings import Field, fields_of
from scoter.config.show import toml_key, toml_value
from scoter.config.sources import GivenValue, SettingOrigin
from scoter.nutch.settings.translation import Translated, Untranslated, one_line
from scoter.nutch.settings.xml import XmlElement, read_element
from scoter.nutch.writers.parameters import WRITER_KINDS, WriterKind, WriterParameters, listed
from scoter.nutch.writers.routes import read_exchanges, route_expression
from scoter.plugins import POINTS, find

_PACKAGE: Final = "org.apache.nutch.indexwriter."
_DEFAULT: Final = "default"
_JEXL: Final = "org.apache.nutch.exchange.jexl.JexlExchange"
_LONGEST_SHOWN: Final = 80
_LOGIN: Final = re.compile(r"//[^/@\s]*@")


class NutchFile(Struct, frozen=True):
    """The content of a file and its name."""

    xml: bytes
    source: str


class ImportedWriters(Struct, frozen=True):
    """The translation: the file of index writers, and the names of the writers that are active."""

    toml_text: str
    active: tuple[str, ...]
    translated: tuple[Translated, ...]
    untranslated: tuple[Untranslated, ...]


def import_writers(writers: NutchFile, exchanges: NutchFile | None, plugins: frozenset[str] | None) -> ImportedWriters:
    """Translate the two files. ``plugins`` are the ids of Nutch's active plug-ins, if known.

    A writer is active if its plug-in is; with exchanges, documents go only to the writers of exchanges that match.
    """
    job = _WritersImport(plugins)
    for element in read_element(writers.xml, writers.source, "writers", "index-writers.xml").named("writer"):
        job.add_writer(element)
    if exchanges is not None:
        for element in read_exchanges(exchanges.xml, exchanges.source):
            job.add_exchange(element)
    sources = " and ".join(one_line(each.source) for each in (writers, exchanges) if each is not None)
    return job.result(sources)


class _WritersImport:
    def __init__(self, plugins: frozenset[str] | None) -> None:
        self._plugins = plugins
        self._lines: list[str] = []
        self._names: list[str] = []
        self._active: list[str] = []
        self._done: list[Translated] = []
        self._left: list[Untranslated] = []

    def add_writer(self, element: XmlElement) -> None:
        name, java = element.attributes.get("id", "").strip(), element.attributes.get("class", "").strip()
        kind = WRITER_KINDS.get(java.rpartition(".")[2]) if java.startswith(_PACKAGE) else None
        if not name or name in self._names or kind is None:
            reason = "there is no such index writer" if name and name not in self._names else "needs an id of its own"
            self._left.append(Untranslated(name or "writer", java, reason))
            return
        self._names.append(name)
        parameters = {
            each.attributes.get("name", ""): each.attributes.get("value", "")
            for each in element.named("parameters", "param")
        }
        mapping = _mapping(element)
        if parameters.get("weight.field"):
            mapping.setdefault("copy", {}).setdefault("boost", []).append(parameters["weight.field"])
        self._lines += ["", f"[writer.{toml_key(name)}]", f'type = "{kind.type}"']
        self._lines += self._settings(name, kind, parameters)
        self._lines += [f"mapping.{action} = {toml_value(rules)}" for action, rules in mapping.items() if rules]
        if self._plugins is None or kind.plugin in self._plugins:
            self._active.append(name)
        else:
            self._left.append(Untranslated(name, java, f"inactive, because plugin.includes is without {kind.plugin}"))

    def add_exchange(self, element: XmlElement) -> None:
        name, java = element.attributes.get("id", ""), element.attributes.get("class", "")
        wanted = [each.attributes.get("id", "") for each in element.named("writers", "writer")]
        writers = [each for each in wanted if each in self._active]
        expr = next(
            (each.attributes.get("value", "") for each in element.named("params", "param") if _is_expr(each)), ""
        )
        try:
            if not writers:
                raise ValueError("none of its writers is active")
            if java not in (_DEFAULT, _JEXL):
                raise ValueError("a custom class; write the rule as a [[route]]")
            if java == _JEXL and self._plugins is not None and "exchange-jexl" not in self._plugins:
                raise ValueError("inactive, because plugin.includes is without exchange-jexl")
            rule = "default = true" if java == _DEFAULT else f"expr = {toml_value(route_expression(expr))}"
        except ValueError as error:
            self._left.append(Untranslated(name, _shown(expr or java), str(error)))
            self._lines += ["", f"# {one_line(name)}: {one_line(expr or java)}", f"# Not translated: {error}"]
            return
        self._left += [Untranslated(name, each, "not an active writer") for each in wanted if each not in writers]
        self._lines += ["", "[[route]]", f"writers = {toml_value(writers)}", rule]
        self._done.append(Translated(name, _shown(expr or java), "route", rule))

    def result(self, sources: str) -> ImportedWriters:
        lines = [
            f"# Translated from {sources}. The settings need:",
            "# [index]",
            f"# writers = {toml_value(self._active)}",
            '# writers_file = "index-writers.toml"',
            *self._lines,
        ]
        if self._left:
            lines += ["", "# Not translated:"]
            lines += [f"# {one_line(f'{row.nutch} = {row.nutch_value}: {row.reason}')}" for row in self._left]
        return ImportedWriters("\n".join(lines) + "\n", tuple(self._active), tuple(self._done), tuple(self._left))

    def _settings(self, name: str, kind: WriterKind, parameters: Mapping[str, str]) -> Iterator[str]:
        """Yield the lines of a writer's settings, and note which parameters are not among them."""
        given = WriterParameters(parameters)
        try:
            settings = kind.settings(given)
        except ValueError as error:
            settings = {}
            self._left.append(Untranslated(name, kind.type, str(error)))
        known = _fields(kind.type)
        for key, value in settings.items():
            field = known[key]
            try:
                typed = read(field, GivenValue(field.name, value, SettingOrigin("file", "")))
            except ValueError:
                reason = f"not valid for {key}, which accepts {accepts(field)}"
                self._left.append(Untranslated(f"{name}: {key}", _hidden(field, value), reason))
                continue
            written = write(field.type, typed, field.setting.none)
            self._done.append(Translated(name, _hidden(field, value), f"writer.{name}.{key}", _hidden(field, written)))
            yield f"{key} = {written}"
        self._left += [Untranslated(f"{name}: {key}", _shown(given.get(key)), reason) for key, reason in given.notes]
        for parameter, value in parameters.items():
            is_known = parameter in given.used or parameter in kind.ignored or not value.strip()
            if not is_known and kind.defaults.get(parameter) != value.strip():
                reason = kind.reasons.get(parameter, "has no counterpart")
                shown = "(hidden)" if "password" in parameter else _shown(value)
                self._left.append(Untranslated(f"{name}: {parameter}", shown, reason))


def _mapping(element: XmlElement) -> dict[str, Any]:
    """Return the rules for fields, as in a file of index writers."""
    rules = {action: _rules(element.named("mapping", action, "field")) for action in ("copy", "rename", "remove")}
    copies = {
        source: [dest for dest in listed(names) if dest != source] for source, names in rules["copy"] if names.strip()
    }
    return {
        "copy": {source: names for source, names in copies.items() if names},
        "rename": {source: names.strip() for source, names in rules["rename"] if names.strip()},
        "remove": [source for source, _ in rules["remove"]],
    }


def _rules(fields: Iterable[XmlElement]) -> list[tuple[str, str]]:
    found = [(each.attributes.get("source", "").strip(), each.attributes.get("dest", "")) for each in fields]
    return [(source, dest) for source, dest in found if source]


def _fields(kind: str) -> Mapping[str, Field]:
    declared = find(POINTS["indexwriter"], kind).load().Settings
    return {field.key: field for field in fields_of(f"plugin.indexwriter-{kind}", declared)}


def _is_expr(element: XmlElement) -> bool:
    return element.attributes.get("name") == "expr"


def _hidden(field: Field, value: Any) -> str:
    return "(hidden)" if field.setting.secret else _shown(value if isinstance(value, str) else toml_value(value))


def _shown(text: str) -> str:
    text = _LOGIN.sub("//(hidden)@", text)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def writers_rows(imported: ImportedWriters, file: str) -> Sequence[Translated]:
    """Return the settings that activate the writers of a file."""
    return (
        Translated("indexer.indexwriters.file", "", "index.writers", toml_value(list(imported.active))),
        Translated("indexer.indexwriters.file", "", "index.writers_file", toml_value(file)),
    )
