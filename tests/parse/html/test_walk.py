"""The walk in C reads every page as the one in Python does."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
import selectolax.lexbor
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser
from tests.effort import examples
from tests.parse.html.markup import some_markup

from scoter.core.page import Content, Page
from scoter.core.url import canonical
from scoter.parse.html import HtmlOptions, HtmlReader
from scoter.parse.html.walk import IS_NATIVE

ROOT = Path(__file__).parents[3]
PAGES = sorted(path for folder in ("tests", "examples") for path in (ROOT / folder).rglob("*.html"))
OPTIONS = (
    HtmlOptions(),
    HtmlOptions(script_links=True, form_actions=True, metadata=True, agents=("scoter",)),
    HtmlOptions(ignored=("a", "img", "script"), script_links=True, line_separators=("span",)),
    HtmlOptions(text=False, element_name="element"),
)

native = pytest.mark.skipif(not IS_NATIVE, reason="built without a compiler")


def read_twice(body: bytes, options: HtmlOptions) -> tuple[Page, Page]:
    content = Content(url=canonical("http://a.example/docs/page.html"), media_type="text/html", body=body)
    in_python, in_c = (HtmlReader(options, native=native).read(content) for native in (False, True))
    return in_python, in_c


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a compiler")
def test_walk_is_native_where_there_is_a_compiler() -> None:
    assert IS_NATIVE


@native
@pytest.mark.parametrize("options", OPTIONS)
def test_pages_of_the_test_data_are_read_equally(options: HtmlOptions) -> None:
    assert len(PAGES) > 10
    for path in PAGES:
        in_python, in_c = read_twice(path.read_bytes(), options)
        assert in_c == in_python, path


@native
@settings(max_examples=examples(1_000))
@given(st.integers(0, 2**32), st.sampled_from(OPTIONS))
def test_any_markup_is_read_equally(seed: int, options: HtmlOptions) -> None:
    in_python, in_c = read_twice(some_markup(random.Random(seed)).encode(errors="replace"), options)

    assert in_c == in_python


@native
@settings(max_examples=examples(200))
@given(st.binary(max_size=400))
def test_any_bytes_are_read_equally(body: bytes) -> None:
    in_python, in_c = read_twice(b"<title>x</title><a href=/>" + body, HtmlOptions())

    assert in_c == in_python


@native
def test_a_deep_page_is_read_equally() -> None:
    in_python, in_c = read_twice(b"<div><b><a href=/x>" * 20_000 + b"end", HtmlOptions())

    assert in_c == in_python


@native
def test_headings_in_an_svg_are_none_of_the_page() -> None:
    link, style = ("<a href=/>", "</a>"), ("<style>", "</style>")
    pictures = [f"<svg>{begin}<title><h2>b<i>c</i>d</h2></title>{end}</svg>" for begin, end in (link, style)]
    for picture in pictures:
        in_python, in_c = read_twice(f"<h1>Seals</h1>{picture}<h2>Food</h2>".encode(), HtmlOptions())

        assert in_c == in_python
        assert [heading.text for heading in in_c.headings] == ["Seals", "Food"]


@native
def test_errors_in_python_end_the_walk() -> None:
    from scoter.parse.html import _walk

    def fail(*_: object) -> str:
        raise RuntimeError("no memory")

    tree = LexborHTMLParser("<p>x<img src=y>")
    assert tree.root is not None
    tables = bytes([10]) * 256, bytes([255]) * 256, bytes(256)
    with pytest.raises(RuntimeError, match="no memory"):
        _walk.walk(tree.root.mem_id, 0, *tables, (1, 2, 3, 4), ([], [], []), (), {}, (fail,) * 3, {}, True)
    with pytest.raises(ValueError, match="another size"):
        _walk.walk(tree.root.mem_id, 0, b"", b"", b"", (1, 2, 3, 4), ([], [], []), (), {}, (fail,) * 3, {}, True)


@native
def test_another_library_is_refused() -> None:
    from scoter.parse.html import _walk

    tree = LexborHTMLParser("<p>a<b>c</b>d")
    assert tree.root is not None
    try:
        assert not _walk.check("/nowhere.so", tree.root.mem_id)
        with pytest.raises(ValueError, match="not ready"):
            _walk.walk(
                tree.root.mem_id, 0, b"", b"", b"", (1, 2, 3, 4), ([], [], []), (), {}, (_nothing,) * 3, {}, True
            )
    finally:
        assert _walk.check(selectolax.lexbor.__file__, tree.root.mem_id)


def _nothing(*_: object) -> str:
    return ""
