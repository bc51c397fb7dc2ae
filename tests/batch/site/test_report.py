"""The report on a site's health: what it finds in a crawl, without asking any server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import NOW, datum, write_segment
from tests.batch.site.archived_site import CONFIG, add_segment, checked, list_urls, make_site, rows

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.jobs.checksite import checksite
from scoter.batch.site.page_tables import read_pages
from scoter.batch.site.problems import PROBLEM_KINDS, kinds_named
from scoter.batch.site.tables import SiteFolder
from scoter.errors import UsageError

A = "https://a.example"


def page(title: str, body: str = "", head: str = "") -> str:
    return (
        f'<html lang=en><head><title>{title}</title><meta name=description content="On {title}">{head}</head>'
        f"<body><h1>{title}</h1>{body}</body></html>"
    )


def alternate(language: str, path: str) -> str:
    return f'<link rel=alternate hreflang="{language}" href="{path}">'


def same_everywhere(*paths: str) -> Mapping[str, str]:
    """Return pages in the languages that their paths name, which all link to each other."""
    head = "".join(alternate(path[1:], path) for path in paths)
    return {f"{A}{path}": page(path, "".join(f"<a href={each}>x</a>" for each in paths), head) for path in paths}


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    """A site over https; its second segment has newer versions of two pages."""
    pages = {
        f"{A}/": page(
            "Home",
            '<a href="/old">old</a> <a href="/two#part">two</a> <a href="/two#other">two</a> <a href="/en">en</a>'
            '<img src="http://a.example/a.png"> <script src="http://b.example/x.js"></script>'
            '<a href="http://b.example/">a link is no mixed content</a> <form action="http://a.example/send"></form>',
        ),
        f"{A}/old": page("Old", '<a href="/gone">only in the old version</a>'),
        f"{A}/two": page("Two", "<p id=part>"),
        f"{A}/gone": 404,
        f"{A}/alone": page("Alone", '<a href="/island">island</a>'),
        f"{A}/island": page("Island"),
        f"{A}/listed-moved": f"-> {A}/two",
        **same_everywhere("/en", "/de", "/pt-BR", "/x-default"),
        "https://b.example/": page("", '<a href="/gone">not our site</a>'),
    }
    newer = {f"{A}/old": page("Old", '<a href="/two">two</a>')}
    found = make_site(tmp_path / "crawl", segments=[pages, newer], seeds=[f"{A}/"])
    list_urls(found, "sitemap-1.parquet", [f"{A}{path}" for path in ("/", "/alone", "/listed-moved", "/not-crawled")])
    return found


def test_report_is_about_the_current_versions_of_the_pages_of_the_seeds_hosts(crawl: CrawlDir) -> None:
    report = checked(crawl)

    assert (report.totals["pages"], report.totals["hosts"], report.starts) == (9, 1, [f"{A}/"])
    assert rows(crawl, "broken-links") == []  # only an old version has the link
    assert rows(crawl, "missing-titles") == []  # only a page of another site has none
    assert report.depths == [(0, 1), (1, 3), (2, 3)]


def test_problems_that_need_several_pages(crawl: CrawlDir) -> None:
    checked(crawl)

    assert rows(crawl, "missing-fragments") == [(f"{A}/two#other", f"{A}/", "two", "no element has this id")]
    assert rows(crawl, "mixed-content") == [
        (f"{A}/", None, "http://a.example/a.png", "image"),
        (f"{A}/", None, "http://a.example/send", "form"),
        (f"{A}/", None, "http://b.example/x.js", "script"),
    ]
    assert rows(crawl, "hreflang-errors") == []
    assert rows(crawl, "orphans") == [
        (f"{A}/alone", None, "Alone", "in the sitemap"),
        (f"{A}/not-crawled", None, None, "in the sitemap"),
    ]
    assert rows(crawl, "unreachable-pages") == [(f"{A}/island", f"{A}/alone", "island", None)]
    assert rows(crawl, "sitemap-errors") == [(f"{A}/listed-moved", None, None, f"redirects to {A}/two")]
    assert {url for url, *_ in rows(crawl, "not-in-sitemap")} == {
        f"{A}{path}" for path in ("/old", "/two", "/island", "/en", "/de", "/pt-BR", "/x-default")
    }


def test_clicks_are_counted_from_given_start_pages(crawl: CrawlDir) -> None:
    report = checked(crawl, starts=(f"{A}/alone",))

    assert report.depths == [(0, 1), (1, 1)]
    assert rows(crawl, "unreachable-pages")[0][0] == f"{A}/de"
    with pytest.raises(UsageError, match="'nowhere' is not a URL"):
        checked(crawl, starts=("nowhere",))


def test_pages_are_read_once_and_a_report_is_made_once(crawl: CrawlDir) -> None:
    first = checked(crawl)
    again = read_pages(crawl, CONFIG)
    second = checked(crawl)

    assert (again.parts, again.pages) == (0, 0)
    assert second == first
    (crawl.path / "site" / "report.json").write_text('{"version": 0}')
    assert checked(crawl).problems == first.problems  # made again
    add_segment(crawl, "20261115000009", {f"{A}/gone": page("Gone", "is back")}, NOW)
    assert checked(crawl).source != first.source
    assert "pages-20261115000009-part-00001.parquet" in SiteFolder(crawl).names()


def test_what_was_read_of_a_removed_segment_is_removed(crawl: CrawlDir) -> None:
    read_pages(crawl, CONFIG)
    crawl.remove_segment(crawl.all_segments()[1])

    checked(crawl)

    assert [name for name in SiteFolder(crawl).names("pages-") if "000002" in name] == []
    assert rows(crawl, "broken-links")[0][:3] == (f"{A}/gone", f"{A}/old", "only in the old version")


def test_redirects_are_followed_to_their_end(tmp_path: Path) -> None:
    chain = {f"{A}/{number}": f"-> {A}/{number + 1}" for number in range(30)}
    pages = {
        f"{A}/": page("Home", '<a href="/20">long</a> <a href="/round">round</a> <a href="/27">short</a> <a href=/1>'),
        **chain,
        f"{A}/30": 404,
        f"{A}/round": f"-> {A}/back",
        f"{A}/back": f"-> {A}/round",
    }
    crawl = make_site(tmp_path / "crawl", segments=[pages], seeds=[f"{A}/"])
    checked(crawl)

    assert rows(crawl, "redirect-loops") == [
        (f"{A}/1", f"{A}/", "", " → ".join(f"{A}/{number}" for number in range(2, 7))),
        (f"{A}/round", f"{A}/", "round", f"{A}/back → {A}/round"),
    ]
    assert [row[0] for row in rows(crawl, "broken-links")] == [f"{A}/20", f"{A}/27"]
    assert rows(crawl, "broken-links")[1][3] == f"redirects to {A}/30: HTTP 404"
    assert (f"{A}/27", f"{A}/", "short", f"{A}/28 → {A}/29 → {A}/30") in rows(crawl, "redirect-chains")


def test_a_damaged_capture_is_counted_and_the_others_are_read(crawl: CrawlDir) -> None:
    segment = crawl.all_segments()[1]
    (archive,) = segment.content.glob("*.warc.gz")
    archive.write_bytes(archive.read_bytes()[:-600])

    read = read_pages(crawl, CONFIG)

    assert (read.pages, read.unread) == (10, 1)


def test_an_interrupted_reading_leaves_nothing_half_written(crawl: CrawlDir, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("scoter.batch.site.page_tables.audit", fail)
    with pytest.raises(KeyboardInterrupt):
        read_pages(crawl, CONFIG)

    assert SiteFolder(crawl).names("pages-") == []
    assert [file.name for file in (crawl.path / "site").iterdir() if file.name.startswith(("pages", "links"))] == []


def test_a_crawl_without_pages_says_what_to_do(tmp_path: Path) -> None:
    crawl = make_site(tmp_path / "crawl", segments=[{f"{A}/": 404}])

    with pytest.raises(UsageError, match="has no HTML pages in its archive"):
        checked(crawl)


def test_pages_that_were_linked_but_not_crawled_are_named(tmp_path: Path) -> None:
    links = ("/read", "/left/", "/left.html", "/moved", "/paper.pdf", "/gone", "//b.example/other")
    pages = {
        f"{A}/": page("Home", "".join(f"<a href={each}>{each}</a>" for each in links) + "<a href=/no rel=nofollow>"),
        f"{A}/read": page("Read"),
        f"{A}/moved": f"-> {A}/beyond",
        f"{A}/gone": 404,
    }
    crawl = make_site(tmp_path / "crawl", segments=[pages], seeds=[f"{A}/"])

    report = checked(crawl)

    assert rows(crawl, "unread-pages") == [
        (f"{A}{path}", f"{A}/", path, "one of 8 links of the page") for path in ("/left.html", "/left/", "/moved")
    ]
    assert report.totals["unchecked"] == 5


def test_links_that_a_setting_kept_from_being_checked_are_named_with_it(tmp_path: Path) -> None:
    pages = {f"{A}/": page("Home", '<a href="https://b.example:8443/">b</a>')}
    crawl = make_site(tmp_path / "crawl", segments=[pages], seeds=[f"{A}/"])
    refused = {"reason": "refused_port", "detail": "port 8443 is not in fetch.allow_ports", "http_status": None}
    write_segment(crawl, "20261115000009", fetches=[datum("https://b.example:8443/", "retry", **refused)])

    report = checked(crawl)

    why = "refused port: port 8443 is not in fetch.allow_ports"
    assert rows(crawl, "unchecked-links") == [("https://b.example:8443/", f"{A}/", "b", why)]
    assert report.totals["unchecked"] == 0


def test_host_that_cannot_be_reached_is_described_by_the_cause_alone(tmp_path: Path) -> None:
    pages = {f"{A}/": page("Home", '<a href="https://b.example/">b</a>')}
    crawl = make_site(tmp_path / "crawl", segments=[pages], seeds=[f"{A}/"])
    failed = {"reason": "robots_unreachable", "detail": "robots.txt: unresolved no such host", "http_status": None}
    write_segment(crawl, "20261115000009", fetches=[datum("https://b.example/", "retry", **failed)])

    checked(crawl)

    found = rows(crawl, "broken-external-links")
    assert found == [("https://b.example/", f"{A}/", "b", "unresolved: no such host")]


def test_problems_that_many_pages_have(tmp_path: Path) -> None:
    pages = {f"{A}/{number}": page("Same", f'<a href="/{number + 1}#x">next</a>' * 3) for number in range(150)}
    crawl = make_site(tmp_path / "crawl", segments=[pages], seeds=[f"{A}/0"])

    report = checksite(crawl, CONFIG, tmp_path / "scratch", now=NOW).report

    counts = {each.problem: (each.urls, each.rows) for each in report.problems}
    assert counts["duplicate-titles"] == (150, 150)
    assert counts["missing-fragments"] == (149, 149)
    assert counts["deep-pages"] == (145, 145)


def test_names_of_groups_and_severities_stand_for_problems() -> None:
    assert kinds_named("broken") == {
        *("broken-links", "broken-external-links", "broken-resources", "redirect-loops", "invalid-links"),
    }
    assert kinds_named("error") < kinds_named("warning") < kinds_named("notice") == PROBLEM_KINDS.keys()
    assert kinds_named("slow-pages") == {"slow-pages"}
    assert kinds_named("slow") == frozenset()
