"""mergedb: which record wins, and how metadata is merged."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import NOW, crawl_at, crawldb, datum, write_crawldb
from tests.cli.conftest import Run, run

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.jobs.mergedb import MergedbResult, mergedb
from scoter.config import load
from scoter.engine import Engine
from scoter.errors import UsageError
from scoter.store.tables import Table

__all__ = ["run"]

CONFIG = load(None, {}, [])
A, B = "http://a.org/", "http://b.org/"
DAY = timedelta(days=1)


@pytest.fixture
def crawls(tmp_path: Path) -> list[CrawlDir]:
    return [crawl_at(tmp_path / f"part{number}") for number in range(3)]


def merged(crawls: list[CrawlDir], engine: Engine, *settings: str, **options: bool) -> dict[str, dict[str, Any]]:
    out = crawl_at(crawls[0].path.parent / "out")
    mergedb(out, crawls, engine, load(None, {}, settings), now=NOW, **options)
    return crawldb(out)


def fetched(url: str, ago: timedelta, interval: timedelta = 30 * DAY, **columns: Any) -> dict[str, Any]:
    times = {"fetch_time": NOW - ago + interval, "interval": int(interval.total_seconds())}
    return datum(url, **{**times, **columns})


def test_record_fetched_last_wins_even_if_another_is_due_later(crawls: list[CrawlDir], engine: Engine) -> None:
    newest = fetched(A, ago=DAY, interval=DAY, score=2.0, signature=b"new")
    write_crawldb(crawls[0], [fetched(A, ago=9 * DAY, interval=90 * DAY, score=7.0), datum(B)])
    write_crawldb(crawls[1], [newest])
    write_crawldb(crawls[2], [datum(A, "unfetched", fetch_time=NOW + 99 * DAY, score=9.0)])

    found = merged(crawls, engine)

    assert found.keys() == {A, B}
    assert (found[A]["score"], found[A]["signature"]) == (2.0, b"new")


def test_ties_go_to_the_later_due_time_then_to_the_first_crawl(crawls: list[CrawlDir], engine: Engine) -> None:
    later = fetched(A, ago=DAY, interval=2 * DAY, score=2.0)
    write_crawldb(crawls[0], [fetched(A, ago=DAY, interval=DAY), datum(B, score=5.0)])
    write_crawldb(crawls[1], [later, datum(B, score=6.0)])
    write_crawldb(crawls[2], [fetched(A, ago=DAY, interval=DAY), datum(B, score=7.0)])

    found = merged(crawls, engine)

    assert (found[A]["score"], found[B]["score"]) == (2.0, 5.0)


def test_newer_metadata_overrides_older_metadata(crawls: list[CrawlDir], engine: Engine) -> None:
    metadata = [
        [("a", "oldest"), ("b", "oldest"), ("c", "oldest")],
        [("a", "newest")],
        [("a", "older"), ("b", "older")],
    ]
    for crawl, days, found in zip(crawls, (9, 1, 5), metadata, strict=True):
        write_crawldb(crawl, [fetched(A, ago=days * DAY, metadata=found)])

    made = merged(crawls, engine)

    assert made[A]["metadata"] == {"a": "newest", "b": "older", "c": "oldest"}


def test_urls_are_normalised_and_filtered_if_requested(crawls: list[CrawlDir], engine: Engine, tmp_path: Path) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("-^http://b\n+.\n")
    settings = (
        "urlfilter.filters=['regex']",
        f"urlfilter.regex_file={str(rules)!r}",
        "urlnormalizer.normalizers=['querystring']",
    )
    write_crawldb(crawls[0], [fetched(f"{A}?b&a", ago=DAY, score=2.0), fetched(f"{A}?a&b", ago=2 * DAY), datum(B)])
    write_crawldb(crawls[1], [fetched(f"{A}?a&b", ago=3 * DAY, metadata=[("k", "v")])])
    write_crawldb(crawls[2], [])

    found = merged(crawls, engine, *settings, filter=True, normalize=True)

    assert found.keys() == {f"{A}?a&b"}
    assert (found[f"{A}?a&b"]["score"], found[f"{A}?a&b"]["metadata"]) == (2.0, {"k": "v"})


def test_urls_with_the_same_normal_form_merge_their_metadata_across_crawls(
    crawls: list[CrawlDir], engine: Engine
) -> None:
    spellings = [f"{A}?a&b&c", f"{A}?a&c&b", f"{A}?b&a&c", f"{A}?b&c&a"]
    write_crawldb(
        crawls[0],
        [
            fetched(spellings[0], ago=9 * DAY, metadata=[("k", "9"), ("l", "9"), ("m", "9"), ("n", "9")]),
            fetched(spellings[1], ago=DAY, score=2.0, metadata=[("k", "1")]),
            fetched(spellings[2], ago=2 * DAY),
            fetched(spellings[3], ago=7 * DAY, metadata=[("k", "7"), ("l", "7"), ("m", "7")]),
        ],
    )
    write_crawldb(crawls[1], [fetched(spellings[3], ago=5 * DAY, metadata=[("k", "5"), ("l", "5")]), datum(B)])
    write_crawldb(crawls[2], [fetched(B, ago=DAY, metadata=[("b", "c")])])

    found = merged(crawls, engine, "urlnormalizer.normalizers=['querystring']", normalize=True)

    assert found.keys() == {spellings[0], B}
    assert found[spellings[0]]["score"] == 2.0
    assert found[spellings[0]]["metadata"] == {"k": "1", "l": "5", "m": "7", "n": "9"}
    assert found[B]["metadata"] == {"b": "c"}


def test_applied_segments_are_merged_and_nothing_is_overwritten(crawls: list[CrawlDir], engine: Engine) -> None:
    for name, crawl in zip("123", crawls, strict=True):
        write_crawldb(crawl, [datum(A), datum(f"http://{name}.org/")], applied=[name, "0"])
    out = crawl_at(crawls[0].path.parent / "out")

    made = mergedb(out, crawls, engine, CONFIG, now=NOW)

    assert made == MergedbResult(records=6, urls=4)
    with Table.open(out.crawldb) as table:
        assert table.manifest.applied == ("0", "1", "2", "3")
    with pytest.raises(UsageError, match="already"):
        mergedb(out, crawls, engine, CONFIG, now=NOW)


def test_command_creates_a_crawl(crawls: list[CrawlDir], run: Run) -> None:
    for crawl in crawls[:2]:
        write_crawldb(crawl, [datum(A)])

    good = run("mergedb", "out", crawls[0].path, crawls[1].path)
    without = run("mergedb", "other", crawls[0].path, crawls[2].path)

    assert (good.code, good.out) == (0, "Merged 2 records from 2 crawldbs into 1 URL\n")
    assert without.code == 2
    assert not (crawls[0].path.parent / "other").exists()
