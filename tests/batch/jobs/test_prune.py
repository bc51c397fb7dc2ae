"""prune: what it removes, what it keeps, and what it prints."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from tests.batch.crawls import NOW, crawl_at, datum, write_crawldb, write_linkdb, write_segment
from tests.cli.conftest import Run, run

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import FETCHED, INFO_FILE, SegmentInfo
from scoter.batch.jobs.prune import prune
from scoter.errors import UsageError
from scoter.store.tables import Table

__all__ = ["run"]

DAY = timedelta(days=1)


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    """Four segments, made 40, 30, 20 and 10 days ago; the first three are in the crawldb."""
    made = crawl_at(tmp_path / "crawl")
    for number, days in enumerate((40, 30, 20, 10), 1):
        segment = write_segment(made, str(number), fetches=[datum("http://a.org/", "success")])
        about = SegmentInfo(created=NOW - days * DAY, lists=1, urls=1)
        (segment.path / INFO_FILE).write_bytes(msgspec.json.encode(about))
    write_crawldb(made, [datum("http://a.org/")], applied=["1", "2", "3"])
    return made


def left(crawl: CrawlDir) -> str:
    return "".join(each.name for each in crawl.all_segments())


def test_older_applied_segments_are_removed(crawl: CrawlDir) -> None:
    size = sum(path.stat().st_size for path in (crawl.segments / "1").rglob("*") if path.is_file())

    made = prune(crawl, now=NOW, older_than=30 * DAY)

    assert [(each.kind, each.name, each.size) for each in made.removed] == [("segment", "1", size)]
    assert left(crawl) == "234"
    assert not list(crawl.segments.glob(".*"))


def test_age_beyond_the_calendar_removes_nothing(crawl: CrawlDir) -> None:
    assert prune(crawl, now=NOW, older_than=1_000_000 * DAY).removed == ()


def test_newest_segments_are_kept_however_old(crawl: CrawlDir) -> None:
    prune(crawl, now=NOW, keep=3, older_than=DAY)

    assert left(crawl) == "234"


def test_unapplied_segment_is_kept_with_the_reason(crawl: CrawlDir) -> None:
    made = prune(crawl, now=NOW, keep=0)

    assert left(crawl) == "4"
    assert [(each.name, each.why) for each in made.spared] == [("4", "not in the crawldb yet")]


def test_segment_must_also_be_in_an_existing_linkdb(crawl: CrawlDir) -> None:
    write_linkdb(crawl, {}, applied=["1"])

    prune(crawl, now=NOW, keep=0)

    assert left(crawl) == "234"


def test_unfinished_segment_is_kept_even_if_applied(crawl: CrawlDir) -> None:
    (crawl.segments / "2" / FETCHED).unlink()

    prune(crawl, now=NOW, keep=0)

    assert left(crawl) == "24"


def test_force_removes_everything_except_locked_segments(crawl: CrawlDir) -> None:
    (crawl.segments / "1" / FETCHED).unlink()

    with crawl.segment("4").lock("fetch"), pytest.raises(UsageError, match="fetch"):
        prune(crawl, now=NOW, keep=0, force=True)

    assert left(crawl) == "4"


def test_dry_run_removes_nothing(crawl: CrawlDir) -> None:
    made = prune(crawl, now=NOW, keep=1, dry_run=True)

    assert [each.name for each in made.removed] == ["1", "2", "3"]
    assert left(crawl) == "1234"


def test_outdated_versions_are_removed_unless_in_use(crawl: CrawlDir) -> None:
    read = Table.open(crawl.crawldb)
    held = Table.open(crawl.crawldb)
    for _ in range(3):
        write_crawldb(crawl, [datum("http://a.org/")])
    names = [path.name for path in sorted(crawl.crawldb.glob("v*"))]
    assert names == ["v000001", "v000003", "v000004"]

    read.close()
    first = prune(crawl, now=NOW, versions=True)
    held.close()
    shown = prune(crawl, now=NOW, versions=True, dry_run=True)
    second = prune(crawl, now=NOW, versions=True)

    assert first.removed == ()
    assert [(each.kind, each.name) for each in shown.removed] == [("crawldb", "v000001")]
    assert second == shown
    assert [path.name for path in sorted(crawl.crawldb.glob("v*"))] == names[1:]
    assert left(crawl) == "1234"


def test_invalid_options_are_rejected(crawl: CrawlDir) -> None:
    with pytest.raises(UsageError, match="nothing to remove"):
        prune(crawl, now=NOW)
    with pytest.raises(UsageError, match="--keep-segments"):
        prune(crawl, now=NOW, keep=-1)


def test_command_lists_what_it_removes(crawl: CrawlDir, run: Run) -> None:
    shown = run("prune", crawl.path, "--keep-segments", "2", "--dry-run")
    done = run("prune", crawl.path, "--keep-segments", "2", "--json")
    again = run("prune", crawl.path, "--keep-segments", "2")
    wrong = run("prune", crawl.path, "--segments-older-than", "soon")

    assert (shown.code, "Would free" in shown.out) == (0, True)
    assert [json.loads(line)["name"] for line in done.out.splitlines()] == ["1", "2"]
    assert (again.code, again.out) == (1, "")
    assert (wrong.code, "--segments-older-than" in wrong.err) == (2, True)
    assert left(crawl) == "34"


@pytest.mark.parametrize("age", ["1", " 30 ", "1.5", "1e1"])
def test_age_without_a_unit_is_rejected(crawl: CrawlDir, run: Run, age: str) -> None:
    wrong = run("prune", crawl.path, "--segments-older-than", age)

    assert wrong.code == 2
    assert wrong.err == f"scoter: --segments-older-than: {age!r} has no unit\nFor example: 12h, 30d or 8w\n"
    assert left(crawl) == "1234"
