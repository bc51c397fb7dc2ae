"""explain: the summary for every state of a URL, and the facts behind it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import NOW, crawl_at, datum, link, named, page, write_crawldb, write_linkdb, write_segment

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import ROBOTS_CACHE, CrawlDir
from scoter.batch.jobs.explain import Explanation, explain, summarize
from scoter.config import load
from scoter.core.robots import Verdict
from scoter.core.robots_cache import StoredRobots
from scoter.errors import UrlError
from scoter.store.robots_cache import SqliteRobotsCache
from scoter.store.tables import Table

A, B, C = "http://a.org/", "http://b.org/page", "http://c.org/"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    return crawl_at(tmp_path / "crawl")


def told(crawl: CrawlDir, url: str, *settings: str) -> tuple[Explanation, str]:
    found = explain(crawl, load(None, {}, settings), url, now=NOW)
    return found, summarize(found, NOW)


def fetched(url: str, status: str = "success", **columns: Any) -> dict[str, Any]:
    return {**datum(url, status, fetch_time=NOW - 2 * HOUR), "http_status": 200, **columns}


def test_fetched_page_shows_when_it_is_due_again(crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum(A, fetch_time=NOW + 30 * DAY)], applied=["1"])
    write_segment(
        crawl, "1", fetches=[fetched(A, ip="192.0.2.7", warc_file="x.warc.gz", warc_offset=7)], pages=[page(A)]
    )

    found, sentence = told(crawl, "HTTP://A.org")

    assert sentence == "fetched 2 h ago; due again 2026-12-15 05:00 UTC"
    assert [row["ip"] for row in found.fetches] == ["192.0.2.7"]
    assert [row["segment"] for row in found.parses] == ["1"]
    assert not found.is_due


def test_waiting_url_shows_how_many_have_a_higher_score(crawl: CrawlDir) -> None:
    due = {"fetch_time": NOW - DAY}
    others = [datum(f"http://a.org/{n}", "unfetched", score=2.0, **due) for n in range(3)]
    later = datum("http://a.org/later", "unfetched", score=9.0, fetch_time=NOW + DAY)
    write_crawldb(crawl, [datum(A, "unfetched", score=1.0, **due), *others, later])

    found, sentence = told(crawl, A)

    assert (found.is_due, found.ahead) == (True, 3)
    assert sentence == "waiting; due since 2026-11-14 05:00 UTC, 3 due URLs have a higher score"


def test_url_that_is_not_due_shows_when_it_will_be(crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum(A, "unfetched", retries=1, fetch_time=NOW + DAY)], applied=["1"])
    refused = fetched(A, "retry", reason="server_error", detail="HTTP 500", http_status=500)
    write_segment(crawl, "1", fetches=[refused])

    _, sentence = told(crawl, A)

    assert sentence == "tried once (server_error, HTTP 500) 2 h ago; not due before 2026-11-16 05:00 UTC"


async def test_cached_robots_file_decides_about_the_url(crawl: CrawlDir) -> None:
    with SqliteRobotsCache(crawl.path / ROBOTS_CACHE) as cache:
        await cache.put("http://b.org", StoredRobots(b"User-agent: *\nDisallow: /p", NOW.timestamp()))
        await cache.put("http://c.org", StoredRobots(None, NOW.timestamp()))

    verdicts = [told(crawl, url, "agent.name=bot")[0].robots for url in (A, B, "http://b.org/", C)]

    assert verdicts == [
        None,
        Verdict(False, "line 2: Disallow: /p"),
        Verdict(True, "no rule matches"),
        Verdict(True, "the site has no robots.txt"),
    ]


def test_recorded_robots_rule_is_shown(crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum(A, "gone", fetch_time=NOW + DAY)], applied=["1"])
    denied = fetched(A, "gone", reason="robots_denied", detail="line 2: Disallow: /", http_status=None)
    write_segment(crawl, "1", fetches=[denied])

    _, sentence = told(crawl, A)

    assert sentence == (
        "gone (robots_denied, line 2: Disallow: /) 2 h ago; due again 2026-11-16 05:00 UTC"
        "; to allow it on a host of your own: http.robot_rules_allowlist"
    )


def test_dropped_url_names_the_filter(crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum(A)])

    found, sentence = told(crawl, "http://a.org/photo.jpg")

    assert sentence.startswith("never fetched: dropped by urlfilter suffix (line ")
    assert not found.is_kept
    assert found.is_host_known


def test_known_url_that_a_filter_now_drops_is_not_waiting(crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum("http://a.org/photo.jpg", "unfetched", fetch_time=NOW - DAY)])

    _, sentence = told(crawl, "http://a.org/photo.jpg")

    assert "dropped by urlfilter suffix" in sentence


def test_scope_of_the_crawl_is_applied_as_a_filter(crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum(A)])
    (crawl.path / "scope.txt").write_text("domain a.org\n")

    assert "dropped by urlfilter scope" in told(crawl, B)[1]
    assert "dropped" not in told(crawl, "http://www.a.org/x")[1]


def test_url_without_links_is_unknown_and_the_rules_are_listed(crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum(A)])

    _, sentence = told(crawl, B, "db.ignore_external_links=true")

    assert sentence == (
        "unknown: no parsed page links to it (no URL of its host is known; "
        "db.ignore_external_links: a link from another host is dropped)"
    )


def test_link_in_an_unapplied_segment_is_shown_with_its_score(crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum(A)])
    links = [link(A, B, "b", score=0.25), link(C, B, score=0.5), *(link(f"http://d.org/{n}", B) for n in range(9))]
    write_segment(crawl, "1", fetches=[fetched(A)], pages=[page(A)], links=links)

    found, sentence = told(crawl, B)

    assert sentence == f"linked from {C}, but segment 1 is not in the crawldb yet, run `scoter updatedb`"
    assert (found.links.count, len(found.links.first), found.link_score) == (11, 5, 0.75)
    assert [row["score"] for row in found.links.first] == [0.5, 0.25, 0.0, 0.0, 0.0]


def test_fetch_in_an_unapplied_segment_is_shown(crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum(A, "unfetched", fetch_time=NOW - DAY)])
    write_segment(crawl, "1", fetches=[fetched(A)])

    assert "not in the crawldb yet, run `scoter updatedb`" in told(crawl, A)[1]


def test_url_in_an_unfinished_fetch_list_is_waiting_until_fetched(crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum(A, "unfetched", fetch_time=NOW - DAY), datum(B, "unfetched", fetch_time=NOW - DAY)])
    write_segment(crawl, "1", generates=[datum(A, "unfetched"), datum(B, "unfetched")], fetches=[fetched(B)], done=())

    assert told(crawl, A)[1] == "waiting in the fetch list of segment 1; run `scoter fetch`"
    assert told(crawl, B)[0].listed == ()


def test_segment_that_ended_without_requesting_the_url_is_shown(crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum(A, "unfetched", fetch_time=NOW - DAY)])
    write_segment(crawl, "1", generates=[datum(A, "unfetched")])

    found, sentence = told(crawl, A)

    assert (found.listed, found.skipped) == ((), ("1",))
    assert sentence.startswith("waiting; due since")


def test_redirect_chain_is_shown_hop_by_hop_and_loops_end(crawl: CrawlDir) -> None:
    def moved(url: str, to: str) -> dict[str, Any]:
        target = named(to)
        place = {"redirect_to": target["url"], "redirect_key": target["key"], "redirect_host": target["host"]}
        return fetched(url, "redir_perm", http_status=301, **place)

    write_crawldb(crawl, [datum(A, "redir_perm"), datum(B, "redir_perm")], applied=["1"])
    write_segment(crawl, "1", fetches=[moved(A, B), moved(B, C), moved(C, A)])

    found, sentence = told(crawl, A)

    assert sentence.startswith(f"redirected to {B} 2 h ago")
    hops = [(hop["from"], hop["to"], hop["known_as"]) for hop in found.redirects]
    assert hops == [(A, B, "redir_perm"), (B, C, None), (C, A, "redir_perm")]
    assert [row["url"] for row in found.redirected_from.first] == [C]


def test_redirect_target_in_an_unapplied_segment_is_shown(crawl: CrawlDir) -> None:
    target = named(B)
    place = {"redirect_to": target["url"], "redirect_key": target["key"], "redirect_host": target["host"]}
    write_crawldb(crawl, [datum(A)])
    write_segment(crawl, "1", fetches=[fetched(A, "redir_temp", **place)])

    assert told(crawl, B)[1].startswith(f"the target of a redirect from {A}, but")


def test_duplicates_and_inlinks_are_shown(crawl: CrawlDir) -> None:
    same: dict[str, Any] = {"signature": b"same"}
    write_crawldb(crawl, [datum(A, "duplicate", **same), datum(B, **same), datum(C, signature=b"else")])
    write_linkdb(crawl, {A: [(f"http://d.org/{n}", "word") for n in range(7)]})

    found, sentence = told(crawl, A)

    assert sentence.startswith(f"a duplicate of {B}, fetched")
    assert (found.duplicates.count, found.duplicates.first[0]["url"]) == (1, B)
    assert (found.inlinks.count, len(found.inlinks.first)) == (7, 5)


def test_url_is_looked_up_in_its_normalised_form(crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum("http://a.org/x?a=1&b=2")])

    found, _ = told(crawl, "http://a.org/x?b=2&a=1", "urlnormalizer.normalizers=querystring")

    assert found.url.text == "http://a.org/x?a=1&b=2"
    assert found.record is not None
    assert next(step.changed for step in found.normalizers)


def test_crawl_without_tables_can_be_explained(crawl: CrawlDir) -> None:
    assert told(crawl, A)[1].startswith("unknown")


def test_text_that_is_not_a_url_is_a_usage_error(crawl: CrawlDir) -> None:
    with pytest.raises(UrlError):
        told(crawl, "not a url")


def test_tables_without_a_finished_version_are_ignored(crawl: CrawlDir) -> None:
    write_segment(crawl, "1", fetches=[fetched(A)], pages=[page(A)])
    with Table.write(crawl.crawldb, schemas.CRAWLDB), Table.write(crawl.linkdb, schemas.LINKDB):
        found, _ = told(crawl, A)

    again, _ = told(crawl, A)

    assert (found.record, found.inlinks.count, len(found.fetches)) == (None, 0, 1)
    assert again == found


def test_duplicate_names_the_kept_page_not_another_duplicate(crawl: CrawlDir) -> None:
    alike = [f"http://a.org/{number}" for number in range(7)]
    statuses = ["duplicate"] * 6 + ["fetched"]
    rows = [datum(url, status, signature=b"s") for url, status in zip(alike, statuses, strict=True)]
    write_crawldb(crawl, rows)

    found, sentence = told(crawl, alike[1])

    assert sentence.startswith(f"a duplicate of {alike[6]}, ")
    assert (found.duplicates.count, len(found.duplicates.first)) == (6, 5)
