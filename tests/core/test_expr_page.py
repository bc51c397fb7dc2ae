"""docs/expressions.md: its tables are those of the code, and its examples are expressions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scoter.core.expr import DATUM, compile_expr
from scoter.core.expr.types import FUNCTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "expressions.md").read_text("utf-8")
BLOCKS = re.findall(r"^```expr\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_documented_columns_match_the_record() -> None:
    table = re.findall(r"^\| `([a-z_]+)` \| ([a-z ]+) \|$", PAGE, re.MULTILINE)

    assert table == [(name, kind.value) for name, kind in DATUM.items()]


def test_every_function_is_documented() -> None:
    told = re.findall(r"^\| `([a-z]+)\(([a-z, ]+)\)` \| ([a-z ]+) \|$", PAGE, re.MULTILINE)

    wanted = [
        (name, ", ".join(kind.value.removeprefix("a ") for kind in takes), gives.value)
        for name, (takes, gives) in FUNCTIONS.items()
    ]
    assert told == wanted


@pytest.mark.parametrize("example", "".join(BLOCKS).splitlines())
def test_every_documented_example_compiles(example: str) -> None:
    compile_expr(example)
