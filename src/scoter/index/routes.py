"""Which writers get a document, and under which names they get its fields.

A file of index writers (``index.writers_file``) is TOML:

    [writer.main]                       # a writer, and its settings
    type = "solr"
    url = "http://localhost:8983/solr/pages"
    mapping.rename = { "metatag.description" = "description" }
    mapping.copy = { title = ["title_exact"] }
    mapping.remove = ["segment"]

    [[route]]                           # documents that match go to these writers
    writers = ["main"]
    expr = "host == 'example.org'"

Exchanges (``index.exchanges``) are plug-ins that choose writers, too. Without routes and exchanges, every writer gets
every document. With them, a document goes to the writers of all routes that match and to those that exchanges name, and
to those of the route with ``default = true`` if there are none.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from scoter.config import Config
from scoter.core.document import Document
from scoter.core.expr import Typed, ValueType, compile_expr, matches
from scoter.errors import ConfigError, PluginError, UserError, did_you_mean
from scoter.plugins import DocumentExchange, chain

LARGEST_FILE: Final = 2**20

ROUTE_COLUMNS: Final[Mapping[str, ValueType]] = {
    **dict.fromkeys(("id", "url", "host", "domain", "title", "content", "lang", "type", "segment"), ValueType.TEXT),
    **dict.fromkeys(("boost", "contentLength"), ValueType.NUMBER),
    **dict.fromkeys(("tstamp", "date", "lastModified", "published"), ValueType.TIME),
    "doc": ValueType.METADATA,
}
"""The columns of a route's expression. Any other field of a document is ``doc["field"]``, as text."""


class FieldMapping(Struct, frozen=True, forbid_unknown_fields=True):
    """How a writer names fields: first some are copied, then renamed, then removed, as in Nutch.

    A field that exists gets the values of those that are copied to it or get its name.

    >>> mapping = FieldMapping(rename={"title": "headline"}, copy={"title": ["exact"]}, remove=["url"])
    >>> sorted(mapping.apply(Document(id="a", fields={"title": ("Seals",), "url": ("a",)})).fields)
    ['exact', 'headline']
    """

    rename: Mapping[str, str] = {}
    copy: Mapping[str, Sequence[str]] = {}
    remove: Sequence[str] = ()

    def apply(self, document: Document) -> Document:
        """Return the document with the writer's names."""
        if not (self.rename or self.copy or self.remove):
            return document
        found = dict(document.fields)
        for name, others in self.copy.items():
            for other in others:
                if name in found and other != name:
                    found[other] = (*found.get(other, ()), *found[name])
        renamed: dict[str, tuple[Any, ...]] = {}
        for name, values in found.items():
            name = self.rename.get(name, name)
            renamed[name] = (*renamed.get(name, ()), *values)
        for name in self.remove:
            renamed.pop(name, None)
        return replace(document, fields=renamed)


class WriterEntry(Struct, frozen=True):
    """A writer: the plug-in it uses, the settings given for it, and its mapping."""

    name: str
    type: str
    settings: Mapping[str, Any] = {}
    mapping: FieldMapping = FieldMapping()


class DocumentRoute(Struct, frozen=True):
    """Documents that match an expression go to some writers."""

    writers: tuple[str, ...]
    expr: str = ""
    condition: Typed | None = None


class WriterPlan(Struct, frozen=True):
    """The writers of a run, and the routes of documents to them."""

    writers: tuple[WriterEntry, ...]
    routes: tuple[DocumentRoute, ...] = ()
    fallback: tuple[str, ...] = ()
    exchanges: tuple[tuple[str, DocumentExchange], ...] = ()

    def writers_of(self, document: Document, now: datetime) -> frozenset[str]:
        """Return the names of the writers that get a document."""
        every = frozenset(entry.name for entry in self.writers)
        if not self.routes and not self.fallback and not self.exchanges:
            return every
        row = document_row(document)
        found = {
            name
            for route in self.routes
            if route.condition is None or matches(route.condition, row, now)
            for name in route.writers
        }
        for name, exchange in self.exchanges:
            found |= every & _named(name, exchange, document)
        return frozenset(found or self.fallback)


def _named(name: str, exchange: DocumentExchange, document: Document) -> frozenset[str]:
    try:
        return frozenset(exchange.writers(document))
    except UserError:
        raise
    except Exception as error:  # whatever somebody else's plug-in raises
        raise PluginError(
            f"exchange-{name} failed: {type(error).__name__}: {error}",
            where=document.id,
            hint=f"Fix the plug-in, or remove {name!r} from index.exchanges.",
        ) from error


def configured_plan(config: Config) -> WriterPlan:
    """Return the plan for the writers of a configuration."""
    plan = plan_writers(config.index.writers, config.index.writers_file)
    return replace(plan, exchanges=chain("exchange", config))


def plan_writers(names: Sequence[str], file: Path | None) -> WriterPlan:
    """Return the plan for the writers of ``index.writers``; a name is that of a writer in the file, or of a plug-in."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(f"{twice!r} is listed twice", where="index.writers", hint="List each writer once.")
    content = _WritersFile() if file is None else _read(file)
    where = str(file)
    entries = tuple(_entry(name, content.writer.get(name), where) for name in names)
    routes = [_route(route, names, where) for route in content.route if not route.default]
    fallback = tuple(name for route in content.route if route.default for name in _known(route.writers, names, where))
    return WriterPlan(entries, tuple(routes), fallback)


def document_row(document: Document) -> dict[str, Any]:
    """Return what a route's expression may use."""
    row: dict[str, Any] = {name: document.first(name) for name in ROUTE_COLUMNS if name != "doc"}
    row["id"], row["boost"] = document.id, document.boost
    row["doc"] = {name: " ".join(map(str, values)) for name, values in document.fields.items()}
    return row


class _GivenRoute(Struct, frozen=True, forbid_unknown_fields=True):
    writers: tuple[str, ...]
    expr: str = ""
    default: bool = False


class _WritersFile(Struct, frozen=True, forbid_unknown_fields=True):
    writer: dict[str, dict[str, Any]] = field(default_factory=dict)
    route: tuple[_GivenRoute, ...] = ()


def _read(file: Path) -> _WritersFile:
    try:
        with file.open("rb") as opened:
            data = opened.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise ConfigError(f"is larger than {LARGEST_FILE // 2**20} MiB", where=str(file))
        return msgspec.convert(tomllib.loads(data.decode()), _WritersFile)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror or error}", where="index.writers_file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        hint = "See docs/index-writers.md for the format."
        raise ConfigError(f"is not a file of index writers: {error}", where=str(file), hint=hint) from error


def _entry(name: str, given: Mapping[str, Any] | None, where: str) -> WriterEntry:
    if given is None:
        return WriterEntry(name, name)
    settings = dict(given)
    kind, mapping = settings.pop("type", name), settings.pop("mapping", {})
    try:
        return WriterEntry(name, msgspec.convert(kind, str), settings, msgspec.convert(mapping, FieldMapping))
    except msgspec.ValidationError as error:
        raise ConfigError(f"writer.{name}: {error}", where=where) from error


def _route(given: _GivenRoute, names: Sequence[str], where: str) -> DocumentRoute:
    condition = compile_expr(given.expr, ROUTE_COLUMNS) if given.expr else None
    return DocumentRoute(_known(given.writers, names, where), given.expr, condition)


def _known(wanted: Sequence[str], names: Sequence[str], where: str) -> tuple[str, ...]:
    for name in wanted:
        if name not in names:
            raise ConfigError(
                f"a route names the writer {name!r}, which is not active{did_you_mean(name, names)}",
                where=where,
                hint="Add it to index.writers.",
            )
    return tuple(wanted)
