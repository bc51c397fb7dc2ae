"""Comments and ``noscript``: markup that a browser with scripts does not show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import seconds_of
from tests.parse.contents import read

from scoter.core.page import Page
from scoter.parse.html import HtmlOptions

EVERYTHING = HtmlOptions(metadata=True, main_text=True, markdown=True)
HEAD = '<title>Seals</title><meta name="description" content="All of them"><link rel="canonical" href="/seals">'
BODY = '<main><h1>Grey seals</h1><p>They <b>swim</b> and <a href="/eat">eat</a> fish.</p></main>'

# Pieces that open, close or end something in markup, and comments and values that hold them.
PIECES = [
    *("<p>", "</p>", "<div>", "</div>", "</body>", "</html>", "<table>", "<b>", "<a href='/no'>no", "<img src=/no>"),
    *(
        "<!--",
        "-->",
        "<!-- it's -->",
        "<script>",
        "</script>",
        "<style>",
        "<textarea>",
        "<title>no",
        "<base href=/no/>",
    ),
    *("<meta name=robots content=none>", "<meta http-equiv=refresh content='0;url=/no'>", "<noscript>", "</noscrip>"),
    *("<link rel=canonical href=/no>", "<h1>no</h1>", '"', "'", ">", "no", " "),
]
NOTES = ["<!-- -->", "<!---->", "<!-- it's -->", '<!-- "x" -->', "<!-- <b> -->", "<!-- > --!>", "<?x?>", "<!x>"]


def told(page: Page) -> tuple[object, ...]:
    """Return what a page says, in comparable form."""
    links = [(link.target.text, link.anchor) for link in page.outlinks]
    said = (page.title, page.text, page.main_text, page.markdown, page.headings, page.metas, page.canonical)
    return (*said, links, page.refresh, page.base, page.noindex, page.about)


PLAIN = told(read(f"<head>{HEAD}</head><body>{BODY}", EVERYTHING))


@given(inside=st.lists(st.sampled_from(PIECES), max_size=8).map("".join), is_in_head=st.booleans())
def test_content_of_noscript_changes_nothing(inside: str, is_in_head: bool) -> None:
    hidden = f"<noscript>{inside}</noscript>"
    markup = f"<head>{hidden}{HEAD}</head><body>{BODY}" if is_in_head else f"<head>{HEAD}</head><body>{hidden}{BODY}"

    assert told(read(markup, EVERYTHING)) == PLAIN


@given(notes=st.lists(st.sampled_from(NOTES), min_size=8, max_size=8))
def test_comments_between_letters_change_nothing(notes: list[str]) -> None:
    one, two, three, four, five, six, seven, eight = notes
    body = (
        f"{one}<main><h1>Gr{two}ey seals</h1>{three}<p>They <b>sw{four}im</b>{five} and "
        f'<a href="/eat">e{six}at{seven}</a> fi{eight}sh.</p></main>'
    )

    assert told(read(f"<head>{HEAD}</head><body>{body}", EVERYTHING)) == PLAIN


def test_unclosed_tag_in_noscript_does_not_hide_the_rest() -> None:
    page = read("<body><noscript><div></noscript><p>Hello <a href=/x>you</a>", EVERYTHING)

    assert (page.text, page.main_text, page.markdown) == ("Hello you", "Hello you", "Hello [you](http://a.example/x)")
    assert [link.target.text for link in page.outlinks] == ["http://a.example/x"]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<script>'<noscript>'</script>a<p>b</noscript>", "a\nb"),
        ("<textarea><noscript></textarea>a", "<noscript>\na"),
        ("<!-- <noscript> -->a", "a"),
        ('<p title="<noscript>">a', "a"),
        ("<noscript><!-- </noscript>a -->b", "a -->b"),
        ("<noscript>x</noscript y>a", "a"),
        ("<noscript>x</noscripts></NOSCRIPT>a", "a"),
        ("a<noscript>x", "a"),
    ],
)
def test_noscript_begins_and_ends_as_in_browsers(markup: str, text: str) -> None:
    assert read(f"<body>{markup}").text == text


@pytest.mark.parametrize(
    ("markup", "target"),
    [
        ('<a href="/x<!--y-->z">', "http://a.example/x%3C!--y--%3Ez"),
        ('<base h<!--c-->ref="/y/"><a href="x">', "http://a.example/dir/x"),
        ('<!-- it\'s --><base href="/y/"><!-- " --><a href="x">', "http://a.example/y/x"),
    ],
)
def test_comments_are_only_where_the_parser_sees_them(markup: str, target: str) -> None:
    assert [link.target.text for link in read(markup).outlinks] == [target]


def test_headings_are_whole_words_even_if_no_text_is_needed() -> None:
    page = read("<h1>un<b>real</b> <!-- x -->s<!-- y -->eals</h1>", HtmlOptions(text=False))

    assert [heading.text for heading in page.headings] == ["unreal seals"]


@pytest.mark.parametrize(
    "body",
    [
        b"a<!---->" * 60_000,
        b"<a href=/x>a</a><!-- it's -->" * 7_000,
        b"<a href=/x>" + b"<!---->" * 60_000 + b"</a><a href=/y>b</a>",
        b"<a href=/x>a</a>" + b"<!---->" * 60_000 + b"<a href=/y>b</a>",
        b"<p>" + b"".join(b"<<!-- -->b %d>" % number for number in range(1_500)) + b"<p>x" * 1_500,
        b"<p>" + b"".join(b"<b<!-- --> %d>" % number for number in range(1_500)) + b"<p>x" * 1_500,
        b"<!--" * 60_000,
        b"<noscript></noscrip" * 20_000,
        b"<noscript></noscript>" * 10_000,
        b"<script type=application/ld+json>" + b"<!-- it's " * 20_000 + b"{</script>",
    ],
)
def test_comments_and_noscript_are_read_in_linear_time(body: bytes) -> None:
    assert seconds_of(lambda: read(body, HtmlOptions(metadata=True))) < 1
