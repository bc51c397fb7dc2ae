"""URLs of possible crawler traps are held back by generate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from tests.batch.crawls import NOW, crawl_at, datum, page, write_crawldb, write_segment

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.fetchlists.traps import CALENDAR, NEAR_DUPLICATES, TRAPS_FILE, TrapHost
from scoter.batch.jobs.explain import explain, summarize
from scoter.batch.jobs.generate import GenerateResult, generate
from scoter.batch.jobs.inject import inject
from scoter.config import load
from scoter.core.traps import PROBES
from scoter.engine import Engine
from scoter.errors import UserError


def _due(url: str) -> dict[str, Any]:
    return datum(url, "unfetched", fetch_time=NOW)


def _generate(crawl: CrawlDir, engine: Engine, *settings: str) -> GenerateResult:
    return generate(crawl, engine, load(None, {}, list(settings)), now=NOW)


def _pages(urls: list[str], says_the_same: bool = True) -> list[dict[str, Any]]:
    """Return parsed pages, each of which links to others of its kind."""
    return [page(url, words_hash=0 if says_the_same else n, links_hash=n) for n, url in enumerate(urls)]


def _days(first: int, count: int) -> list[str]:
    return [f"http://a.example/day?n={number}" for number in range(first, first + count)]


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    """A crawl that has fetched 30 days of a calendar, and knows 100 more and 100 articles."""
    made = crawl_at(tmp_path / "crawl")
    articles = [f"http://a.example/article/{number}" for number in range(100)]
    write_crawldb(made, [_due(url) for url in (*_days(100, 100), *articles)], applied=["20261115000000"])
    write_segment(made, "20261115000000", pages=_pages(_days(0, 30)))
    return made


def test_generate_holds_back_urls_whose_pages_hardly_differ(crawl: CrawlDir, engine: Engine) -> None:
    done = _generate(crawl, engine)

    assert done.urls in (100, 101)  # at most 1 % of them are days
    assert done.traps == (TrapHost("a.example", NEAR_DUPLICATES, 200 - done.urls, "a.example/day?n"),)
    assert done.skipped["held back as possible traps"] == 200 - done.urls


def test_evidence_adds_up_over_rounds(tmp_path: Path, engine: Engine) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    write_crawldb(crawl, [_due(url) for url in _days(100, 50)])
    held = []
    for number in range(5):
        write_segment(crawl, f"2026111500000{number}", pages=_pages(_days(4 * number, 4)))
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

    assert done.urls == 8 + 1  # up to next year, and one page beside others
    assert done.traps == (TrapHost("a.example", CALENDAR, 11, "a.example/calendar/0/0/"),)


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
    pages = [*_pages(_months(PROBES), says_the_same=False), *_pages(_months(PROBES, "b.example"))]
    write_segment(crawl, "20261115000001", pages=pages)

    # then the former is fetched, and the latter held back
    second = _generate(crawl, engine)
    assert second.urls - first.urls == 60 - 2 * PROBES + 1  # one of the latter beside others
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
    assert done.traps == (TrapHost("a.example", CALENDAR, 1, "a.example/calendar/0/0/"),)


def test_damaged_trap_file_is_an_error_that_says_what_to_do(crawl: CrawlDir, engine: Engine) -> None:
    (crawl.path / TRAPS_FILE).write_text("[")

    with pytest.raises(UserError, match="damaged"):
        _generate(crawl, engine)


def test_only_urls_that_were_never_fetched_are_held_back(crawl: CrawlDir, engine: Engine) -> None:
    fetched = [datum(url, "fetched", fetch_time=NOW) for url in _days(0, 30)]
    write_crawldb(crawl, [*fetched, *map(_due, _days(100, 5))])

    done = _generate(crawl, engine)

    assert done.urls in (30, 31)
    assert [each.urls for each in done.traps] == [35 - done.urls]


def test_seeds_and_sitemap_entries_are_never_held_back(crawl: CrawlDir, engine: Engine, tmp_path: Path) -> None:
    config = load(None, {}, ["generate.trap_share=0"])
    assert generate(crawl, engine, config, now=NOW).urls == 100
    ahead = "http://b.example/calendar/2099/01/"

    inject(crawl, engine, config, [*_days(100, 10), *_days(200, 10), ahead], now=NOW)

    # also those that were known by links before
    assert generate(crawl, engine, config, now=NOW).urls == 100 + 21


def test_at_least_one_url_of_a_trap_is_fetched_beside_others(tmp_path: Path, engine: Engine) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    write_crawldb(crawl, [_due(url) for url in (*_days(100, 20), "http://a.example/about")])
    write_segment(crawl, "20261115000000", pages=_pages(_days(0, 30)))

    assert _generate(crawl, engine).urls == 2
    assert _generate(crawl, engine, "generate.trap_share=0").urls == 1


def test_suspicion_ends_when_pages_turn_out_to_differ(crawl: CrawlDir, engine: Engine) -> None:
    assert _generate(crawl, engine).urls < 110
    write_segment(crawl, "20261115000001", pages=_pages(_days(30, 32), says_the_same=False))

    assert _generate(crawl, engine).urls == 200


def test_varied_pattern_in_a_suspected_branch_is_fetched(tmp_path: Path, engine: Engine) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    real = [f"http://a.example/list?id={n}&text={n}" for n in range(40)]
    trap = [f"http://a.example/list?{chr(97 + n)}=1&{chr(98 + n)}=1" for n in range(24)]
    write_crawldb(crawl, [_due(url) for url in (*real[10:], *trap[14:])])
    write_segment(crawl, "20261115000000", pages=[*_pages(real[:10], says_the_same=False), *_pages([*trap[:14]] * 2)])

    done = _generate(crawl, engine)

    assert done.urls == 30 + 1
    assert [each.pattern for each in done.traps] == ["a.example/list?*"]


def test_trap_file_of_other_rules_is_not_believed(crawl: CrawlDir, engine: Engine) -> None:
    old = {
        "examined": "20261115000000",
        "names": ["a.example"],
        "samples": {"a.example/x": {"texts": [1], "length": 3}},
    }
    (crawl.path / TRAPS_FILE).write_bytes(msgspec.json.encode(old))

    assert _generate(crawl, engine).urls == 200


def test_segment_of_an_older_release_has_no_hashes_and_is_no_evidence(tmp_path: Path, engine: Engine) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    write_crawldb(crawl, [_due(url) for url in _days(100, 20)])
    segment = write_segment(crawl, "20261115000000", pages=_pages(_days(0, 30)))
    (file,) = segment.parse_data().files
    pq.write_table(pq.read_table(file).drop_columns(["words_hash", "links_hash"]), file)

    assert _generate(crawl, engine).urls == 20


def test_explain_names_the_trap_and_the_setting(crawl: CrawlDir, engine: Engine) -> None:
    _generate(crawl, engine)

    found = explain(crawl, load(), _days(150, 1)[0], now=NOW)

    assert found.trap == "near-duplicate pages, a.example/day?n"
    verdict = summarize(found, NOW)
    assert verdict.startswith("held back as a possible trap (near-duplicate pages, a.example/day?n)")
    assert "generate.trap_share=1" in verdict
    assert explain(crawl, load(), "http://a.example/article/7", now=NOW).trap == ""
