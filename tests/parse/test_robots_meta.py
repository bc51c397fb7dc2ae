"""What a page asks of robots."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.parse.robots_meta import Directives, directives

US = ("examplebot",)


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("noindex", Directives(noindex=True)),
        ("NOINDEX , nofollow", Directives(noindex=True, nofollow=True)),
        ("none", Directives(noindex=True, nofollow=True)),
        ("noindex\nnofollow", Directives(noindex=True, nofollow=True)),
        ("otherbot: noindex, nofollow", Directives()),
        ("ExampleBot: noindex", Directives(noindex=True)),
        ("otherbot: noindex, examplebot: nofollow", Directives(nofollow=True)),
        ("otherbot: noindex\nnofollow", Directives(nofollow=True)),
        ("*: noindex", Directives(noindex=True)),
        ("unavailable_after: 25 Jun 2030 15:00:00 GMT, noindex", Directives(noindex=True)),
        ("max-snippet:10, noarchive", Directives(noarchive=True)),
        ("noindexing", Directives()),
        ("", Directives()),
    ],
)
def test_a_field_counts_for_whom_it_names(header: str, found: Directives) -> None:
    assert directives([], header, US) == found


@pytest.mark.parametrize(
    "content", ["noindex,nofollow", "noindex nofollow", "noindex; nofollow", " NoIndex ,, NoFollow"]
)
def test_words_may_be_parted_in_any_way(content: str) -> None:
    assert directives([content]) == Directives(noindex=True, nofollow=True)


@given(st.text(), st.text())
def test_no_text_breaks_it(content: str, header: str) -> None:
    directives([content], header, US)
