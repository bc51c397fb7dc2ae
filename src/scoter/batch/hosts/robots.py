"""What cached robots.txt files say about hosts: Crawl-delay, sitemaps, and whether the site may be crawled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import ROBOTS_CACHE, CrawlDir
from scoter.config import Config
from scoter.core.display import duration
from scoter.core.domain import reversed_host
from scoter.core.robots import Robots, Verdict
from scoter.core.robots_cache import StoredRobots
from scoter.core.url import Url, canonical
from scoter.engine import TableSource, file_source
from scoter.errors import UrlError
from scoter.store.objects.path import StorePath
from scoter.store.robots_cache import SqliteRobotsCache, read_robots
from scoter.store.tables.parquet import write_batches

ROBOTS = pa.schema(
    [
        *schemas.texts("url", "key"),
        ("crawl_delay", pa.float64()),
        ("robots", pa.utf8()),
        ("sitemaps", pa.list_(pa.utf8())),
    ]
)
MOST_SITEMAPS = 50
"""Sitemaps kept for each host."""
_BATCH = 4_096
_LONG = {
    "wait": "URLs for which a round has no time stay due",
    "cap": "that is kept instead",
    "skip": "its pages are skipped",
}


def save_robots(crawl: CrawlDir, config: Config, file: Path) -> TableSource | None:
    """Save what the cached robots.txt files say, one row per host; ``None`` if there is no cache."""
    agents = _agents(config)
    found: dict[str, Mapping[str, Any]] = {}
    with crawl.shared_file(ROBOTS_CACHE, publish=False) as cache:
        if not cache.exists():
            return None
        with SqliteRobotsCache(cache) as stored:
            for origin, entry in stored.all():
                row = _facts(origin, entry, agents)
                # The cache is bounded, and so is this; of the origins of a host, https counts.
                if row is not None and (row["url"] not in found or origin.startswith("https:")):
                    found[row["url"]] = row
    write_batches(file, ROBOTS, _batches(found))
    return file_source(file, ROBOTS)


def robots_verdict(crawl: CrawlDir, config: Config, url: Url) -> Verdict | None:
    """Return what the cached robots.txt of a URL's site says about it; ``None`` if none is cached here."""
    if isinstance(crawl.path, StorePath) or not url.text.startswith(("http://", "https://")):
        return None
    stored = read_robots(crawl.path / ROBOTS_CACHE, url.text[: url.text.index("/", len("https://"))])
    if stored is None:
        return None
    if stored.body is None:
        return Verdict(True, "the site has no robots.txt")
    rules = Robots.read(stored.body, _agents(config))
    verdict, delay, most = rules.explain(url), rules.crawl_delay, config.fetch.max_crawl_delay
    if not verdict.allowed or delay is None or most is None or delay <= most:
        return verdict
    asked = f"its Crawl-delay of {duration(delay)} is longer than fetch.max_crawl_delay"
    return Verdict(True, f"{verdict.why}; {asked}: {_LONG[config.fetch.long_crawl_delay]}")


def _agents(config: Config) -> tuple[str, ...]:
    return tuple(filter(None, (config.agent.name, *config.http.robots_agents)))


def _batches(found: Mapping[str, Mapping[str, Any]]) -> Iterator[Any]:
    rows = list(found.values())
    for start in range(0, len(rows), _BATCH):
        yield pa.RecordBatch.from_pylist(rows[start : start + _BATCH], schema=ROBOTS)


def _facts(origin: str, stored: StoredRobots, agents: tuple[str, ...]) -> dict[str, Any] | None:
    try:
        root = canonical(origin + "/")
    except UrlError:
        return None
    row: dict[str, Any] = {"url": root.host, "key": reversed_host(root.host), "robots": "none"}
    if stored.body is not None:
        rules = Robots.read(stored.body, agents)
        row["robots"] = "allowed" if rules.allows(root) else "disallowed"
        row["crawl_delay"] = rules.crawl_delay.total_seconds() if rules.crawl_delay is not None else None
        row["sitemaps"] = list(rules.sitemaps[:MOST_SITEMAPS]) or None
    return row
