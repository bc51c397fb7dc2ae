"""Limits on the size of metadata and the time to read it."""

from __future__ import annotations

from functools import partial

from tests.effort import seconds_of
from tests.parse.metadata.expectation import ld, read


def test_title_and_description_are_truncated() -> None:
    found = read(f'<title>{"t " * 5_000}</title><meta name="description" content="{"d" * 50_000}">')

    assert len(found.title) <= 1_000
    assert len(found.description) == 5_000


def test_description_behind_much_markup_is_read() -> None:
    found = read(f'<meta name="description" content="{"<i></i>" * 1_000}Seals of the north">')

    assert found.description == "Seals of the north"


def test_byline_with_much_white_space_is_read() -> None:
    found = read(f'<h1>Seals</h1><div class="byline">By Ann Doe{" " * 400}</div>')

    assert [author.name for author in found.authors] == ["Ann Doe"]


def test_class_that_only_contains_the_word_author_is_no_byline() -> None:
    found = read('<h1>Seals</h1><p class="authorised">By Ann Doe</p>')

    assert found.authors == ()


def test_long_url_is_dropped() -> None:
    found = read(
        f'<meta property="og:image" content="/{"x" * 5_000}"><meta property="og:url" content="/{"x" * 4_000}">'
    )

    assert found.image is None
    assert len(found.canonical) > 4_000


def test_only_the_first_tags_are_read() -> None:
    tags = "".join(f'<meta property="article:tag" content="tag{n}">' for n in range(5_000))
    found = read(tags + '<meta property="og:title" content="too late">')

    assert found.keywords == tuple(f"tag{n}" for n in range(50))
    assert found.title == ""


def test_control_and_direction_characters_are_removed() -> None:
    found = read("<title>Se\u202eals\x07\ufeff of\xa0 the\u2028North</title>")

    assert found.title == "Seals of the North"


def test_zero_width_joiners_are_kept() -> None:
    found = read("<title>می\u200cخواهم</title>")

    assert found.title == "می\u200cخواهم"


def test_oversized_json_is_not_read() -> None:
    found = read(ld('{"@type": "Article", "headline": "long", "x": "' + "x" * 1_000_001 + '"}'))

    assert found.title == ""


def test_deeply_nested_json_is_not_read() -> None:
    found = read(ld("[" * 100_000) + ld('{"@graph":' * 100 + '{"@type":"Article","headline":"deep"}' + "}" * 100))

    assert found.title == ""


def test_hostile_pages_are_read_quickly() -> None:
    pages = [
        ld('"' + '\\"' * 120_000),
        ld("," * 250_000 + "}"),
        ld("/*" * 120_000),
        ld('{"@type": "Article", "author": [' + '{"@id": "#a"},' * 50_000 + "]}"),
        "<b itemprop=name>" * 400 + "x" * 100_000,
        "<div itemscope><b itemprop=name>" * 100 + "x" * 500_000,
        "<div class=h-entry><p class='p-name'>" * 100 + "x" * 100_000,
        "<meta property='og:image' content='/a'>" * 20_000,
        "<img src='/a.jpg' srcset='" + "/a.jpg 100w, " * 20_000 + "'>",
        "<title>" + "&lt;b" * 100_000,
        "<meta name=description content='" + "<" * 100_000 + "'>",
        "<meta name=date content='" + "1" * 100_000 + "'>",
    ]
    for page in pages:
        assert seconds_of(partial(read, page)) < 2, page[:40]


def test_unclosed_comments_in_a_description_are_read_quickly() -> None:
    page = ld('{"@type": "Article", "description": "Seals' + r"\u003c!--" * 9_000 + '"}')

    assert read(page).description == "Seals"
    assert seconds_of(lambda: read(page)) < 1
