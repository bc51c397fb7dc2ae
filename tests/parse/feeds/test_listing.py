"""Whatever lists pages for crawlers: sitemaps, feeds, and texts with an address a line."""

from __future__ import annotations

import gzip

import pytest
from tests.parse.feeds.documents import ATOM, PLACE, RDF, RSS, SITEMAP

from scoter.parse.feeds.sitemap import read_listing


def urls(body: str | bytes) -> list[str] | None:
    found = read_listing(body.encode() if isinstance(body, str) else body, PLACE)
    return None if found is None else [entry.url.text for entry in found.entries]


def test_sitemaps_feeds_and_texts_list_pages() -> None:
    lines = "\ufeffhttp://a.example/1\r\n\r\n https://b.example/2 \nnonsense\n"
    assert urls(SITEMAP) == ["http://a.example/dir/one?x=1&y=2", "http://a.example/dir/two"]
    assert urls(RSS) == ["http://a.example/eider"]
    assert urls(ATOM) == ["http://b.example/x/eider"]
    assert urls(lines) == urls(gzip.compress(lines.encode())) == ["http://a.example/1", "https://b.example/2"]


def test_feed_listing_has_modification_dates() -> None:
    found = read_listing(ATOM.encode(), PLACE)
    assert found is not None
    assert str(found.entries[0].lastmod) == "2026-11-15 00:00:00+00:00"


def test_lines_that_are_no_addresses_are_counted_and_too_many_are_not_read() -> None:
    body = b"http://a.example/1\nnothing\nhttp://a.example/2\nhttp://a.example/3"
    found = read_listing(body, PLACE, most=2)
    assert found is not None
    assert (len(found.entries), found.not_urls, found.doubt) == (2, 1, "it has more than 2 entries")


@pytest.mark.parametrize("first", ["# All pages", "URL", "/relative", "ftp://a.example/x", "x" * 10_000])
def test_first_line_of_a_text_may_be_anything(first: str) -> None:
    found = read_listing(f"{first}\nhttp://a.example/1\n".encode(), PLACE)

    assert found is not None
    assert ([entry.url.text for entry in found.entries], found.not_urls) == (["http://a.example/1"], 1)


def test_last_line_of_truncated_text_is_dropped() -> None:
    body = b"http://a.example/1\nhttp://a.example/2"
    for found in (read_listing(body, PLACE, cut=True), read_listing(body + b"22", PLACE, size=len(body))):
        assert found is not None
        assert [entry.url.text for entry in found.entries] == ["http://a.example/1"]
        assert found.doubt


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("<rss><channel><link>/home</link><item><title>x</title></item></channel></rss>", []),
        ("<feed><entry><link rel='edit' href='/e'/><link href='/a'/></entry></feed>", ["http://a.example/a"]),
        ("<feed xml:base='http://b.example/x/'><entry><link href='a'/></entry></feed>", ["http://b.example/x/a"]),
        ("<rss><channel><item><link>/1</link></item><item><link>mailto:x", ["http://a.example/1"]),
        (RDF, ["http://c.example/1"]),
        ("<rss><item><guid>http://a.example/1</guid></item></rss>", ["http://a.example/1"]),
        ("<rss><item><guid>http://a.example/1</guid><link>/2</link></item></rss>", ["http://a.example/2"]),
        ("<rss><item><guid isPermaLink='false'>http://a.example/1</guid></item></rss>", []),
        ("<rss><item><guid>17</guid></item></rss>", []),
    ],
)
def test_feed_listing_uses_entry_addresses(body: str, found: list[str]) -> None:
    assert urls(body) == found


@pytest.mark.parametrize("body", ["", "words", "<html><body>Not found</body></html>", "{}", "/relative\n", b"\x1f\x8b"])
def test_file_without_listing_yields_none(body: str | bytes) -> None:
    assert urls(body) is None
