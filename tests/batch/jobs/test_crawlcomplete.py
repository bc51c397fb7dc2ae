"""The share of fetched URLs by host and by domain."""

from __future__ import annotations

from pathlib import Path

from tests.batch.crawls import crawl_at, datum, write_crawldb

from scoter.batch.jobs.crawlcomplete import crawlcomplete
from scoter.config import load
from scoter.engine import Engine


def test_urls_are_counted_as_fetched_unfetched_or_other(tmp_path: Path, engine: Engine) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    pages = [("x.a.org", "fetched"), ("x.a.org", "gone"), ("y.a.org", "unfetched"), ("y.a.org", "notmodified")]
    rows = [datum(f"http://{host}/{number}", status) for number, (host, status) in enumerate(pages)]
    write_crawldb(crawl, [*rows, datum("http://b.org/", "unfetched")])

    by_host = list(crawlcomplete(crawl, engine, load(None, {}), by="host"))
    by_domain = list(crawlcomplete(crawl, engine, load(None, {}), by="domain"))

    assert by_host == [
        {"host": "x.a.org", "urls": 2, "fetched": 1, "unfetched": 0, "other": 1, "done": 1.0},
        {"host": "y.a.org", "urls": 2, "fetched": 1, "unfetched": 1, "other": 0, "done": 0.5},
        {"host": "b.org", "urls": 1, "fetched": 0, "unfetched": 1, "other": 0, "done": 0.0},
    ]
    assert by_domain == [
        {"domain": "a.org", "urls": 4, "fetched": 2, "unfetched": 1, "other": 1, "done": 0.75},
        {"domain": "b.org", "urls": 1, "fetched": 0, "unfetched": 1, "other": 0, "done": 0.0},
    ]
