"""Whatever a page is made of: its Markdown says what its text says, and no more than there is room for."""

from __future__ import annotations

from html import escape

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.parse.main.rendering import BASE, main_of, squeezed, tokens, words

from scoter.parse.main import main_content

TEXT = st.text("ab1 .)*_[]()<>#-+=`~|\\!&;:\"'\n你ü", max_size=12).map(lambda text: escape(text, quote=False))
INLINE = ("b", "i", "code", "s", "span", 'a href="/x?(y)"', 'a href="javascript:z"', "font", "em", "strong")
BLOCKS = ("p", "div", "h2", "h3", "blockquote", "pre", "section", "center")


def _element(opening: str, inside: str) -> str:
    return f"<{opening}>{inside}</{opening.split()[0]}>"


LINES = st.recursive(
    TEXT,
    lambda inner: st.one_of(
        st.builds(_element, st.sampled_from(INLINE), inner),
        st.lists(inner, max_size=4).map("".join),
        inner.map(lambda text: text + "<br>"),
    ),
    max_leaves=8,
)
LIST = st.builds(
    lambda tag, items: _element(tag, "".join(f"<li>{item}</li>" for item in items)),
    st.sampled_from(("ul", "ol")),
    st.lists(LINES, max_size=3),
)
TABLE = st.lists(st.lists(LINES, min_size=2, max_size=3), min_size=2, max_size=3).map(
    lambda rows: _element("table", "".join(_element("tr", "".join(f"<td>{c}</td>" for c in row)) for row in rows))
)
PAGE = st.recursive(
    st.one_of(LINES, LIST, TABLE),
    lambda inner: st.one_of(
        st.builds(_element, st.sampled_from((*BLOCKS, "li", "ul", 'a href="b"', "b")), inner),
        st.lists(inner, max_size=4).map("".join),
    ),
    max_leaves=8,
)
TAGS = st.sampled_from(
    [
        *(
            "<p>",
            "</p>",
            "<b>",
            "</b>",
            "<table>",
            "<tr>",
            "<td rowspan=9 colspan=9>",
            "</table>",
            "<ul>",
            "<li>",
            "</ul>",
        ),
        *(
            "<pre>",
            "<code>",
            "</pre>",
            "<a href='x'>",
            "</a>",
            "<dl>",
            "<dt>",
            "<dd>",
            "<img src=x alt='['>",
            "<br>",
            "<hr>",
        ),
        *(
            "<script>",
            "</script>",
            "<svg>",
            "<math>",
            "<template>",
            "<select>",
            "<form>",
            "<nav>",
            "<main>",
            "<article>",
        ),
        *(
            "<h1>",
            "<blockquote>",
            "<details>",
            "<summary>",
            "<!--",
            "-->",
            "<sup>",
            "<a href=#x>",
            "&lt;script&gt;",
            "x",
        ),
        *("&#xF0001;", "\U000f0002", "&#xE000;", "\0", "<body class=nav>", "<frameset>", "<figure>", "<figcaption>"),
    ]
)


@settings(max_examples=examples(120), deadline=None)
@given(PAGE)
def test_markdown_says_what_the_main_text_says(page: str) -> None:
    found = main_of(page)

    assert words(found.markdown) == squeezed(found.text)
    assert not {"html_block", "html_inline"} & {token.type for token in tokens(found.markdown)}


@settings(max_examples=examples(120), deadline=None)
@given(st.lists(st.one_of(TAGS, TEXT), max_size=40).map("".join))
def test_any_order_of_tags_is_rendered_within_limits(page: str) -> None:
    found = main_of(page)

    assert len(found.markdown) <= 2 * len(page.encode()) + 1_000
    assert len(found.text) <= 2 * len(page.encode()) + 100
    assert not {"html_block", "html_inline"} & {token.type for token in tokens(found.markdown)}


@settings(max_examples=examples(60), deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_rendered_without_error(markup: bytes) -> None:
    main_content(markup, markdown=True, base=BASE)
