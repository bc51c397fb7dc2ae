"""Several byte strings are found wherever they lie, in C and in Python."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core import needles
from scoter.core.needles import MOST, SHORTEST, Needles, occur_native

PIECES = st.binary(min_size=SHORTEST, max_size=12)
# Few letters, so that strings often occur in part.
LETTERS = st.text("ab", min_size=SHORTEST, max_size=10).map(str.encode)


def found(given: Needles, data: bytes) -> bool:
    """Return whether one occurs, after a check that both builds agree."""
    in_c = given.occur_in(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(needles, "occur_native", None)
        assert given.occur_in(data) == in_c
    return in_c


@given(st.lists(PIECES, min_size=1, max_size=5), st.binary(max_size=9), st.binary(max_size=9), st.data())
def test_a_string_is_found_at_any_place(pieces: list[bytes], before: bytes, after: bytes, data: st.DataObject) -> None:
    assert found(Needles(*pieces), before + data.draw(st.sampled_from(pieces)) + after)


@given(st.lists(LETTERS, min_size=1, max_size=4), st.text("ab", max_size=40).map(str.encode))
def test_only_whole_strings_are_found(pieces: list[bytes], data: bytes) -> None:
    assert found(Needles(*pieces), data) == any(each in data for each in pieces)


def test_patterns_have_no_meaning() -> None:
    assert not found(Needles(b"a.*(b)[c"), b"a12(b)[c")
    assert found(Needles(b"a.*(b)[c"), b"xa.*(b)[c")


@pytest.mark.parametrize("wrong", [(b"short",), (b"abcdef",) * (MOST + 1)])
def test_short_and_many_strings_are_refused(wrong: tuple[bytes, ...]) -> None:
    with pytest.raises(ValueError, match="at most 64 byte strings of at least 6"):
        Needles(*wrong)
    if occur_native is not None:
        with pytest.raises(ValueError, match="too many byte strings, or one is too short"):
            occur_native(b"data", wrong)
