"""What holds for every reading: the tree stays as it is, and what is relative is relative to the base."""

from __future__ import annotations

import pytest
from selectolax.lexbor import LexborHTMLParser
from tests.parse.metadata.pages_conflicts import EVERY
from tests.parse.metadata.truth import URL, read, told

from scoter.core.url import canonical
from scoter.parse.metadata import PageMetadataReader


def test_the_tree_of_a_page_is_left_as_it_is() -> None:
    tree = LexborHTMLParser(EVERY)
    before = tree.html

    PageMetadataReader().read(tree, canonical(URL), canonical(URL))

    assert tree.html == before


def test_addresses_are_relative_to_the_base() -> None:
    tree = LexborHTMLParser('<link rel="canonical" href="seals"><meta property="og:image" content="i.jpg">')

    found = PageMetadataReader().read(tree, canonical(URL), canonical("https://b.example/deep/"))

    assert found.canonical == "https://b.example/deep/seals"
    assert found.image is not None
    assert found.image.url == "https://b.example/deep/i.jpg"


def test_one_reader_reads_page_after_page_and_keeps_nothing() -> None:
    reader = PageMetadataReader()
    first = LexborHTMLParser(EVERY)
    url = canonical(URL)

    before = reader.read(first, url, url)
    between = reader.read(LexborHTMLParser("<title>Seals</title>"), url, url)

    assert told(between) == {"title": ("html", "Seals")}
    assert reader.read(first, url, url) == before


def test_line_breaks_and_blocks_part_words_and_what_is_not_shown_is_not_told() -> None:
    found = read(
        '<div itemscope itemtype="https://schema.org/Recipe"><h1 itemprop="name">Pan<b>cakes</b><br>of oats</h1>'
        '<div itemprop="description"><style>p {}</style><p>Light</p>and (<i>very</i>) good<!-- so -->.</div></div>'
    )

    assert found.title == "Pancakes of oats"
    assert found.description == "Light and (very) good."


def test_line_breaks_part_words_in_the_paragraph_that_stands_in_for_a_description() -> None:
    found = read(f"<p>Grey seals rest on sandbanks<br>in winter{' and in summer' * 4}.</p>")

    assert found.description == f"Grey seals rest on sandbanks in winter{' and in summer' * 4}."


def test_tags_that_part_no_words_leave_no_blank_in_a_description() -> None:
    found = read('<meta name="description" content="Seals swim &lt;b&gt;fast&lt;/b&gt;.&lt;br&gt;They rest.">')

    assert found.description == "Seals swim fast. They rest."


def test_keywords_are_parted_by_the_commas_of_every_script_and_not_within_entities() -> None:
    assert read('<meta name="keywords" content="海豹，海洋、生物；北海">').keywords == ("海豹", "海洋", "生物", "北海")
    assert read('<meta name="keywords" content="فقمة، بحر؛ شمال">').keywords == ("فقمة", "بحر", "شمال")
    assert read('<meta name="keywords" content="Q&amp;amp;A, seals">').keywords == ("Q&A", "seals")


def test_an_entity_in_a_name_makes_no_two_authors_of_one() -> None:
    found = read('<meta name="author" content="Ida &amp;amp; Jens Lund; Ole Dam">')

    assert [author.name for author in found.authors] == ["Ida & Jens Lund", "Ole Dam"]


@pytest.mark.parametrize(
    ("value", "count", "told"),
    [
        ("4,7", "1.204", (4.7, 1204)),
        ("4.7", "1,204", (4.7, 1204)),
        ("5", "1 204 567", (5, 1204567)),
        ("4", "7.0", (4, 7)),
    ],
)
def test_ratings_are_read_as_either_half_of_the_world_writes_numbers(
    value: str, count: str, told: tuple[float, int]
) -> None:
    rating = f'{{"@type": "AggregateRating", "ratingValue": "{value}", "reviewCount": "{count}"}}'
    thing = f'{{"@context": "https://schema.org", "@type": "Product", "name": "Kettle", "aggregateRating": {rating}}}'

    found = read(f'<script type="application/ld+json">{thing}</script>').product

    assert found is not None
    assert (found.rating, found.ratings) == told


def test_a_page_without_elements_says_nothing() -> None:
    url = canonical(URL)

    assert told(PageMetadataReader().read(LexborHTMLParser(""), url, url)) == {}


def test_what_stands_in_an_article_within_main_is_looked_at_once() -> None:
    small = '<p>Seal</p><img src="/s.jpg" width="120" height="120">'
    large = f'<p>{"Grey seals rest on sandbanks. " * 4}</p><img src="/seal.jpg" width="900" height="600">'
    found = read(f'{"<p>Menu</p>" * 10}<main role="main"><article>{small * 25}{large}</article></main>')

    assert found.image is not None
    assert found.image.url == "https://a.example/seal.jpg"
    assert found.description.startswith("Grey seals rest")
