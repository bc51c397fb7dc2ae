"""For any page: no failure, absolute URLs, limited texts, a source for each field."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.parse.metadata.expectation import ld, read
from tests.parse.metadata.pages_conflicts import EVERY

from scoter.core.metadata import PageMetadata
from scoter.core.url import canonical

LISTS = {"authors": 20, "keywords": 50, "media": 10, "embeds": 10, "feeds": 20}
TEXTS = {"title": 1_000, "description": 5_000, "site_name": 200, "type": 100, "theme_color": 100, "language": 35}
ADDRESSES = ("canonical", "license")


def check(found: PageMetadata) -> None:
    """Check what must hold for every record."""
    there = {name for name in found.__struct_fields__ if name != "sources" and getattr(found, name)}
    assert set(found.sources) == there
    for name, longest in TEXTS.items():
        text = getattr(found, name)
        assert len(text) <= longest
        assert text == " ".join(text.split())
        assert not any(ord(sign) < 32 or 0xD800 <= ord(sign) < 0xE000 for sign in text)
    for name, most in LISTS.items():
        assert len(getattr(found, name)) <= most
    for author in found.authors:
        assert 0 < len(author.name) <= 200
    for word in found.keywords:
        assert 0 < len(word) <= 100
    for moment in (found.published, found.modified):
        assert moment is None or 1969 <= moment.year <= 2101
        assert moment is None or moment.utcoffset() is not None
    for address in _addresses(found):
        assert len(address) <= 4_096
        assert canonical(address).text == address


def _addresses(found: PageMetadata) -> list[str]:
    things: list[Any] = [found.image, found.icon, *found.media, *found.embeds, *found.feeds, *found.authors]
    several = [getattr(found, name) for name in ADDRESSES] + [thing.url for thing in things if thing is not None]
    return [address for address in several if address]


PIECES = st.sampled_from(
    [
        *("<meta property=", "<meta name=", "<link rel=", "<script type=application/ld+json>", "</script>", "<title>"),
        *(
            '"og:image"',
            '"og:title"',
            '"article:author"',
            '"og:video"',
            '"canonical"',
            '"icon"',
            '"dc.date"',
            '"author"',
        ),
        *(" content=", " href=", " sizes=", "'/x'", "'//'", "'http://['", "'javascript:1'", "'data:,x'", "'\ud7ff'"),
        *("<div itemscope itemtype=Article>", "<b itemprop=name>", "<i itemprop=author itemscope>", "</div>", "</b>"),
        *("<div typeof=Article>", "<b property=headline>", "<div class=h-entry>", "<p class='p-name u-url p-author'>"),
        *(
            "<img src=/a.jpg width=900>",
            "<time datetime=2024-03-05>",
            "<video src=/v>",
            "<a rel='author tag license' href=x>",
        ),
        *(
            '{"@type":"Article"',
            '"headline":',
            '"x"',
            ",",
            "}",
            "{",
            "[",
            "]",
            '"@id":',
            '"@graph":',
            "\\",
            '"',
            "\0",
            "é",
        ),
    ]
)
NAMES = st.sampled_from(
    [
        *("@type", "@id", "@graph", "@value", "@list", "headline", "name", "image", "author", "url", "offers", "price"),
        *("datePublished", "mainEntity", "mainEntityOfPage", "publisher", "video", "duration", "contentUrl", "width"),
        *("inLanguage", "keywords", "license", "aggregateRating", "ratingValue", "brand", "isPartOf", "hasVariant"),
    ]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(
        ["Article", "Product", "WebPage", "VideoObject", "Person", "#a", "_:b", "/x.jpg", "http://", "PT1S"]
    )
)
THINGS = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=6),
    max_leaves=40,
)


@given(st.binary(max_size=2_000))
def test_reader_accepts_any_bytes(page: bytes) -> None:
    check(read(page))


@settings(max_examples=examples(80), deadline=None)
@given(st.lists(PIECES, max_size=60))
def test_reader_accepts_any_markup(pieces: list[str]) -> None:
    check(read("".join(pieces)))


@settings(max_examples=examples(80), deadline=None)
@given(THINGS)
@example({"@type": "Product", "price": 10**5000, "name": float("nan")})
@example({"@type": "a\x1b\x85b", "headline": "c"})
@example([{"@type": "Article", "@id": "#a", "author": {"@id": "#a"}, "image": {"@id": "#a"}}])
def test_reader_accepts_any_json(thing: object) -> None:
    text = (
        json.dumps(thing, default=str)
        if not _has_long_number(thing)
        else '{"@type":"Product","price":1' + "0" * 5000 + "}"
    )

    check(read(ld(text.replace("<", "\\u003c"))))


@given(st.text(alphabet='"\\{}[],:/*<!-> \nan1&quot;', max_size=200))
def test_reader_accepts_broken_json(text: str) -> None:
    check(read(ld(text)))


@given(st.integers(0, len(EVERY)), st.integers(0, 200), st.binary(max_size=20))
@settings(deadline=None)
def test_reader_accepts_any_damage_to_a_page_with_all_sources(place: int, gap: int, noise: bytes) -> None:
    page = EVERY.encode()

    check(read(page[:place] + noise + page[place + gap :]))


def _has_long_number(thing: object) -> bool:
    return isinstance(thing, dict) and isinstance(thing.get("price"), int) and abs(thing["price"]) > 10**4000
