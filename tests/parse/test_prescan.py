"""The pre-scan: which pages are sure to parse quickly."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser
from tests.effort import examples, seconds_of
from tests.parse.contents import read

from scoter.parse import prescan
from scoter.parse.prescan import (
    DEEPEST,
    LARGEST,
    MOST_TAGS,
    is_harmless,
    is_partly_harmless,
    shallow_part,
)

PAGE = b"<div class='row'><p>words and <a href=\"/x\">a link</a>, and words</p></div>\n"
NAMES = [b"%x" % number for number in range(20_000)]


def tag(names: list[bytes]) -> bytes:
    return b"<p " + b" ".join(names) + b">"


def hidden(names: list[bytes], quote: bytes) -> bytes:
    """A tag whose many attributes are hidden behind values that look like its end."""
    return (
        b"<p ' "
        + b" ".join(name + b"=" + quote + b">'<" + quote if n % 40 == 0 else name for n, name in enumerate(names))
        + b">"
    )


@pytest.mark.parametrize("size", [1_000, 25_000, 60_000, 125_000, 200_000])
def test_ordinary_page_is_harmless(size: int) -> None:
    block = b"<p>" + b"words that fill a paragraph, as they do. " * 12 + b"</p>\n"
    body = (PAGE + block) * (size // len(PAGE + block))

    assert is_harmless(body)


@pytest.mark.parametrize(
    "inside",
    [
        b'<img alt="x" src="data:image/png;base64,' + b"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo/" * 1_500 + b'">',
        b"<style>" + b"p { color: red; margin: 0 }\n" * 600 + b"</style>",
        b"<script>var state = {" + b'"key": {"id": 123, "on": true}, ' * 900 + b"}</script>",
        b"<script>" + b'var a = {"key": "value", "other": [1, 2, 3]}; if (a < 2) { b = \'c\'; }\n' * 800 + b"</script>",
        b"<p>" + b"It's a long text with apostrophes, isn't it? " * 1_500 + b"</p>",
    ],
    ids=["image", "style", "state", "script", "text"],
)
def test_embedded_data_is_harmless(inside: bytes) -> None:
    assert is_harmless(PAGE * 50 + inside + PAGE * 50)


@pytest.mark.parametrize(
    "body",
    [
        b"<div>" * 10_000,
        b"<div>" * 5_000 + b"</x>" * 5_000,
        b"<b><p>" * 5_000,
        b"<p>" + b"".join(b"<b %d>" % number for number in range(1_500)) + b"<p>x" * 1_500,
        PAGE * 300 + tag(NAMES).replace(b"<", b"<<!-- -->", 1) + PAGE * 300,
        b"<p>" + b"".join(b"<FONT\nx=%d>" % number for number in range(1_500)) + b"<p>x" * 1_500,
        tag(NAMES),
        PAGE * 300 + tag(NAMES) + PAGE * 300,
        hidden(NAMES, b'"'),
        PAGE * 300 + hidden(NAMES, b'"') + PAGE * 300,
        b"".join(b"<HTML " + b" ".join(NAMES[n : n + 500]) + b">" for n in range(0, 20_000, 500)),
        b"x" * (LARGEST + 1),
        "<html><p>words".encode("utf-16"),
        b"<p>\x1b$B4A\x1b(B",
    ],
)
def test_slow_and_undecidable_pages_are_not_harmless(body: bytes) -> None:
    assert not is_harmless(body)


CODE = b'<li><code class="py func"><span class="pre">seal</span></code> <em class="a"><code>x</code></em></li>\n'


def test_formatting_that_is_closed_at_once_is_harmless() -> None:
    assert is_harmless(CODE * 700)


@pytest.mark.parametrize(
    "open_element",
    [
        '<b x="{}"><!--</b>-->',
        '<b x="{}"><p a="</b>">',
        '<b x="{}"><title></b></title>',
        '<b x="{}" ><!DOCTYPE "</b>">',
        "<b x='{}' y=\">'></b>\">",
        '<b x={}=">t</b>">',
        '<b x="{}"y="">t<i></b>',
        '<b x="{}"><div></b>',
        '<b x="{}"></b x></i>',
    ],
)
def test_formatting_that_only_seems_closed_is_not_harmless(open_element: str) -> None:
    opened = "".join(open_element.format(number) for number in range(1_500))

    assert not is_harmless(opened.encode() + b"<p>x" * 1_500)


_PIECES = [
    *('<b x="{}">', "<i x={}>", '<em a="{}">', "<code {}>", "</b>", "</i>", "</em>", "</code>", '<b x="{}">t</b>'),
    *('<em a="{}"><code>t</code></em>', '<code a="{}"><span b="c">t</span> t</code>', '<i x="{}"><b></i>', "<span>"),
    *("</span>", "<!--", "-->", "<p a='", "'", '"', "=", ">", "<", "t", "<div>", "</div>", "<table>", "<td>"),
    *("</table>", "<title>", "</title>", "<svg>", "</svg>", "<select>", "</select>", "<![CDATA[", "]]>", "<p>", "</p>"),
    *("<textarea>", "</textarea>", "<font x='{}'>", '<font x="{}">t</font>', "</font>", "<a x={}>", "</a>"),
    *("<template>", "<button>"),
]
_ATTRIBUTE_PIECES = [*"ab\"'=>/ \n<", "a=b", "c='d>'", 'e=">"', "f = g", "=h", "é", "\0", " " * 150, "long " * 60]
_WATCHED_PIECES = [
    *(
        "<b",
        "<B\n",
        "<s/",
        "<bold ",
        "<html ",
        "<Body/",
        "<FONT\tx='' ",
        '<Tt x="">',
        "</Tt>",
        "<u\f></u>",
        "/",
        " ",
        "é",
    ),
    *('<i a-b="c"  >', '<i a-b="c">t</i >', "<s >", "</s>", "<big ><tt><u>t</u></tt><u></u></big>", '<b x="y" z="<">'),
]


@pytest.mark.skipif(prescan.find_watched is None, reason="built without a compiler")
@given(st.lists(st.sampled_from(_PIECES + _WATCHED_PIECES), max_size=20), st.sampled_from((1, 3, 32)))
@settings(max_examples=examples(500))
def test_watched_elements_are_equal_in_c_and_in_python(pieces: list[str], few: int) -> None:
    body = "".join(pieces).encode()
    assert prescan.find_watched is not None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prescan, "_FEW_WATCHED", few)
        expected = prescan._watched_in_python(body)

    assert prescan.find_watched(body, few) == expected


@pytest.mark.skipif(prescan.ends_tag is None, reason="built without a compiler")
@given(st.lists(st.sampled_from(_ATTRIBUTE_PIECES), max_size=20), st.integers(0, 3))
@settings(max_examples=examples(500))
def test_ends_of_tags_are_equal_in_c_and_in_python(pieces: list[str], place: int) -> None:
    block = "".join(pieces).encode()
    assert prescan.ends_tag is not None

    assert prescan.ends_tag(block, min(place, len(block))) == prescan._ends_in_python(block, min(place, len(block)))


@given(st.lists(st.sampled_from(_PIECES), min_size=1, max_size=12))
@settings(max_examples=examples(100), deadline=None)
def test_harmless_page_never_gets_millions_of_elements(pieces: list[str]) -> None:
    block = "".join(pieces)
    times = min(1_000, 5_000 // max(1, block.count("<")))
    body = "".join(block.replace("{}", str(number)) for number in range(times)).encode() + b"<p>x" * 2_000

    assume(is_harmless(body))
    tree = LexborHTMLParser(body)

    assert tree.root is not None
    assert sum(1 for _ in tree.root.traverse()) < 1_000_000


FILL: list[Callable[[int], bytes]] = [
    lambda n: b"<div>" * n,
    lambda n: b"<span>" * (n // 2) + b"x<br>" * (n // 2),
    lambda n: b"<div>" * (n // 2) + b"</p>" * (n // 2),
    lambda n: b"<a href=x><object>" * (n // 2) + b"x" * 50_000,
    lambda n: b"<p>" + b"".join(b"<b %d>" % number for number in range(490)) + b"<p>x" * 490,
    lambda n: b"<p>" + b"<b><i><u><s><em><tt><big><font><code><small><strong>" * 3 + b"<p>x" * (n - 120),
    lambda n: (b"<i>" + b"<div>" * 8 + b"</i>") * (n // 10),
    lambda n: b"".join(b"<body a%d>" % number for number in range(4)) + tag(NAMES[:7_000]),
    lambda n: b"<h1><div>" * (n // 2) + b"x" * 200_000,
    lambda n: b"<a href=x><picture><img alt=x>" * (n // 3),
    lambda n: (
        b"<meta name=robots content='unavailable_after: " + b"1" * 5_000 + b"'>" + b"<meta name=a content=b>" * (n - 9)
    ),
]


@pytest.mark.parametrize("fill", FILL, ids=range(len(FILL)))
def test_slowest_harmless_page_is_read_in_two_seconds(fill: Callable[[int], bytes]) -> None:
    body = fill(MOST_TAGS - 10)
    assert is_harmless(body)

    assert any(seconds_of(lambda: read(body)) < 2 for _ in range(5))


@given(st.lists(st.sampled_from(["'", '"', "=", ">", "<p ", " ", "/", "x"]), max_size=60))
@settings(max_examples=examples(25), deadline=None)
def test_tag_with_many_attributes_is_found_anywhere(pieces: list[str]) -> None:
    names = b" ".join(NAMES)
    closed = b"".join(itertools.chain([b"<p>\"'>"], [piece.encode() for piece in pieces], [b"\"'>"]))

    assert not is_harmless(closed + b"<p " + names)


@pytest.mark.parametrize(
    "body",
    [
        b"<pre>" + b" " * 200_000,
        b"<pre>" + b"/" * 200_000,
        b"<p " + b"x=" * 100_000,
        b"<p " + b"x  " * 60_000 + b"=",
        b"<p " + b"x='" * 60_000,
        (b"<!--" + b"a" * 50 + b"--><!-- -->") * 3_500 + b"<p>x",
        b"<!--a-->" * 7_000 + b" " * 100_000,
        b"<!--" * 7_000 + b"a" * 200_000,
    ],
    ids=[
        "spaces",
        "slashes",
        "values",
        "spaces_before_value",
        "quotes",
        "comments",
        "spaces_after",
        "unclosed_comments",
    ],
)
def test_pre_scan_takes_linear_time(body: bytes) -> None:
    assert len(body) <= LARGEST
    assert seconds_of(lambda: is_harmless(body)) < 0.5


HEAD = b"<title>Seals</title><p>Grey"


@pytest.mark.parametrize(
    "tag", [b"<div>", b"<DIV x=1>", b"<b>", b"<x-y/>", b"<ul><li>", b"<div></p>", b"<table><tr><td>"]
)
def test_page_is_read_up_to_where_it_is_nested_too_deeply(tag: bytes) -> None:
    body = HEAD + tag * 200_000

    part = shallow_part(body)
    page = read(body)

    assert part == HEAD + (tag * (DEEPEST + 1))[: len(part) - len(HEAD)]
    assert is_partly_harmless(body)
    assert (page.title, page.text.startswith("Grey")) == ("Seals", True)
    assert page.doubt == f"nested too deeply: only the first {len(part):,} bytes were read"


@pytest.mark.parametrize(
    "block",
    [
        PAGE,
        b"<p>words<br><img src=x>\n",
        b"<ul><li>one<li>two</ul><table><tr><td>a<td>b</table>",
        b"<svg><path d='M0 0'/><path d='M1 1'/></svg>",
        b"<div><span>x</div></span>",
        b"<select><option>a<option>b</select>",
    ],
)
def test_long_page_of_ordinary_depth_is_read_whole(block: bytes) -> None:
    body = block * 10_000

    assert shallow_part(body) is body
    assert not is_partly_harmless(body)


def test_part_of_a_page_in_another_encoding_is_not_judged_before_decoding() -> None:
    assert not is_partly_harmless(b"<div>" * 100_000 + "<p>words".encode("utf-16"))
