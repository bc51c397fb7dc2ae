"""The fields of an exported page: where each comes from, its type, and which of them a command asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import pyarrow as pa
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.core.expr import Typed, ValueType
from scoter.core.expr.types import Apply, ColumnRef
from scoter.errors import UsageError, did_you_mean

FieldOrigin: TypeAlias = Literal["page", "crawldb", "fetch", "data", "text", "linkdb"]
"""The table that a field comes from; ``page`` are the columns of the selection itself."""

_NUMBER, _TEXT, _TIME, _TRUTH = ValueType.NUMBER, ValueType.TEXT, ValueType.TIME, ValueType.TRUTH


class ExportField(Struct, frozen=True):
    """A field: its name, the table and column it comes from, and its types in Arrow and, if possible, expressions."""

    name: str
    origin: FieldOrigin
    column: str
    type: Any
    kind: ValueType | None = None


def _stored(origin: FieldOrigin, schema: Any, names: Mapping[str, ValueType | None]) -> Iterable[ExportField]:
    for name, kind in names.items():
        yield ExportField(name, origin, name, schema.field(name).type, kind)


def _catalogue() -> Iterable[ExportField]:
    for name in ("url", "key", "host", "segment", "part_of"):
        yield ExportField(name, "page", name, pa.utf8(), _TEXT)
    yield from _stored(
        "crawldb",
        schemas.CRAWLDB,
        {
            "status": _TEXT,
            "score": _NUMBER,
            "fetch_time": _TIME,
            "modified_time": _TIME,
            "retries": _NUMBER,
            "interval": ValueType.DURATION,
            "signature": ValueType.BYTES,
        },
    )
    yield ExportField("fetched", "fetch", "fetch_time", schemas.TIME, _TIME)
    yield from _stored(
        "fetch",
        schemas.CRAWL_FETCH,
        {
            "http_status": _NUMBER,
            "length": _NUMBER,
            "truncated": _TEXT,
            "ip": _TEXT,
            "response_ms": _NUMBER,
            "warc_file": _TEXT,
            "warc_offset": _NUMBER,
            "warc_length": _NUMBER,
        },
    )
    yield from _stored(
        "data",
        schemas.PARSE_DATA,
        {
            **dict.fromkeys(("title", "language", "content_type", "encoding", "canonical"), _TEXT),
            **dict.fromkeys(("noindex", "nofollow", "noarchive", "nosnippet"), _TRUTH),
            **dict.fromkeys(("description", "image", "site_name", "type"), _TEXT),
            **dict.fromkeys(("published", "modified"), _TIME),
            "metadata": ValueType.METADATA,
            **dict.fromkeys(("authors", "keywords", "headings", "sections", "alternates", "about"), None),
        },
    )
    yield from _stored(
        "text",
        schemas.PARSE_TEXT,
        {
            **dict.fromkeys(("text", "main_text", "markdown"), _TEXT),
            "main_text_kept": _NUMBER,
            "main_text_doubtful": _TRUTH,
        },
    )
    yield ExportField("content", "text", "content", pa.utf8(), _TEXT)
    yield ExportField("inlinks", "linkdb", "inlinks", schemas.LINKDB.field("inlinks").type)


FIELDS: Mapping[str, ExportField] = {field.name: field for field in _catalogue()}
"""Every field by name. ``content`` is the main text, or the whole text of a page that has none."""

DEFAULT_FIELDS = (
    *("url", "title", "description", "language", "authors", "published", "fetched", "content_type", "http_status"),
    *("score", "content"),
)


def parse_fields(text: str) -> tuple[str, ...]:
    """Return the fields named in a comma-separated list; raise on unknown and repeated names.

    >>> parse_fields("url, title")
    ('url', 'title')
    """
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in FIELDS:
            close = did_you_mean(name, FIELDS)
            raise UsageError(
                f"there is no field {name!r}{close}", where="--fields", hint=f"Fields: {', '.join(FIELDS)}."
            )
    if not names or len(set(names)) < len(names):
        repeated = next((name for name in names if names.count(name) > 1), "")
        message = f"the field {repeated!r} is given twice" if repeated else "no field is given"
        raise UsageError(message, where="--fields", hint="For example: --fields url,title,content")
    return names


def schema_of(names: Iterable[str]) -> Any:
    """Return the Arrow schema of fields."""
    return pa.schema([(name, FIELDS[name].type) for name in names])


def expression_fields() -> Mapping[str, ValueType]:
    """Return the fields that expressions may use, with their types."""
    return {field.name: field.kind for field in FIELDS.values() if field.kind is not None}


def fields_of_expression(expression: Typed) -> frozenset[str]:
    """Return the names of the fields that an expression uses."""
    match expression:
        case ColumnRef():
            return frozenset([expression.name])
        case Apply():
            return frozenset().union(*map(fields_of_expression, expression.parts))
        case _:
            return frozenset()


def from_origin(names: Iterable[str], *origins: FieldOrigin) -> Sequence[ExportField]:
    """Return the fields among names that come from given tables."""
    return [FIELDS[name] for name in names if FIELDS[name].origin in origins]
