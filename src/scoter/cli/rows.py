"""Rows printed as they come, however many there are: a table for people, JSON or CSV for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from scoter.cli.output import visible, width
from scoter.errors import UsageError

_MEASURED = 1_000  # rows that decide how wide a table's columns are
_GAP = "  "
_WIDEST = 100


def print_rows(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], form: str) -> int:
    """Print rows as ``table``, ``json`` or ``csv``, and return their number."""
    from scoter.batch.dumping import csv_row, json_line

    if form == "table":
        return _table(rows, columns)
    out = sys.stdout.buffer
    sys.stdout.flush()
    if form == "csv":
        out.write(csv_row(dict(zip(columns, columns, strict=True))))
    spell = csv_row if form == "csv" else json_line
    number = 0
    for row in rows:
        out.write(spell({name: row[name] for name in columns}))
        number += 1
    out.flush()
    return number


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values, one a line."""
    from scoter.batch.plain import shown

    widest = max(map(len, facts), default=0)
    for name, value in facts.items():
        sys.stdout.write(f"{name:<{widest}}  {visible(shown(value))}".rstrip() + "\n")


@contextmanager
def opened(out: str, *, binary: bool = False) -> Iterator[BinaryIO]:
    """Open what a dump goes to: a file that appears when it is complete, or standard output for a dash."""
    if out != "-":
        from scoter.batch.dumping import replacing

        with replacing(Path(out)) as file:
            yield file
        return
    if binary and sys.stdout.isatty():
        raise UsageError("this format is not for a terminal", hint="Name a file, or pipe it into a program.")
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def _table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> int:
    from scoter.batch.plain import shown

    texts = ([visible(shown(row[name])) for name in columns] for row in rows)
    first = list(islice(texts, _MEASURED))
    widths = [min(_WIDEST, max(map(width, cells))) for cells in zip(columns, *first, strict=True)]
    sys.stdout.write(_line(list(columns), widths))
    sys.stdout.write(_GAP.join("─" * size for size in widths) + "\n")
    number = 0
    for cells in chain(first, texts):
        sys.stdout.write(_line(cells, widths))
        number += 1
    return number


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (size - width(cell)) for cell, size in zip(cells, widths, strict=True))
    return _GAP.join(padded).rstrip() + "\n"
