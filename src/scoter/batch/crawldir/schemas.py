"""The columns of every table of a crawl, and the conversion between records and rows.

docs/crawl-directory.md describes the columns; a test compares it with this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pyarrow as pa

from scoter.core.datum import EPOCH, CrawlDatum, DbStatus, FetchStatus, PartStatus, short_name
from scoter.core.expr import DATUM as EXPRESSION_DATUM
from scoter.core.expr import ValueType
from scoter.core.page import EMPTY
from scoter.core.url import Url
from scoter.errors import PluginError
from scoter.plugins import Column
from scoter.store.tables import arrow_type

TIME = pa.timestamp("us", tz="UTC")
"""Microseconds, because DuckDB and Spark write them."""
METADATA = pa.map_(pa.utf8(), pa.utf8())


def texts(*names: str) -> list[tuple[str, Any]]:
    """Return columns of texts."""
    return [(name, pa.utf8()) for name in names]


DATUM = pa.schema(
    [
        *texts("url", "key", "host", "status"),
        ("fetch_time", TIME),
        ("modified_time", TIME),
        ("retries", pa.int32()),
        ("interval", pa.int32()),
        ("score", pa.float64()),
        ("signature", pa.binary()),
        ("metadata", METADATA),
    ]
)
"""The columns of a record, before those of plug-ins."""

CRAWLDB = DATUM

CRAWL_GENERATE = pa.schema([*DATUM, ("list", pa.int32()), ("delay_ms", pa.int32())])

CRAWL_FETCH = pa.schema(
    [
        *DATUM,
        ("http_status", pa.int32()),
        *texts("reason", "detail", "redirect_to", "redirect_key", "redirect_host", "content_type"),
        ("length", pa.int64()),
        *texts("truncated", "warc_file"),
        ("warc_offset", pa.int64()),
        ("warc_length", pa.int64()),
        ("response_ms", pa.int32()),
        *texts("ip", "redirect_represented_by", "server", "tls"),
    ]
)

HEADING = pa.struct([("level", pa.int32()), ("text", pa.utf8())])
SECTION = pa.struct([*HEADING, ("anchor", pa.utf8())])
ALTERNATE = pa.struct(texts("url", "language", "media_type", "title", "rel"))

PARSE_DATA = pa.schema(
    [
        *texts("url", "key", "parse_status", "reason", "doubt", "part_of", "title", "language"),
        *texts("content_type", "encoding", "canonical"),
        *((name, pa.bool_()) for name in ("noindex", "nofollow", "noarchive", "nosnippet")),
        ("unavailable_after", TIME),
        ("outlinks", pa.int32()),
        ("signature", pa.binary()),
        ("simhash", pa.int64()),
        ("words_hash", pa.int64()),
        ("links_hash", pa.int64()),
        ("metadata", METADATA),
        ("headings", pa.list_(HEADING)),
        ("sections", pa.list_(SECTION)),
        ("alternates", pa.list_(ALTERNATE)),
        *texts("description", "image", "site_name"),
        ("authors", pa.list_(pa.utf8())),
        ("published", TIME),
        ("modified", TIME),
        ("type", pa.utf8()),
        ("keywords", pa.list_(pa.utf8())),
        ("about", pa.utf8()),
    ]
)
"""The columns from ``description`` on need ``parse.metadata``. Common fields have typed columns; ``about`` holds the
whole record as JSON, which every engine can read and which can grow without a schema change."""

PARSE_TEXT = pa.schema(
    [
        *texts("url", "key", "text", "main_text", "markdown", "part_of"),
        ("main_text_kept", pa.float32()),
        ("main_text_doubtful", pa.bool_()),
    ]
)

CRAWL_PARSE = pa.schema(
    [
        *texts("source", "url", "key", "host", "anchor", "rel", "kind"),
        ("score", pa.float64()),
        ("metadata", METADATA),
    ]
)

INLINK = pa.struct(texts("url", "anchor"))
LINKDB = pa.schema([*texts("url", "key"), ("inlinks", pa.list_(INLINK))])

INDEXDB = pa.schema(
    [
        *texts("url", "key", "owner", "segment"),
        ("score_step", pa.int32()),
        ("anchors", pa.utf8()),
        ("indexed", pa.bool_()),
    ]
)
"""What the documents of an index were made from; see ``batch/jobs/index.py``."""

_RANKS = [(name, pa.float64()) for name in ("score", "pagerank", "harmonic")]
_COUNTS = [("inlinks", pa.int64()), ("outlinks", pa.int64())]

GRAPH_NODES = pa.schema([*texts("url", "key"), ("id", pa.int32()), ("host", pa.int32())])
GRAPH_VALUES = pa.schema(
    [("id", pa.int32()), *_COUNTS, ("run", pa.int32()), ("cut", pa.int32()), ("is_known", pa.bool_()), *_RANKS]
)
GRAPH_LINKS = pa.schema([("source", pa.int32()), ("target", pa.int32()), ("run", pa.int32()), ("anchor", pa.utf8())])
"""The link graph; see ``batch/graph/tables.py``."""

SITE_NODES = pa.schema([*texts("url", "key"), ("id", pa.int32()), ("domain", pa.int32())])
SITE_VALUES = pa.schema([("id", pa.int32()), ("pages", pa.int64()), *_COUNTS, *_RANKS])
SITE_LINKS = pa.schema([("source", pa.int32()), ("target", pa.int32()), ("links", pa.int64()), ("pages", pa.int64())])
"""The host graph and the domain graph; ``url`` is the name of the host or domain."""

NUMBERS = pa.map_(pa.utf8(), pa.float64())
STATUS_COUNTS = tuple(short_name(status) for status in DbStatus)
"""The columns of the hostdb that count the URLs of a status."""
FETCH_COUNTS = (
    *("fetches", "answers", "client_errors", "server_errors", "timeouts", "connection_failures", "robots_denied"),
    "bytes",
)
"""The columns of the hostdb that add up over segments."""

HOSTDB = pa.schema(
    [
        *texts("url", "key"),
        *((name, pa.int64()) for name in ("urls", "pages", *STATUS_COUNTS)),
        ("homepage", pa.utf8()),
        ("homepage_chain", pa.list_(pa.utf8())),
        ("dns", pa.utf8()),
        ("dns_failures", pa.int64()),
        *((name, TIME) for name in ("last_check", "next_check")),
        *((name, pa.int64()) for name in FETCH_COUNTS),
        *((name, NUMBERS) for name in ("latency_ms", "page_bytes", "statistics")),
        ("crawl_delay", pa.float64()),
        ("robots", pa.utf8()),
        ("sitemaps", pa.list_(pa.utf8())),
        *texts("ip", "server", "tls"),
        *((name, pa.int64()) for name in ("traps", "inlinks", "outlinks")),
        *_RANKS,
        *((name, TIME) for name in ("first_seen", "last_seen", "last_fetch")),
        ("metadata", METADATA),
        *((name, pa.list_(pa.int64())) for name in ("latency_bins", "size_bins")),
    ]
)
"""One row per host, whose name is ``url``; see ``batch/hosts``."""


def plugin_columns(chain: Iterable[tuple[str, Any]]) -> tuple[Column, ...]:
    """Return the crawldb columns that the plug-ins of a chain declare; raise on conflicting names."""
    found: dict[str, Column] = {}
    for name, plugin in chain:
        for column in getattr(plugin, "columns", ()):
            if column.name in CRAWL_FETCH.names or column.name in CRAWL_PARSE.names:
                raise PluginError(f"{name} declares the column {column.name}, which Scoter uses itself")
            if found.setdefault(column.name, column) != column:
                raise PluginError(f"{name} and another plug-in declare the column {column.name} differently")
    return tuple(found.values())


def column_names(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the columns' names."""
    return tuple(column.name for column in columns)


def expression_columns(columns: Sequence[Column]) -> Mapping[str, ValueType]:
    """Return the columns that expressions may use: those of a record, and scalar columns of plug-ins."""
    found = {column.name: _kind(arrow_type(column.arrow_type)) for column in columns}
    return {**EXPRESSION_DATUM, **{name: kind for name, kind in found.items() if kind is not None}}


def _kind(type: Any) -> ValueType | None:
    known = (
        (pa.types.is_integer, ValueType.NUMBER),
        (pa.types.is_floating, ValueType.NUMBER),
        (pa.types.is_string, ValueType.TEXT),
        (pa.types.is_boolean, ValueType.TRUTH),
        (pa.types.is_binary, ValueType.BYTES),
        (pa.types.is_timestamp, ValueType.TIME),
    )
    return next((kind for is_one, kind in known if is_one(type)), None)


DEFERRED = "deferred"
"""The status of a URL in ``crawl_fetch`` that was not requested because its host is on hold; updates ignore the row."""
DB_STATUSES = {short_name(status): status for status in DbStatus}
FETCH_STATUSES: Mapping[str, FetchStatus | PartStatus] = {
    short_name(status): status for status in (*FetchStatus, PartStatus.PARSE_FAILED, PartStatus.LINKED)
}


def url_of(row: Mapping[str, Any]) -> Url:
    """Return the URL of a row, without parsing it again."""
    return Url(row["url"], row["key"], row["host"])


def datum_of(
    row: Mapping[str, Any], statuses: Mapping[str, Any] = DB_STATUSES, extra: Sequence[str] = (), prefix: str = ""
) -> CrawlDatum:
    """Return a row as a record; ``extra`` names the plug-ins' columns, ``prefix`` is put before every column name."""
    return CrawlDatum(
        status=statuses[row[prefix + "status"]],
        fetch_time=row[prefix + "fetch_time"] or EPOCH,
        modified_time=row[prefix + "modified_time"],
        retries=row[prefix + "retries"] or 0,
        interval=timedelta(seconds=row[prefix + "interval"] or 0),
        score=row[prefix + "score"] or 0.0,
        signature=row[prefix + "signature"],
        metadata=dict(row[prefix + "metadata"] or ()) or EMPTY,
        extra=drop_nulls({name: row[prefix + name] for name in extra}),
    )


def row_of(url: Url, datum: CrawlDatum, extra: Iterable[str] = ()) -> dict[str, Any]:
    """Return a record as a row."""
    return {
        "url": url.text,
        "key": url.key,
        "host": url.host,
        "status": short_name(datum.status),
        "fetch_time": datum.fetch_time,
        "modified_time": datum.modified_time,
        "retries": datum.retries,
        "interval": int(datum.interval.total_seconds()),
        "score": datum.score,
        "signature": datum.signature,
        "metadata": list(datum.metadata.items()) or None,
        **{name: datum.extra.get(name) for name in extra},
    }


def columns_of(data: Iterable[CrawlDatum], extra: Iterable[str] = ()) -> dict[str, list[Any]]:
    """Return records without their URLs as columns, which takes a fraction of the time of rows."""
    data = list(data)
    return {
        "status": [short_name(datum.status) for datum in data],
        "fetch_time": [datum.fetch_time for datum in data],
        "modified_time": [datum.modified_time for datum in data],
        "retries": [datum.retries for datum in data],
        "interval": [int(datum.interval.total_seconds()) for datum in data],
        "score": [datum.score for datum in data],
        "signature": [datum.signature for datum in data],
        "metadata": [list(datum.metadata.items()) or None for datum in data],
        **{name: [datum.extra.get(name) for datum in data] for name in extra},
    }


def drop_nulls(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values that are not null."""
    found = {name: value for name, value in values.items() if value is not None}
    return found or EMPTY
