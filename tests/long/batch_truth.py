"""Crawl a synthetic web with faults to its end, and compare the crawldb with the expected statuses.

    python -m tests.long.batch_truth --hosts 30 --pages 1500 --seeds 1 2 3

Retries are due at once (rounds look two days ahead, and a retry waits for one day), so that a crawl ends when every URL
has its final status. No URL may be missing, superfluous or have another status than expected.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.jobs.crawl import CrawlLimits, CrawlResult, crawl
from scoter.batch.jobs.inject import inject
from scoter.config import Config, load
from scoter.engine.duckdb import DuckDbEngine
from scoter.simweb import SETTINGS, SimServer, SimWeb, WebSpec, running, truth
from scoter.store.tables import Table

MEMORY = 2**28
LOOK_AHEAD = 2  # days; a retry waits for one
MOST_ROUNDS = 60


class Difference(Struct, frozen=True):
    """A URL whose status differs from the expected one; empty if unknown to one of them."""

    url: str
    crawled: str
    truth: str


def settings(port: int, *more: str) -> list[str]:
    """Return the settings that the expected statuses assume, with every host on a loopback port and short timeouts."""
    return [
        "agent.name=truthbot",
        f'fetch.connect_to=["*:80=127.0.0.1:{port}"]',
        "fetch.adaptive_delay=false",
        "fetch.long_crawl_delay=skip",
        "fetch.exceptions_per_queue_delay=0s",
        "http.timeout=4s",
        "http.time_limit=8s",
        *(f"{name}={value}" for name, value in SETTINGS.items()),
        *more,
    ]


def complete(folder: Path, server: SimServer, *more: str) -> tuple[CrawlDir, CrawlResult]:
    """Crawl a web from its seeds until nothing is due."""
    config = load(overrides=settings(server.port, *more))
    directory = CrawlDir.create(folder, datetime.now(UTC))
    with DuckDbEngine(folder / "tmp", MEMORY, threads=2) as engine:
        inject(directory, engine, config, server.web.seeds(), now=datetime.now(UTC))
        return directory, crawl_to_the_end(directory, engine, config)


def again(directory: CrawlDir, server: SimServer, *more: str) -> CrawlResult:
    """Fetch all pages of a crawl once more, as a month later."""
    config = load(overrides=settings(server.port, *more))
    with DuckDbEngine(directory.path / "tmp", MEMORY, threads=2) as engine:
        return crawl(directory, engine, config, rounds=CrawlLimits(most=1, top_n=None, add_days=31, dedup=False))


def crawl_to_the_end(directory: CrawlDir, engine: DuckDbEngine, config: Config) -> CrawlResult:
    rounds = CrawlLimits(most=MOST_ROUNDS, top_n=None, add_days=LOOK_AHEAD, dedup=False)
    return crawl(directory, engine, config, rounds=rounds)


def statuses(directory: CrawlDir) -> dict[str, str]:
    """Return the status of every URL in a crawldb."""
    with Table.open(directory.crawldb) as crawldb:
        rows = [row for batch in crawldb.scan(["url", "status"]) for row in batch.to_pylist()]
    return {row["url"]: row["status"] for row in rows}


def differences(web: SimWeb, crawled: dict[str, str]) -> list[Difference]:
    """Return where a complete crawl differs from the expected statuses."""
    expected = {fact.url: fact.status or "" for fact in truth(web) if fact.expected}
    return [
        Difference(url, crawled.get(url, ""), expected.get(url, ""))
        for url in sorted(crawled.keys() | expected.keys())
        if crawled.get(url) != expected.get(url)
    ]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=int, default=30)
    parser.add_argument("--pages", type=int, default=1_500)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--show", type=int, default=20)
    given = parser.parse_args()
    wrong = 0
    for seed in given.seeds:
        spec = WebSpec(hosts=given.hosts, pages=given.pages, seed=seed, faults=True, drip_seconds=1.0)
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, running(spec) as server:
            directory, done = complete(Path(folder) / "crawl", server)
            found = differences(server.web, statuses(directory))
        wrong += len(found) + (not done.is_done)
        seconds = time.monotonic() - started
        print(
            f"seed {seed}: {sum(done.by_status.values()):,} URLs in {len(done.rounds)} rounds, {seconds:.0f} s, "
            f"{len(found)} differences; ended by: {done.ended_by}"
        )
        for each in found[: given.show]:
            print(f"  {each.url[:150]}: crawled {each.crawled or '-'}, truth {each.truth or '-'}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
