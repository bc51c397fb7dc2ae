"""URLs of possible crawler traps are held back by generate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import NOW, crawl_at, datum, named, write_crawldb, write_segment

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.fetchlists.traps import CALENDAR, NEAR_DUPLICATES, TRAPS_FILE, TrapHost
from scoter.batch.generate import GenerateResult, generate
from scoter.config import load
from scoter.core.traps import PROBES
from scoter.engine import Engine
from scoter.errors import UserError


def _due(url: str) -> dict[str, Any]:
    return datum(url, "unfetched", fetch_time=NOW)


def _generate(crawl: CrawlDir, engine: Engine, *settings: str) -> GenerateResult:
    return generate(crawl, engine, load(None, {}, list(settings)), now=NOW)


def _days(first: int, count: int) -> list[str]:
    return [f"http://a.example/day?n={number}" for number in range(first, first + count)]


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    """A crawl that has fetched 30 days of a calendar, and knows 100 more and 100 articles."""
    made = crawl_at(tmp_path / "crawl")
    articles = [f"http://a.example/article/{number}" for number in range(100)]
    write_crawldb(made, [_due(url) for url in (*_days(100, 100), *articles)], applied=["20261115000000"])
    texts = [{**named(url), "text": f"Day {number}: no events"} for number, url in enumerate(_days(0, 30))]
    write_segment(made, "20261115000000", texts=texts)
    return made


def test_generate_holds_back_urls_whose_pages_hardly_differ(crawl: CrawlDir, engine: Engine) -> None:
    done = _generate(crawl, engine)

    assert done.urls in (100, 101)  # at most 1 % of them are days
    assert done.traps == (TrapHost("a.example", NEAR_DUPLICATES, 200 - done.urls),)
    assert done.skipped["held back as possible traps"] == 200 - done.urls


def test_evidence_adds_up_over_rounds(tmp_path: Path, engine: Engine) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    write_crawldb(crawl, [_due(url) for url in _days(100, 50)])
    held = []
    for number in range(5):
        texts = [{**named(url), "text": f"Day {number}: no events"} for url in _days(4 * number, 4)]
        write_segment(crawl, f"2026111500000{number}", texts=texts)
        held.append(sum(each.urls for each in _generate(crawl, engine).traps))

    assert held[0] == held[1] == 0
    assert held[-1] == 50


def test_traps_are_remembered_when_segments_are_removed(crawl: CrawlDir, engine: Engine) -> None:
    first = _generate(crawl, engine)
    for segment in crawl.all_segments():
        segment.path.rename(crawl.path / segment.name)

    assert _generate(crawl, engine).traps == first.traps


def test_traps_are_fetched_if_the_share_is_one(crawl: CrawlDir, engine: Engine) -> None:
    done = _generate(crawl, engine, "generate.trap_share=1")

    assert done.urls == 200
    assert done.traps == ()
    assert not (crawl.path / TRAPS_FILE).exists()


def test_calendar_in_the_far_future_is_held_back(tmp_path: Path, engine: Engine) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    write_crawldb(crawl, [_due(f"http://a.example/calendar/{year}/01/") for year in range(2020, 2040)])

    done = _generate(crawl, engine)

    assert done.urls == 8  # up to next year
    assert done.traps == (TrapHost("a.example", CALENDAR, 12),)


def _months(count: int, host: str = "a.example") -> list[str]:
    return [f"http://{host}/calendar/{2000 + number // 12}/{number % 12 + 1:02}/" for number in range(count)]


def test_unknown_calendar_is_tried_a_few_pages_at_a_time(tmp_path: Path, engine: Engine) -> None:
    # given two calendars of which nothing is known, and articles under dates
    crawl = crawl_at(tmp_path / "crawl")
    articles = [f"http://a.example/2026/05/{chr(97 + number)}" for number in range(20)]
    write_crawldb(crawl, [_due(url) for url in (*_months(60), *_months(60, "b.example"), *articles)])

    # then a few pages of each calendar are fetched, and all articles; the others are no traps yet
    first = _generate(crawl, engine)
    assert first.urls == PROBES + PROBES + len(articles)
    assert first.traps == ()
    assert first.skipped == {"of a calendar that is tried a few pages at a time": 2 * (60 - PROBES)}

    # when one of them has different texts, and the other has not
    texts = [{**named(url), "text": f"{chr(97 + at)}event " * (at + 9)} for at, url in enumerate(_months(PROBES))]
    texts += [{**named(url), "text": f"{at}: no events"} for at, url in enumerate(_months(PROBES, "b.example"))]
    write_segment(crawl, "20261115000001", texts=texts)

    # then the former is fetched, and the latter held back
    second = _generate(crawl, engine)
    assert second.urls - first.urls in range(60 - 2 * PROBES - 1, 60 - 2 * PROBES + 1)
    assert [(each.host, each.reason) for each in second.traps] == [("b.example", NEAR_DUPLICATES)]


def test_calendar_without_texts_is_fetched_in_the_end(tmp_path: Path, engine: Engine) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    write_crawldb(crawl, [_due(url) for url in _months(60)])

    assert [_generate(crawl, engine).urls for _ in range(5)] == [PROBES, PROBES, PROBES, 60, 60]


def test_nothing_is_generated_if_only_traps_are_due(tmp_path: Path, engine: Engine) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    write_crawldb(crawl, [_due("http://a.example/calendar/2099/01/")])

    done = _generate(crawl, engine)

    assert done.segments == {}
    assert done.skipped == {"held back as possible traps": 1}
    assert done.traps == (TrapHost("a.example", CALENDAR, 1),)


def test_damaged_trap_file_is_an_error_that_says_what_to_do(crawl: CrawlDir, engine: Engine) -> None:
    (crawl.path / TRAPS_FILE).write_text("[")

    with pytest.raises(UserError, match="damaged"):
        _generate(crawl, engine)
