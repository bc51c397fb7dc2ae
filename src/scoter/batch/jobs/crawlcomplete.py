"""crawlcomplete: the share of fetched URLs by host or domain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scoter.batch.crawldir.crawldb import open_crawldb
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.export import iter_rows
from scoter.batch.jobs.domainstats import FETCHED_STATUSES, count_by
from scoter.config import Config
from scoter.engine import Engine, source_of


def crawlcomplete(crawl: CrawlDir, engine: Engine, config: Config, *, by: str) -> Iterator[dict[str, Any]]:
    """Yield each group with its number of URLs (all, fetched, unfetched, other), largest first.

    Other URLs are gone, redirects, duplicates, orphans or parse errors. ``done`` is the share that is not unfetched.
    """
    with open_crawldb(crawl, config) as table:
        urls = engine.read(source_of(table, ["host", "status"]))
        by_host = urls.group_by("host").aggregate(
            urls=urls.count(),
            fetched=urls.status.isin(FETCHED_STATUSES).cast("int64").sum(),
            unfetched=(urls.status == "unfetched").cast("int64").sum(),
        )
        for row in iter_rows(engine.batches(count_by(engine, by_host, ["urls", "fetched", "unfetched"], by))):
            other = row["urls"] - row["fetched"] - row["unfetched"]
            yield {**row, "other": other, "done": (row["urls"] - row["unfetched"]) / row["urls"]}
