"""Fields other than text and links: headings, metas, alternates, language, robots directives, doubt."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.effort import examples
from tests.parse.contents import content, read

from scoter.core.page import Alternate, Heading, PageSection
from scoter.core.url import canonical
from scoter.parse.html import HtmlOptions, HtmlReader
from scoter.parse.html.headings import MOST_HEADINGS, MOST_SECTIONS
from scoter.parse.html.page_parts import LONGEST_HEADING, LONGEST_META, MOST_ALTERNATES, MOST_METAS

ATTRIBUTES = [
    "href",
    "src",
    "srcset",
    "content",
    "name",
    "property",
    "rel",
    "hreflang",
    "lang",
    "alt",
    "data",
    "poster",
]
ELEMENTS = ["a", "h1", "h6", "html", "img", "link", "meta", "object", "script", "source", "svg", "title", "video"]
VALUES = ["robots", "canonical", "alternate", "unavailable_after: 2030-01-01", "1x,2x", "/x 2w", "//", "\0", "en", ""]


def test_headings_are_in_page_order() -> None:
    page = read(
        "<h1> Grey\n <b>se</b>als </h1><p>text<h3>What<br>they eat</h3><h2></h2>"
        "<h6><a href=/x>More</a><script>x</script></h6>"
    )

    assert page.headings == (Heading(1, "Grey seals"), Heading(3, "What they eat"), Heading(6, "More"))


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ('Diet<a class="headerlink" href="#diet">¶</a>', "Diet"),
        ('Diet <a href="#diet">#</a>', "Diet"),
        ('<a href="#diet"># </a>Diet', "Diet"),
        ('Diet<a class="hash-link" href="#diet">\u200b</a>', "Diet"),
        ('Diet<a href="#diet">🔗️</a>', "Diet"),
        ('Diet<span class="mw-editsection">[<a href="/w?action=edit">edit</a>]</span>', "Diet"),
        ('Nahrung<span>[<a href="/1">Bearbeiten</a> | <a href="/2">Quelltext bearbeiten</a>]</span>', "Nahrung"),
        ('食事<span>[<a href="/1">編集</a>]</span>', "食事"),
        ("Use C#", "Use C#"),
        ("#seals", "#seals"),
        ("§ 5 Seals", "§ 5 Seals"),
        ("Seals [edited]", "Seals [edited]"),
        ("Arrays: a[1]", "Arrays: a[1]"),
    ],
)
def test_heading_has_no_permalink_and_edit_marks(heading: str, text: str) -> None:
    assert read(f"<h2>{heading}</h2>").headings == (Heading(2, text),)


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ('<h2 id="food">Food</h2>', "food"),
        ('<h2><a id="food"></a>Food</h2>', "food"),
        ('<h2>Food <a name="food"></a></h2>', "food"),
        ('<h2><a id="intro"><a id="food"/>Food</h2>', "food"),
        ('<p>Text</p><a name="food"></a>\n<!-- x --> <h2>Food</h2>', "food"),
        ('<section id="food"><span>1.0</span><h2>Food</h2></section>', "food"),
        ('<div class="sect1" id="food"><div><div> <h2>Food</h2></div></div><p>Text</p></div>', "food"),
        ('<h2><span class="mw-headline" id="food">Food</span></h2>', "food"),
        ('<dl><dt>x</dt><dt id="food"><em>Food</em><a href="#food">¶</a></dt><dd>Text</dd></dl>', "food"),
        ('<div id="page"><p>Text</p><h2>Food</h2></div>', None),
        ('<section id="page"><h1 id="top"></h1></section><h2>Food</h2>', None),
        ('<p><a id="elsewhere">x</a></p><h2>Food</h2>', None),
        ('<h2 id="">Food</h2><h2 id=" ">Food</h2>', None),
    ],
)
def test_a_section_has_the_anchor_at_or_around_its_heading(markup: str, expected: str | None) -> None:
    page = read(f'<h1 id="intro">Seals</h1>{markup}')

    found = [section.anchor for section in page.sections if section.text == "Food"]
    assert page.sections[0] == PageSection(1, "Seals", "intro")
    assert found == ([] if expected is None else [expected])


def test_an_anchor_leads_to_one_section() -> None:
    page = read('<section id="a"><h2>One</h2><h2>Two</h2></section><h2 id="a">Three</h2><h3 id="b">Four</h3>')

    assert page.sections == (PageSection(2, "One", "a"), PageSection(3, "Four", "b"))


def test_sections_are_limited_in_number_and_length() -> None:
    page = read("".join(f'<h2 id="s{n}">{"x" * 300}</h2>' for n in range(MOST_SECTIONS + 5)))

    assert len(page.sections) == MOST_SECTIONS
    assert page.sections[0] == PageSection(2, "x" * 200, "s0")


def test_headings_are_limited_in_number_and_length() -> None:
    page = read("<h1>" + "x" * 10_000 + "</h1>" + "".join(f"<h2>{number}</h2>" for number in range(1_000)))

    assert page.headings[0] == Heading(1, "x" * LONGEST_HEADING)
    assert page.headings[1] == Heading(2, "0")
    assert len(page.headings) == MOST_HEADINGS


def test_metas_are_kept_by_name_property_and_http_equiv() -> None:
    page = read(
        '<meta name="Description" content=" About seals "><meta property="og:image" content="/1.png">'
        '<meta property="og:image" content="/2.png"><meta http-equiv="Content-Language" content="de, en">'
        '<meta charset=utf-8><meta name=empty content=""><meta content=nameless><meta name="" content=x>'
    )

    assert page.metas == {
        "description": ("About seals",),
        "og:image": ("/1.png", "/2.png"),
        "content-language": ("de, en",),
    }


def test_metas_are_limited_in_number_and_length() -> None:
    page = read(
        f"<meta name=long content={'x' * 5_000}>" + "".join(f"<meta name=m{number} content=x>" for number in range(500))
    )

    assert page.metas["long"] == ("x" * LONGEST_META,)
    assert len(page.metas) == MOST_METAS
    assert "m0" in page.metas


def test_alternates_are_languages_feeds_and_amp() -> None:
    page = read(
        '<base href="/b/"><link rel=alternate hreflang="de-AT" href="de">'
        '<link rel="Alternate" type="application/RSS+xml" title=" The  news" href="feed">'
        '<link rel=amphtml href="amp"><link rel="alternate stylesheet" href="s.css">'
        '<link rel="alternate icon" href="i.png">'
        '<a rel=alternate hreflang=fr href="fr">fr</a><link rel=alternate hreflang=en href="http://">'
    )

    assert page.alternates == (
        Alternate(url=canonical("http://a.example/b/de"), language="de-AT"),
        Alternate(url=canonical("http://a.example/b/feed"), media_type="application/rss+xml", title="The news"),
        Alternate(url=canonical("http://a.example/b/amp"), rel="amphtml"),
    )


def test_alternates_are_limited_and_kept_if_links_are_ignored() -> None:
    body = "".join(f"<link rel=alternate hreflang=en href=/{number}>" for number in range(500))

    page = read(body + "<link rel=canonical href=/c>", HtmlOptions(ignored=("link",)))

    assert len(page.alternates) == MOST_ALTERNATES
    assert page.alternates[0].url.path == "/0"
    assert page.canonical == canonical("http://a.example/c")
    assert page.outlinks == ()


@pytest.mark.parametrize(
    ("body", "language"),
    [
        ('<html lang="en-GB">', "en-GB"),
        ('<html lang=" pt_BR ">', "pt-BR"),
        ('<html xml:lang="fi">', "fi"),
        ('<html lang="de"><meta http-equiv=content-language content="en">', "de"),
        ('<meta http-equiv="Content-Language" content="sv, en">', "sv"),
        ('<html lang="{{ lang }}">', ""),
        ('<html lang="">', ""),
        ('<p lang="fr">', ""),
        ("", ""),
    ],
)
def test_declared_language_is_read(body: str, language: str) -> None:
    assert read(body).language == language


def test_robots_directives_of_page_and_header_are_combined() -> None:
    page = read(
        '<meta name=robots content="max-snippet:0"><meta name=examplebot content="unavailable_after: 2031-01-01">',
        HtmlOptions(agents=("examplebot",)),
        robots="unavailable_after: Tuesday, 25-Jun-30 15:00:00 GMT\notherbot: noindex",
    )

    assert page.nosnippet
    assert page.unavailable_after == datetime(2030, 6, 25, 15, tzinfo=UTC)
    assert not page.noindex


def test_page_has_the_media_type() -> None:
    assert HtmlReader().read(content("<p>x", "application/xhtml+xml")).media_type == "application/xhtml+xml"


@pytest.mark.parametrize(
    ("body", "doubt"),
    [
        (b"<p>fine</p>", ""),
        ("<p>\ufffd is in the page itself</p>".encode(), ""),
        (b"\xef\xbb\xbf<p>a mark is no fault</p>", ""),
        (b"", "empty"),
        (b" \n", "empty"),
        (b'{"json": true}', "no markup"),
        (b"<p>\0\x01\x02\x03</p>", "binary"),
        (b"<p>" + bytes(range(1, 9)) * 8 + b"</p>", "binary"),
        (b"<meta charset=utf-8><p>\xc3\xa9\xc3\xa9\xc3\xa9\xff</p>", "not valid utf-8: 1 character replaced"),
        (b"<meta charset=utf-8><p>" + b"\xc3\xa9" * 40 + b"\xff" * 12, "not valid utf-8: 12 characters replaced"),
    ],
)
def test_doubt_names_the_problems_of_a_page(body: bytes, doubt: str) -> None:
    assert read(body).doubt == doubt


def test_doubt_names_truncation() -> None:
    assert HtmlReader().read(replace(content("<p>x"), truncated=True)).doubt == "truncated"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(ELEMENTS),
            st.lists(st.tuples(st.sampled_from(ATTRIBUTES), st.one_of(st.sampled_from(VALUES), st.text(max_size=9)))),
            st.text(max_size=4),
        )
    )
)
@settings(max_examples=examples(60), deadline=None)
def test_reader_accepts_any_markup_with_any_options(
    elements: list[tuple[str, list[tuple[str, str]], str]],
) -> None:
    options = HtmlOptions(form_actions=True, script_links=True, element_name="e", agents=("examplebot",))
    body = "".join(
        f"<{name} " + " ".join(f'{key}="{value}"' for key, value in attributes) + f">{text}"
        for name, attributes, text in elements
    )

    page = read(body.encode("utf-8", "replace"), options)

    assert all(canonical(link.target.text) == link.target for link in page.outlinks)
    assert all(1 <= heading.level <= 6 and heading.text for heading in page.headings)
