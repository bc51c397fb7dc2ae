"""invertlinks: which links are added to the linkdb, and which are replaced."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.batch.crawls import NOW, crawl_at, link, linkdb, page, write_linkdb, write_segment
from tests.cli.conftest import Run, run

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import FETCHED
from scoter.batch.jobs.invertlinks import InvertResult, invertlinks, pending
from scoter.config import Config, load
from scoter.engine import Engine
from scoter.errors import UsageError

__all__ = ["run"]

A, B, C, D = "http://a.org/", "http://b.org/", "http://c.org/", "http://d.org/x"


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    return crawl_at(tmp_path / "crawl")


def config(*settings: str) -> Config:
    return load(None, {}, settings)


def pairs(crawl: CrawlDir) -> list[tuple[str, str]]:
    return sorted((source, target) for target, inlinks in linkdb(crawl).items() for source, _ in inlinks)


def invert(crawl: CrawlDir, engine: Engine, *settings: str, **options: bool) -> InvertResult:
    return invertlinks(crawl, engine, config(*settings), pending(crawl), now=NOW, **options)


def test_link_is_stored_under_its_target(crawl: CrawlDir, engine: Engine) -> None:
    write_segment(crawl, "1", pages=[page(A), page(B)], links=[link(A, C, "see"), link(B, C), link(A, D)])

    made = invert(crawl, engine)

    assert made == InvertResult(segments=("1",), urls=2, urls_before=0)
    assert linkdb(crawl) == {C: [(A, "see"), (B, "")], D: [(A, "")]}


def test_segment_is_added_only_once(crawl: CrawlDir, engine: Engine) -> None:
    segment = write_segment(crawl, "1", pages=[page(A)], links=[link(A, C)])
    invert(crawl, engine)

    assert pending(crawl) == []
    with pytest.raises(UsageError, match="already"):
        invertlinks(crawl, engine, config(), [segment], now=NOW)
    invertlinks(crawl, engine, config(), [segment], now=NOW, force=True)

    assert linkdb(crawl) == {C: [(A, "")]}


def test_no_segment_is_an_error_and_changes_nothing(crawl: CrawlDir, engine: Engine) -> None:
    with pytest.raises(UsageError, match="no segment given"):
        invertlinks(crawl, engine, config(), [], now=NOW)

    assert not crawl.linkdb.exists()


def test_unparsed_segment_is_rejected_and_nothing_is_written(crawl: CrawlDir, engine: Engine) -> None:
    segment = write_segment(crawl, "1", pages=[page(A)], links=[link(A, C)], done=[FETCHED])

    assert pending(crawl) == []
    with pytest.raises(UsageError, match="not parsed"):
        invertlinks(crawl, engine, config(), [segment], now=NOW)

    assert not crawl.linkdb.exists()


def test_links_of_a_page_parsed_again_are_replaced(crawl: CrawlDir, engine: Engine) -> None:
    write_linkdb(crawl, {C: [(A, "old"), (B, "stays")], D: [(A, "old")]}, applied=["1"])
    write_segment(crawl, "2", pages=[page(A)], links=[link(A, C, "new")])

    invert(crawl, engine)

    assert linkdb(crawl) == {C: [(A, "new"), (B, "stays")]}


def test_page_with_a_parse_error_keeps_its_old_links(crawl: CrawlDir, engine: Engine) -> None:
    write_linkdb(crawl, {C: [(A, "old")]})
    write_segment(crawl, "2", pages=[page(A, "failed")])

    invert(crawl, engine)

    assert linkdb(crawl) == {C: [(A, "old")]}


def test_newest_of_several_segments_decides_the_links_of_a_page(crawl: CrawlDir, engine: Engine) -> None:
    write_segment(crawl, "1", pages=[page(A), page(B)], links=[link(A, C, "old"), link(A, D), link(B, D)])
    write_segment(crawl, "2", pages=[page(A)], links=[link(A, C, "new")])

    invert(crawl, engine)

    assert linkdb(crawl) == {C: [(A, "new")], D: [(B, "")]}


@pytest.mark.parametrize("normalize", [True, False])
def test_older_segment_added_later_keeps_the_links_of_newer_pages(
    crawl: CrawlDir, engine: Engine, normalize: bool
) -> None:
    older = write_segment(crawl, "1", pages=[page(A), page(B)], links=[link(A, C, "old"), link(A, D), link(B, D)])
    newer = write_segment(crawl, "2", pages=[page(A)], links=[link(A, C, "new")])
    write_segment(crawl, "3", pages=[page(B)], links=[link(B, A)])  # which is not in the linkdb
    invertlinks(crawl, engine, config(), [newer], now=NOW)

    invertlinks(crawl, engine, config(), [older], now=NOW, normalize=normalize, filter=normalize)

    assert linkdb(crawl) == {C: [(A, "new")], D: [(B, "")]}


def test_segment_between_two_added_ones_replaces_only_older_links(crawl: CrawlDir, engine: Engine) -> None:
    first = write_segment(crawl, "1", pages=[page(A), page(B)], links=[link(A, C, "1"), link(B, C, "1")])
    second = write_segment(crawl, "2", pages=[page(A), page(B)], links=[link(A, D, "2"), link(B, D, "2")])
    third = write_segment(crawl, "3", pages=[page(A), page(C, "failed")], links=[link(A, B, "3")])
    invertlinks(crawl, engine, config(), [first, third], now=NOW)

    invertlinks(crawl, engine, config(), [second], now=NOW)

    assert linkdb(crawl) == {B: [(A, "3")], D: [(B, "2")]}


INTERNAL = [
    ("http://a.org/x", "http://a.org/y"),
    ("http://a.org/x", "https://a.org:8443/y"),
    ("http://a.org:8080/", "http://a.org/"),
    ("http://[2001:db8::1]:81/", "http://[2001:db8::1]/y"),
    ("https://b.org/x", "http://b.org/y"),
    ("ftp://a.org/x", "http://a.org/z"),
]
EXTERNAL = [
    ("http://a.org.evil.net/", "http://a.org/"),
    ("http://a.org/", "http://a.org.evil.net/"),
    ("http://www.a.org/", "http://a.org/"),
    ("http://b.org/?http://a.org/", "http://a.org/"),
    ("https://b.org.evil.net/", "https://b.org/"),
    ("ftp://b.org.evil.net/x", "https://b.org/z"),
    ("ftp://evil.net/?ftp://b.org/", "https://b.org/"),
]


def test_internal_links_are_those_within_a_host(crawl: CrawlDir, engine: Engine) -> None:
    links = [*INTERNAL, *EXTERNAL]
    write_segment(crawl, "1", pages=[page(source) for source, _ in links], links=[link(*each) for each in links])

    invert(crawl, engine)
    without_internal = pairs(crawl)
    other = ("linkdb.ignore_internal_links=false", "linkdb.ignore_external_links=true")
    invertlinks(crawl, engine, config(*other), crawl.all_segments(), now=NOW, force=True)
    without_external = pairs(crawl)

    assert without_internal == sorted(EXTERNAL)
    assert without_external == sorted(INTERNAL)


def test_anchor_is_truncated_by_characters_not_bytes(crawl: CrawlDir, engine: Engine) -> None:
    write_segment(crawl, "1", pages=[page(A)], links=[link(A, C, "žluťoučký kůň")])

    invert(crawl, engine, "linkdb.max_anchor_length=4")

    assert linkdb(crawl) == {C: [(A, "žluť")]}


def test_page_counts_once_however_often_it_links(crawl: CrawlDir, engine: Engine) -> None:
    write_segment(crawl, "1", pages=[page(A), page(A)], links=[link(A, C), link(A, C, "words"), link(A, C, "words")])

    invert(crawl, engine)

    assert linkdb(crawl) == {C: [(A, "words")]}


def test_inlink_limit_prefers_known_links_then_the_first_by_source(crawl: CrawlDir, engine: Engine) -> None:
    sources = [f"http://s{number}.org/" for number in range(6)]
    write_linkdb(crawl, {C: [("http://z.org/", "known")]})
    links = [link(source, C, anchor) for source in reversed(sources) for anchor in ("", "x")]
    write_segment(crawl, "1", pages=[page(source) for source in sources], links=[*links, link(sources[5], D)])

    invert(crawl, engine, "linkdb.max_inlinks=3")

    assert linkdb(crawl) == {
        C: [(sources[0], "x"), (sources[1], "x"), ("http://z.org/", "known")],
        D: [(sources[5], "")],
    }


def test_new_links_are_filtered_unless_turned_off(crawl: CrawlDir, engine: Engine, tmp_path: Path) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("-^http://c\n-^http://b\n+.\n")
    settings = ("urlfilter.filters=['regex']", f"urlfilter.regex_file={str(rules)!r}")
    links = [link(A, C), link(B, D), link(A, D), link("http://e.org/", D)]
    write_segment(crawl, "1", pages=[page(A), page(B), page("http://e.org/")], links=links)

    invert(crawl, engine, *settings)
    filtered = linkdb(crawl)
    invertlinks(
        crawl, engine, config(*settings), crawl.all_segments(), now=NOW, filter=False, normalize=False, force=True
    )

    assert filtered == {D: [(A, ""), ("http://e.org/", "")]}
    assert linkdb(crawl) == {C: [(A, "")], D: [(A, ""), (B, ""), ("http://e.org/", "")]}


def test_targets_and_sources_with_the_same_normal_form_are_merged(crawl: CrawlDir, engine: Engine) -> None:
    sources, targets = [f"{A}?x=1&y=2", f"{A}?y=2&x=1"], [f"{C}?b=1&a=2", f"{C}?a=2&b=1"]
    write_linkdb(crawl, {D: [(sources[0], "of an older page")]})
    write_segment(crawl, "1", pages=[page(sources[1])], links=[link(sources[1], target) for target in targets])

    invert(crawl, engine, "urlnormalizer.normalizers=['querystring']")

    assert linkdb(crawl) == {targets[1]: [(sources[0], "")]}


def test_command_adds_the_pending_segments(crawl: CrawlDir, run: Run) -> None:
    write_segment(crawl, "1", pages=[page(A)], links=[link(A, C)])

    done = run("invertlinks", crawl.path)
    again = run("invertlinks", crawl.path)
    named = run("invertlinks", crawl.path, "1")

    assert (done.code, done.out) == (0, "Added 1 segment to the linkdb: 1 URL with inlinks, 0 before\n")
    assert (again.code, again.out) == (1, "")
    assert (named.code, "--force" in named.err) == (2, True)
