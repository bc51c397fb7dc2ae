"""domainstats: count pages by host, domain, public suffix or top-level domain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from scoter.batch.crawldir.crawldb import open_crawldb
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.export import iter_rows
from scoter.config import Config
from scoter.core.domain import is_ip, public_suffix, registered_domain
from scoter.engine import Engine, source_of
from scoter.engine.port import Rows

FETCHED_STATUSES = ("fetched", "notmodified")
"""The statuses of pages that we have and that are not duplicates."""


def domainstats(crawl: CrawlDir, engine: Engine, config: Config, *, by: str) -> Iterator[dict[str, Any]]:
    """Yield each group with its number of fetched and of all URLs, most fetched first."""
    with open_crawldb(crawl, config) as table:
        urls = engine.read(source_of(table, ["host", "status"]))
        fetched = urls.status.isin(FETCHED_STATUSES).cast("int64").sum()
        by_host = urls.group_by("host").aggregate(fetched=fetched, urls=urls.count())
        yield from iter_rows(engine.batches(count_by(engine, by_host, ["fetched", "urls"], by)))


def top_level(host: str) -> str:
    """Return the last label of a host; empty for an IP address.

    >>> top_level("www.bbc.co.uk."), top_level("10.0.0.1")
    ('uk', '')
    """
    return "" if is_ip(host) else host.removesuffix(".").rpartition(".")[2]


GROUPS: Mapping[str, Callable[[str], str]] = {
    "host": str,
    "domain": registered_domain,
    "suffix": public_suffix,
    "tld": top_level,
}


def count_by(engine: Engine, by_host: Rows, counts: Sequence[str], by: str) -> Rows:
    """Return counts by host as counts by a group, largest first."""
    if by == "host":
        found = by_host
    else:
        schema = pa.schema([(by, pa.utf8()), *((name, pa.int64()) for name in counts)])
        rows = by_host.select("host", **{name: by_host[name].cast("int64") for name in counts})
        named = engine.map_batches(rows, partial(_name, by, schema), schema)
        found = named.group_by(by).aggregate(**{name: named[name].sum() for name in counts})
    return found.order_by([found[counts[0]].desc(), found[by]])


def _name(by: str, schema: Any, batch: Any) -> Any:
    name = GROUPS[by]
    groups = pa.array([name(host or "") for host in batch.column("host").to_pylist()], pa.utf8())
    counts = [batch.column(each).cast(pa.int64()) for each in schema.names[1:]]
    return pa.RecordBatch.from_arrays([groups, *counts], schema=schema)
