"""Sitemaps: what they say of pages, and what is believed of broken ones."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import seconds_of
from tests.parse.feeds.documents import PLACE, RSS, SITEMAP, sitemap, targets

from scoter.core.url import canonical
from scoter.parse.feeds.sitemap import Sitemap, SitemapAlternate, SitemapEntry, read_sitemap
from scoter.parse.feeds.source import XmlSource

ONE = "http://a.example/dir/one?x=1&y=2"


def read(body: str | bytes, **given: int) -> tuple[list[str], str]:
    found = read_sitemap(XmlSource(body.encode() if isinstance(body, str) else body), PLACE, **given)  # type: ignore[arg-type]
    return [entry.url.text for entry in found.entries], found.doubt


def test_entry_has_modification_time_frequency_and_priority() -> None:
    first, second = read_sitemap(XmlSource(SITEMAP.encode()), PLACE).entries
    assert first == SitemapEntry(
        url=canonical(ONE),
        lastmod=datetime(2026, 11, 1, tzinfo=UTC),
        changefreq="weekly",
        priority=0.8,
        alternates=(SitemapAlternate("de", canonical("http://a.example/dir/de/")),),
        media=(canonical("http://img.example/1.png"), canonical("http://a.example/v.mp4")),
    )
    assert second == SitemapEntry(url=canonical("http://a.example/dir/two"))


def test_ampersand_in_an_alternate_url_is_unescaped_once() -> None:
    link = '<xhtml:link rel="alternate" hreflang="de" href="/p?id=1&amp;lang=de&sort=a"/>'

    found = read_sitemap(XmlSource(f"<urlset><url><loc>/p</loc>{link}</url></urlset>".encode()), PLACE)

    assert found.entries[0].alternates == (SitemapAlternate("de", canonical("http://a.example/p?id=1&lang=de&sort=a")),)


def test_an_index_names_sitemaps() -> None:
    body = (
        b"<sitemapindex><sitemap><loc>/a.xml</loc><lastmod>2026</lastmod></sitemap>"
        b"<sitemap><loc>/b.xml.gz</loc></sitemap></sitemapindex>"
    )
    found = read_sitemap(XmlSource(body), PLACE)
    assert [(url.text, when and when.year) for url, when in found.sitemaps] == [
        ("http://a.example/a.xml", 2026),
        ("http://a.example/b.xml.gz", None),
    ]
    assert found.entries == ()


@pytest.mark.parametrize(
    "root",
    [
        "<urlset>",
        "<urlset xmlns='http://www.google.com/schemas/sitemap/0.84'>",
        "<x:urlset>",
        "<UrlSet xmlns='urn:nonsense'>",
        "<urls>",
    ],
)
def test_namespaces_may_be_wrong_or_missing(root: str) -> None:
    assert read(f"{root}<url><loc>/x</loc></url>")[0] == ["http://a.example/x"]


def test_content_before_an_error_is_kept() -> None:
    before = "<urlset><url><loc>/1</loc></url><url><loc>/2</loc></url>"
    assert read(before + "<url><loc>/3") == (
        ["http://a.example/1", "http://a.example/2"],
        "broken XML: Premature end of data in tag loc line 1",
    )
    found, doubt = read(before + "<url><<</url></oops></urlset>")
    assert found == ["http://a.example/1", "http://a.example/2"]
    assert doubt.startswith("broken XML")


@pytest.mark.parametrize(
    ("middle", "paths"),
    [
        ("<url><loc>/1</loc><lastmod>2026</lastmod><loc>/2</loc></url>", ["/1", "/2"]),
        ("<loc><url>/1</url></loc>", ["/1"]),
        ("<url><loc><url>/1</url></loc></url>", ["/1"]),
        ("<url><loc><url>/1</loc></url>", ["/1"]),
        ("<url>http://a.example/1</url>", ["/1"]),
        ("<url>some words<loc>/1</loc></url><url>words</url>", ["/1"]),
        ("<loc>/1</loc>", ["/1"]),
        ("<url><url><loc>/1</loc></url></url>", ["/1"]),
        ("<url><loc>/1</loc>", ["/1"]),
        ("<url><loc>/1<loc></url>", ["/1"]),
        ("<url><loc>/1</url>", ["/1"]),
        ("<url><lastmod>2026</lastmod></url>", []),
        ("<url><loc>/1</loc><image><loc>/1.png</loc></image><image><loc>/2.png</loc></image></url>", ["/1"]),
    ],
)
def test_malformed_entry_leaves_its_neighbours(middle: str, paths: list[str]) -> None:
    found, _ = read(f"<urlset><url><loc>/0</loc></url>{middle}<url><loc>/9</loc></url></urlset>")

    assert found == [f"http://a.example{path}" for path in ("/0", *paths, "/9")]


@pytest.mark.parametrize(
    ("middle", "paths"),
    [
        ("<sitemap>/1.xml</sitemap>", ["/1.xml"]),
        ("<loc>/1.xml</loc>", ["/1.xml"]),
        ("<sitemap><loc>/1.xml</loc><loc>/2.xml</loc></sitemap>", ["/1.xml", "/2.xml"]),
        ("<sitemap><url><loc>/1.xml</loc></url></sitemap>", ["/1.xml"]),
        ("<sitemap><lastmod>2026</lastmod></sitemap><sitemap/>", []),
        ("<sitemap><lastmod>2026</lastmod>", []),
    ],
)
def test_malformed_entry_of_an_index_leaves_its_neighbours(middle: str, paths: list[str]) -> None:
    body = f"<sitemapindex><sitemap><loc>/0.xml</loc></sitemap>{middle}<sitemap><loc>/9.xml</loc></sitemap>"

    found = read_sitemap(XmlSource(f"{body}</sitemapindex>".encode()), PLACE)

    assert found.sitemaps == tuple(
        (canonical(f"http://a.example{path}"), None) for path in ("/0.xml", *paths, "/9.xml")
    )


@pytest.mark.parametrize(
    ("end", "paths"),
    [
        ("<url><loc>/1", []),
        ("<url>http://a.example/1", []),
        ("<url><loc>/1</loc>", ["/1"]),
        ("<url><loc>/1</loc><lastmod>20", ["/1"]),
        ("<url><loc>/1</loc><loc>/2", ["/1"]),
        ("<url><loc>/1</loc></ur", ["/1"]),
    ],
)
def test_last_entry_of_a_truncated_file_is_kept_if_its_address_is_complete(end: str, paths: list[str]) -> None:
    found = read_sitemap(XmlSource(f"<urlset><url><loc>/0</loc></url>{end}".encode()), PLACE)

    assert [entry.url.text for entry in found.entries] == [f"http://a.example{path}" for path in ("/0", *paths)]
    assert all(entry.lastmod is None for entry in found.entries)
    assert found.doubt.startswith("broken XML")


def test_a_bare_ampersand_belongs_to_its_address() -> None:
    assert read("<urlset><url><loc>/?a=1&b=2&copy=3</loc></url></urlset>")[0] == ["http://a.example/?a=1&b=2&copy=3"]
    assert read("<urlset><url><loc><![CDATA[/?a=1&b=2]]></loc></url></urlset>")[0] == ["http://a.example/?a=1&b=2"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0.0", 0.0), ("1", 1.0), ("7", 1.0), ("-1", 0.0), ("0,3", 0.3), ("nan", None), ("", None), ("inf", 1.0)],
)
def test_a_priority_is_between_zero_and_one(text: str, expected: float | None) -> None:
    found = read_sitemap(XmlSource(f"<urlset><url><loc>/x</loc><priority>{text}</priority></url>".encode()), PLACE)
    assert found.entries[0].priority == expected


def test_invalid_addresses_are_counted() -> None:
    found = read_sitemap(XmlSource(b"<urlset><url><loc>mailto:a@b</loc></url><url/><url><loc/></url></urlset>"), PLACE)
    assert (found.entries, found.not_urls) == ((), 3)


def test_no_more_entries_are_read_than_asked_for() -> None:
    body = "<urlset>" + "<url><loc>/x</loc></url>" * 4
    assert read(body, most=3) == (["http://a.example/x"] * 3, "it has more than 3 entries")
    assert read(body, most=4)[1].startswith("broken XML")


def test_fifty_thousand_entries_are_read_in_a_few_seconds() -> None:
    body = "<urlset>" + "".join(f"<url><loc>/{number}</loc></url>" for number in range(50_000)) + "</urlset>"
    packed = gzip.compress(body.encode(), 1)
    found: list[Sitemap] = []

    assert seconds_of(lambda: found.append(read_sitemap(XmlSource(packed), PLACE))) < 10
    assert (len(found[0].entries), found[0].doubt) == (50_000, "")


@pytest.mark.parametrize(
    "body",
    [
        "<urlset>" + "<a>" * 300_000,
        "<urlset>" + "< " * 300_000,
        "<urlset>" + "<url>" * 300_000,
        "<urlset><url " + " ".join(f"a{number}='b'" for number in range(50_000)) + "/></urlset>",
        "<urlset><url>" + "<xhtml:link rel='alternate' href='/x'/>" * 110_000,
        "<urlset><url><loc>" + "x" * 5_000_000,
        "<urlset>" + "<!-- -->" * 200_000,
        "<urlset>" + "</url>" * 200_000,
    ],
    ids=["deep", "faults", "nested", "attributes", "alternates", "long", "comments", "ends"],
)
def test_hostile_sitemap_is_read_in_linear_time(body: str) -> None:
    found: list[Sitemap] = []

    assert seconds_of(lambda: found.append(read_sitemap(XmlSource(body.encode()), PLACE))) < 5
    assert sum(len(entry.alternates) for entry in found[0].entries) <= 100_000


def test_the_parser_takes_sitemaps_and_leaves_the_rest_to_others() -> None:
    (page,) = sitemap(SITEMAP)
    assert targets(page, "sitemap") == [ONE, "http://a.example/dir/two", "http://a.example/dir/de/"]
    assert targets(page, "media") == ["http://img.example/1.png", "http://a.example/v.mp4"]
    assert [link.rel for link in page.outlinks] == ["", "", "alternate", "", ""]
    assert (page.text, page.media_type) == ("", "application/xml")
    assert sitemap(RSS) == sitemap("<html/>") == sitemap(b"") == sitemap("words") == ()


def test_the_parser_looks_into_gzip() -> None:
    (page,) = sitemap(gzip.compress(SITEMAP.encode()), "application/gzip")
    assert targets(page, "sitemap")[0] == ONE
    assert sitemap(gzip.compress(b"a program"), "application/gzip") == ()


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_error(body: bytes) -> None:
    for each in (body, b"<urlset><url><loc>/x</loc>" + body, SITEMAP.encode()[: len(body) * 7] + body):
        read_sitemap(XmlSource(each), PLACE)
