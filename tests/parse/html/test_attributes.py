"""Meta refresh, by the cases of the HTML standard, and srcset."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core.url import canonical
from scoter.parse.html.attributes import largest, read_refresh

BASE = canonical("http://a.example/dir/")


@pytest.mark.parametrize(
    ("content", "path", "seconds"),
    [
        ("0;url=x", "x", 0),
        ("5; URL=x", "x", 5),
        (" 5 , url = 'x' ignored", "x", 5),
        ('1; url="x', "x", 1),
        ("1.9; url=x", "x", 1),
        (".5; url=x", "x", 0),
        ("2 x", "x", 2),
        ("2; x", "x", 2),
        ("2; url=x;y", "x;y", 2),
        ("0;url=http://b.example/", "http://b.example/", 0),
        ("99999999999999999999;url=x", "x", 999999999),
    ],
)
def test_refresh_has_a_target_and_a_delay(content: str, path: str, seconds: float) -> None:
    found = read_refresh(content, BASE)

    assert found is not None
    assert found.target.text == (path if path.startswith("http") else f"http://a.example/dir/{path}")
    assert found.seconds == seconds


@pytest.mark.parametrize("content", ["", "5", "5;", "5; url=", "url=x", "x; url=y", "-1; url=x", "5; url=javascript:x"])
def test_refresh_without_target_is_none(content: str) -> None:
    assert read_refresh(content, BASE) is None


@given(st.text())
def test_refresh_accepts_any_text(content: str) -> None:
    read_refresh(content, BASE)


@pytest.mark.parametrize(
    ("srcset", "found"),
    [
        ("", ""),
        ("a.png", "a.png"),
        ("a.png,b.png 2x", "a.png,b.png"),
        ("a.png 1x,b.png 3x,c.png 2x", "b.png"),
        ("a.png 100w 50h, b.png 50w", "a.png"),
        ("a.png 2x, b.png 2x", "a.png"),
        ("a.png -1x, b.png NaNx, c.png ٣x", "a.png"),
        (",,a.png,,", "a.png"),
        ("data:image/png;base64,AAAA 2x, b.png", "data:image/png;base64,AAAA"),
    ],
)
def test_largest_srcset_candidate_is_chosen(srcset: str, found: str) -> None:
    assert largest(srcset) == found


@given(st.text(max_size=200))
def test_srcset_accepts_any_text(srcset: str) -> None:
    assert largest(srcset) in ("", *srcset.replace(",", " ").split()) or largest(srcset) in srcset
