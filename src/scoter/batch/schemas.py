"""The columns of every table of a crawl. docs/crawl-directory.md tells them; a test holds it to this module."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from scoter.errors import PluginError
from scoter.plugins import Column

TIME = pa.timestamp("us", tz="UTC")
"""Microseconds, since that is what DuckDB and Spark write."""
METADATA = pa.map_(pa.utf8(), pa.utf8())

DATUM = pa.schema(
    [
        ("url", pa.utf8()),
        ("key", pa.utf8()),
        ("host", pa.utf8()),
        ("status", pa.utf8()),
        ("fetch_time", TIME),
        ("modified_time", TIME),
        ("retries", pa.int32()),
        ("interval", pa.int32()),
        ("score", pa.float64()),
        ("signature", pa.binary()),
        ("metadata", METADATA),
    ]
)
"""What is known of a URL: the crawldb's columns, before those of plug-ins."""

CRAWLDB = DATUM

CRAWL_GENERATE = pa.schema([*DATUM, ("list", pa.int32())])

CRAWL_FETCH = pa.schema(
    [
        *DATUM,
        ("http_status", pa.int32()),
        ("reason", pa.utf8()),
        ("detail", pa.utf8()),
        ("redirect_to", pa.utf8()),
        ("redirect_key", pa.utf8()),
        ("redirect_host", pa.utf8()),
        ("content_type", pa.utf8()),
        ("length", pa.int64()),
        ("truncated", pa.utf8()),
        ("warc_file", pa.utf8()),
        ("warc_offset", pa.int64()),
        ("warc_length", pa.int64()),
        ("response_ms", pa.int32()),
        ("ip", pa.utf8()),
    ]
)

PARSE_DATA = pa.schema(
    [
        ("url", pa.utf8()),
        ("key", pa.utf8()),
        ("parse_status", pa.utf8()),
        ("reason", pa.utf8()),
        ("title", pa.utf8()),
        ("language", pa.utf8()),
        ("content_type", pa.utf8()),
        ("encoding", pa.utf8()),
        ("canonical", pa.utf8()),
        ("noindex", pa.bool_()),
        ("nofollow", pa.bool_()),
        ("outlinks", pa.int32()),
        ("signature", pa.binary()),
        ("simhash", pa.int64()),
        ("metadata", METADATA),
    ]
)

PARSE_TEXT = pa.schema([("url", pa.utf8()), ("key", pa.utf8()), ("text", pa.utf8()), ("main_text", pa.utf8())])

CRAWL_PARSE = pa.schema(
    [
        ("source", pa.utf8()),
        ("url", pa.utf8()),
        ("key", pa.utf8()),
        ("host", pa.utf8()),
        ("anchor", pa.utf8()),
        ("rel", pa.utf8()),
        ("score", pa.float64()),
    ]
)

INLINK = pa.struct([("url", pa.utf8()), ("anchor", pa.utf8())])
LINKDB = pa.schema([("url", pa.utf8()), ("key", pa.utf8()), ("inlinks", pa.list_(INLINK))])


def plugin_columns(chain: Iterable[tuple[str, Any]]) -> tuple[Column, ...]:
    """Return the columns that the plug-ins of a chain keep in the crawldb; two may not want the same name."""
    found: dict[str, Column] = {}
    for name, plugin in chain:
        for column in getattr(plugin, "columns", ()):
            if column.name in DATUM.names or column.name in CRAWL_FETCH.names or column.name in CRAWL_PARSE.names:
                raise PluginError(f"{name} declares the column {column.name}, which is one of Scoter's own")
            if found.setdefault(column.name, column) != column:
                raise PluginError(f"{name} and another plug-in declare the column {column.name} differently")
    return tuple(found.values())


def names(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the columns' names."""
    return tuple(column.name for column in columns)
