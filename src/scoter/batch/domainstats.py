"""Pages counted by host, domain, public suffix or top-level domain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scoter.batch.directory import CrawlDir
from scoter.batch.dumping import rows
from scoter.batch.grouping import regrouped
from scoter.batch.readdb import open_crawldb
from scoter.config import Config
from scoter.engine import Engine, source_of

FETCHED = ("fetched", "notmodified")
"""The statuses of a page whose content we have and that counts as its own."""


def domainstats(crawl: CrawlDir, engine: Engine, config: Config, *, by: str) -> Iterator[dict[str, Any]]:
    """Yield each group with its numbers of fetched and of all URLs, the one with most fetched pages first."""
    with open_crawldb(crawl, config) as table:
        urls = engine.read(source_of(table, ["host", "status"]))
        fetched = urls.status.isin(FETCHED).cast("int64").sum()
        by_host = urls.group_by("host").aggregate(fetched=fetched, urls=urls.count())
        yield from rows(engine.batches(regrouped(engine, by_host, ["fetched", "urls"], by)))
