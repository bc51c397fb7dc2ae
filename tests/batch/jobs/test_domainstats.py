"""Pages counted by host, domain, suffix and top-level domain."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.batch.crawls import crawl_at, datum, write_crawldb

from scoter.batch.jobs.domainstats import domainstats
from scoter.config import load
from scoter.engine import Engine


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("host", [("www.a.co.uk", 2, 2), ("10.0.0.1", 1, 1), ("a.co.uk", 0, 1), ("b.org", 0, 1)]),
        ("domain", [("a.co.uk", 2, 3), ("10.0.0.1", 1, 1), ("b.org", 0, 1)]),
        ("suffix", [("co.uk", 2, 3), ("", 1, 1), ("org", 0, 1)]),
        ("tld", [("uk", 2, 3), ("", 1, 1), ("org", 0, 1)]),
    ],
)
def test_fetched_pages_and_all_urls_are_counted_by_group(
    tmp_path: Path, engine: Engine, by: str, expected: list[tuple[str, int, int]]
) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    write_crawldb(
        crawl,
        [
            datum("http://www.a.co.uk/"),
            datum("http://www.a.co.uk/x", "notmodified"),
            datum("http://a.co.uk/", "gone"),
            datum("http://b.org/", "duplicate"),
            datum("http://10.0.0.1/"),
        ],
    )

    found = [(row[by], row["fetched"], row["urls"]) for row in domainstats(crawl, engine, load(None, {}), by=by)]

    assert found == expected
