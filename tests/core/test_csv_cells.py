"""Cells of CSV files: no formulas, no control characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core.csv_cells import csv_cell


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\x00=", "\x1b+"])
def test_texts_that_begin_like_a_formula_are_quoted(sign: str) -> None:
    assert csv_cell("", sign + "cmd|' /C calc'!A0").startswith("'")


def test_numbers_and_ordinary_texts_are_unchanged() -> None:
    assert (csv_cell(-5, "-5"), csv_cell(-0.5, "-0.5")) == ("-5", "-0.5")
    assert (csv_cell("", "a=b\n\u00e9"), csv_cell(None, "")) == ("a=b\n\u00e9", "")


@given(st.text())
def test_a_cell_never_begins_like_a_formula(text: str) -> None:
    cell = csv_cell(text, text)

    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert "\x00" not in cell
    assert csv_cell(text, text, exact=True) == text.replace("\x00", "")
