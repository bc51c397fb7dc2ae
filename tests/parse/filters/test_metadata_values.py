from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.parse.filters.pages import page

from scoter.core.page import split_values
from scoter.parse.filters.metadata_values import (
    LONGEST_TOGETHER,
    LONGEST_VALUE,
    MOST_VALUES,
    join_values,
    one_line,
    with_metadata,
)

ANY_TEXT = st.text(st.characters(codec=None))


@given(st.lists(ANY_TEXT, max_size=20))
def test_split_values_inverts_join_values(values: list[str]) -> None:
    lines = list(dict.fromkeys(filter(None, map(one_line, values))))

    assert list(split_values(join_values(values))) == lines


@given(ANY_TEXT)
def test_a_value_is_one_line_that_can_be_stored(text: str) -> None:
    line = one_line(text)

    line.encode()
    assert line == line.strip()
    assert not set(line) & {"\t", "\n", "\r", "\x00", "\x85"}


def test_page_metadata_is_bounded() -> None:
    many = split_values(join_values(str(number) for number in range(10_000)))
    long = split_values(join_values(letter * 100_000 for letter in "abcdefghijkl"))

    assert len(many) == MOST_VALUES
    assert len(join_values(letter * 100_000 for letter in "abcdefghijkl")) <= LONGEST_TOGETHER
    assert {len(value) for value in long} == {LONGEST_VALUE}


def test_values_are_added_to_existing_metadata() -> None:
    before = page(metadata={"a": "1"})

    assert with_metadata(before, {"b": "2"}).metadata == {"a": "1", "b": "2"}
    assert with_metadata(before, {"b": ""}) is before
