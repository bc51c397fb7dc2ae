"""Rows printed as they come, however many there are: a table for people, JSON or CSV for programs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from scoter.cli.output import cut, visible, width
from scoter.errors import UsageError

_MEASURED = 1_000  # rows that decide how wide a table's columns are
_GAP = "  "
_WIDEST = 100  # columns to which a cell is filled up in a pipe; a longer one is left whole
_NARROWEST = 8


def print_rows(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], form: str) -> int:
    """Print rows as ``table``, ``json`` or ``csv``, and return their number."""
    from scoter.batch.crawldir.export import csv_row, json_line

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
    from scoter.batch.crawldir.export import shown

    widest = max(map(len, facts), default=0)
    for name, value in facts.items():
        sys.stdout.write(f"{name:<{widest}}  {visible(shown(value))}".rstrip() + "\n")


@contextmanager
def opened(out: str, *, binary: bool = False) -> Iterator[BinaryIO]:
    """Open what a dump goes to: a file that appears when it is complete, or standard output for a dash."""
    if out != "-":
        from scoter.batch.crawldir.export import replacing

        with replacing(Path(out)) as file:
            yield file
        return
    if binary and sys.stdout.isatty():
        raise UsageError("this format is not for a terminal", hint="Name a file, or pipe it into a program.")
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def _table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> int:
    from scoter.batch.crawldir.export import shown

    texts = ([visible(shown(row[name])) for name in columns] for row in rows)
    first = list(islice(texts, _MEASURED))
    widest = [max(map(width, cells)) for cells in zip(columns, *first, strict=True)]
    room = _room(len(columns)) if sys.stdout.isatty() else None
    widths = [min(_WIDEST, each) for each in widest] if room is None else narrowed(widest, room)
    sys.stdout.write(_line(columns, widths, room))
    sys.stdout.write(_GAP.join("─" * size for size in widths) + "\n")
    number = 0
    for cells in chain(first, texts):
        if room is not None and any(width(cell) > size for cell, size in zip(cells, widest, strict=True)):
            widest = [max(width(cell), size) for cell, size in zip(cells, widest, strict=True)]
            widths = narrowed(widest, room)
        sys.stdout.write(_line(cells, widths, room))
        number += 1
    return number


def _room(columns: int) -> int:
    """Return how much of the terminal's width there is for so many cells."""
    return shutil.get_terminal_size().columns - len(_GAP) * (columns - 1)


def narrowed(widths: Sequence[int], room: int) -> list[int]:
    """Return widths that fit into so many columns in all: the widest give way, so far that something can be read.

    >>> narrowed([3, 30, 50], 63), narrowed([3, 30, 50], 43), narrowed([9, 9], 10)
    ([3, 30, 30], [3, 20, 20], [8, 8])
    """
    found = list(widths)
    while sum(found) > room and max(found) > _NARROWEST:
        widest = max(found)
        next_widest = max((each for each in found if each < widest), default=0)
        share = -(-(sum(found) - room) // found.count(widest))  # what each of the widest would have to give
        size = max(widest - share, next_widest, _NARROWEST)
        found = [min(each, size) for each in found]
    return found


def _line(cells: Sequence[str], widths: Sequence[int], room: int | None) -> str:
    if room is not None:
        cells = [cut(cell, size) for cell, size in zip(cells, widths, strict=True)]
    padded = (cell + " " * (size - width(cell)) for cell, size in zip(cells, widths, strict=True))
    return _GAP.join(padded).rstrip() + "\n"
