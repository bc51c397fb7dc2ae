"""The metadata reader: unchanged trees, relative URLs, and how texts are cleaned."""

from __future__ import annotations

import pytest
from selectolax.lexbor import LexborHTMLParser
from tests.parse.metadata.expectation import URL, as_expected_fields, read
from tests.parse.metadata.pages_conflicts import EVERY

from scoter.core.url import canonical
from scoter.parse.metadata import PageMetadataReader


def test_tree_is_not_changed() -> None:
    tree = LexborHTMLParser(EVERY)
    before = tree.html

    PageMetadataReader().read(tree, canonical(URL), canonical(URL))

    assert tree.html == before


def test_urls_are_relative_to_the_base() -> None:
    tree = LexborHTMLParser('<link rel="canonical" href="seals"><meta property="og:image" content="i.jpg">')

    found = PageMetadataReader().read(tree, canonical(URL), canonical("https://b.example/deep/"))

    assert found.canonical == "https://b.example/deep/seals"
    assert found.image is not None
    assert found.image.url == "https://b.example/deep/i.jpg"


def test_reader_keeps_nothing_between_pages() -> None:
    reader = PageMetadataReader()
    first = LexborHTMLParser(EVERY)
    url = canonical(URL)

    before = reader.read(first, url, url)
    between = reader.read(LexborHTMLParser("<title>Seals</title>"), url, url)

    assert as_expected_fields(between) == {"title": ("html", "Seals")}
    assert reader.read(first, url, url) == before


def test_author_named_twice_keeps_the_address_given_first() -> None:
    found = read(
        '<a rel="author">Ann</a><a rel="author" href="/ann">ann</a><a rel="author" href="/other">Ann</a>',
    )

    assert [(author.name, author.url) for author in found.authors] == [("ann", "https://a.example/ann")]


def test_line_breaks_and_blocks_separate_words_and_hidden_text_is_skipped() -> None:
    found = read(
        '<div itemscope itemtype="https://schema.org/Recipe"><h1 itemprop="name">Pan<b>cakes</b><br>of oats</h1>'
        '<div itemprop="description"><style>p {}</style><p>Light</p>and (<i>very</i>) good<!-- so -->.</div></div>'
    )

    assert found.title == "Pancakes of oats"
    assert found.description == "Light and (very) good."


@pytest.mark.parametrize(
    ("text", "is_long"), [("s" * 60, True), ("s" * 59, False), ("海" * 30, True), ("海" * 29, False)]
)
def test_opening_paragraph_has_at_least_60_letters(text: str, is_long: bool) -> None:
    assert read(f"<p>{text}</p>").description == (text if is_long else "")


def test_line_breaks_separate_words_in_the_opening_paragraph() -> None:
    found = read(f"<p>Grey seals rest on sandbanks<br>in winter{' and in summer' * 4}.</p>")

    assert found.description == f"Grey seals rest on sandbanks in winter{' and in summer' * 4}."


def test_text_level_tags_leave_no_space_in_a_description() -> None:
    found = read('<meta name="description" content="Seals swim &lt;b&gt;fast&lt;/b&gt;.&lt;br&gt;They rest.">')

    assert found.description == "Seals swim fast. They rest."


def test_keywords_are_split_at_commas_of_any_script_but_not_in_entities() -> None:
    assert read('<meta name="keywords" content="海豹，海洋、生物；北海">').keywords == ("海豹", "海洋", "生物", "北海")
    assert read('<meta name="keywords" content="فقمة، بحر؛ شمال">').keywords == ("فقمة", "بحر", "شمال")
    assert read('<meta name="keywords" content="Q&amp;amp;A, seals">').keywords == ("Q&A", "seals")


def test_entity_in_a_name_does_not_split_the_author() -> None:
    found = read('<meta name="author" content="Ida &amp;amp; Jens Lund; Ole Dam">')

    assert [author.name for author in found.authors] == ["Ida & Jens Lund", "Ole Dam"]


@pytest.mark.parametrize(
    ("value", "count", "expected"),
    [
        ("4,7", "1.204", (4.7, 1204)),
        ("4.7", "1,204", (4.7, 1204)),
        ("5", "1 204 567", (5, 1204567)),
        ("4", "7.0", (4, 7)),
    ],
)
def test_ratings_accept_decimal_points_and_commas(value: str, count: str, expected: tuple[float, int]) -> None:
    rating = f'{{"@type": "AggregateRating", "ratingValue": "{value}", "reviewCount": "{count}"}}'
    thing = f'{{"@context": "https://schema.org", "@type": "Product", "name": "Kettle", "aggregateRating": {rating}}}'

    found = read(f'<script type="application/ld+json">{thing}</script>').product

    assert found is not None
    assert (found.rating, found.ratings) == expected


def test_page_without_elements_has_no_metadata() -> None:
    url = canonical(URL)

    assert as_expected_fields(PageMetadataReader().read(LexborHTMLParser(""), url, url)) == {}


def test_article_inside_main_is_read_once() -> None:
    small = '<p>Seal</p><img src="/s.jpg" width="120" height="120">'
    large = f'<p>{"Grey seals rest on sandbanks. " * 4}</p><img src="/seal.jpg" width="900" height="600">'
    found = read(f'{"<p>Menu</p>" * 10}<main role="main"><article>{small * 25}{large}</article></main>')

    assert found.image is not None
    assert found.image.url == "https://a.example/seal.jpg"
    assert found.description.startswith("Grey seals rest")
