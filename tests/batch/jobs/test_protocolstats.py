"""Counts of the outcomes of fetches."""

from __future__ import annotations

from pathlib import Path

from tests.batch.crawls import crawl_at, datum, write_segment

from scoter.batch.jobs.protocolstats import protocolstats
from scoter.engine import Engine


def test_fetches_are_counted_by_status_reason_and_http_status(tmp_path: Path, engine: Engine) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    for name in ("1", "2"):
        fetched = [{**datum(f"http://a.org/{number}", "success"), "http_status": 200} for number in range(2)]
        refused = {**datum("http://a.org/x", "gone"), "reason": "not_found", "http_status": 404}
        silent = {**datum(f"http://a.org/{name}", "retry"), "reason": "timeout"}
        write_segment(crawl, name, fetches=[*fetched, refused, *([silent] if name == "1" else [])])

    found = [tuple(row.values()) for row in protocolstats(engine, crawl.all_segments())]

    assert found == [("success", None, 200, 4), ("gone", "not_found", 404, 2), ("retry", "timeout", None, 1)]


def test_crawl_without_segments_has_no_counts(tmp_path: Path, engine: Engine) -> None:
    assert list(protocolstats(engine, crawl_at(tmp_path / "crawl").all_segments())) == []
