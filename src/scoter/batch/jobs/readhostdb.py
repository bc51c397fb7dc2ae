"""readhostdb: show the hosts of the hostdb, one host, or dumps of records, homepages and host names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import table_exists
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.export import iter_rows
from scoter.batch.crawldir.lookup import find_rows
from scoter.batch.hosts.columns import EXPRESSION_COLUMNS, HIDDEN, shown_row
from scoter.core.domain import reversed_host
from scoter.core.expr import compile_expr
from scoter.core.url import host_of
from scoter.engine import Engine, source_of
from scoter.engine.expressions import where
from scoter.engine.port import Rows
from scoter.errors import UsageError, nearest, typed
from scoter.plugins.recorded import ibis
from scoter.store.tables import Table

HostDump: TypeAlias = Literal["records", "homepages", "hostnames"]
RECORD = pa.schema(
    [
        pa.field("host", pa.utf8()) if field.name == "url" else field
        for field in schemas.HOSTDB
        if field.name not in HIDDEN
    ]
)
"""The columns that are shown."""


def open_hostdb(crawl: CrawlDir) -> Table:
    """Open the hostdb; raise if there is none."""
    if not table_exists(crawl.hostdb):
        raise UsageError(
            "there is no hostdb yet", where=str(crawl.path), hint=f"Run: scoter updatehostdb {typed(crawl.path)}"
        )
    return Table.open(crawl.hostdb, schemas.HOSTDB)


def host_record(crawl: CrawlDir, name: str) -> dict[str, Any] | None:
    """Return the record of a host, given as a name or a URL; ``None`` if the hostdb has none."""
    host = host_of(name.partition("://")[2].partition("/")[0] if "://" in name else name)
    with open_hostdb(crawl) as table:
        if not host:
            raise UsageError(f"{name!r} is not a host", hint="Give a host such as example.org.")
        found = next(find_rows(source_of(table), {"key": reversed_host(host), "url": host}), None)
    return None if found is None else shown_row(found)


def hosts(
    crawl: CrawlDir, engine: Engine, *, now: datetime, expr: str = "", sort: str = "urls", limit: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the records of hosts for which an expression is true, those with the largest value of a column first."""
    condition = compile_expr(expr, EXPRESSION_COLUMNS) if expr else None
    order = _order(sort)
    table = open_hostdb(crawl)

    def rows() -> Iterator[dict[str, Any]]:
        with table:
            found = engine.read(source_of(table))
            if condition is not None:
                found = where(engine, found, condition, now)
            ordered = found.order_by(order(found))
            yield from map(shown_row, iter_rows(engine.batches(ordered if limit is None else ordered.limit(limit))))

    return rows()


def select(
    crawl: CrawlDir, engine: Engine, *, now: datetime, kind: HostDump = "records", expr: str = ""
) -> tuple[Any, Iterator[Any]]:
    """Return a schema and record batches: the records of hosts, their homepages, or their names, sorted by key."""
    condition = compile_expr(expr, EXPRESSION_COLUMNS) if expr else None
    table = open_hostdb(crawl)
    names = {"records": RECORD.names, "homepages": ["homepage"], "hostnames": ["host"]}[kind]
    schema = pa.schema([RECORD.field(name) for name in names])

    def batches() -> Iterator[Any]:
        with table:
            found = engine.read(source_of(table, is_sorted=True))
            if condition is not None:
                found = where(engine, found, condition, now)
            if kind == "homepages":
                found = found.filter(found.homepage.notnull())
            elif kind == "hostnames":
                # Nutch, too, leaves out hosts that have no page.
                found = found.filter(found.urls > 0)
            found = found.order_by(["key", "url"])
            yield from engine.batches(found.rename(host="url").select(*names))

    return schema, batches()


def _order(sort: str) -> Any:
    """Return the order by a column, or by an entry of a column of numbers such as ``latency_ms.p95``."""
    name, _, entry = sort.partition(".")
    known: Mapping[str, Any] = {field.name: field.type for field in RECORD}
    name = "url" if name == "host" else name
    kind = schemas.HOSTDB.field(name).type if name in schemas.HOSTDB.names and name not in HIDDEN else None
    if kind is None or (pa.types.is_map(kind) != bool(entry)) or pa.types.is_list(kind) or kind == schemas.METADATA:
        close = nearest(name, known)
        hint = f"Did you mean {close}?" if close and close != name else "For example: urls, bytes or latency_ms.p95"
        raise UsageError(f"hosts cannot be sorted by {sort!r}", where="--sort", hint=hint)

    def order(rows: Rows) -> list[Any]:
        value = rows[name].get(entry) if entry else rows[name]
        # Engines disagree on where nulls belong.
        return [rows.url] if name == "url" else [value.isnull().asc(), ibis.desc(value), rows.url]

    return order
