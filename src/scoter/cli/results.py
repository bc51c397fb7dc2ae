"""Results of commands: tables for people, JSON or CSV for programs, and dumps to files."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import click

from scoter.cli.invocation import Invocation, invocation
from scoter.cli.output import cut, print_json, visible, width
from scoter.errors import UsageError

Result = TypeVar("Result")
_MEASURED_ROWS = 1_000  # rows that decide how wide a table's columns are
_GAP = "  "
_WIDEST_CELL = 100  # columns to which a cell is padded in a pipe; longer cells are not truncated
_NARROWEST_CELL = 8


def print_result(result: Result, shown: str | Callable[[Result], None]) -> None:
    """Print a result: as JSON with ``--json``, otherwise the given text, or what the given function prints."""
    if invocation().json:
        print_json(result)
    elif callable(shown):
        shown(result)
    else:
        click.echo(shown)


def row_format(wants_csv: bool) -> str:
    """Return the format that ``--json`` and ``--csv`` ask for."""
    if invocation().json and wants_csv:
        raise UsageError("--json and --csv cannot be combined")
    return "csv" if wants_csv else "json" if invocation().json else "table"


def print_rows(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[str], form: str = "", *, exact: bool = False
) -> None:
    """Print rows as ``table``, ``json`` or ``csv``, one by one; by default as ``--json`` says.

    ``exact`` leaves values as they are that a spreadsheet would take for formulas.
    """
    if not form:
        form = row_format(wants_csv=False)
    if form == "table":
        print_table(rows, columns)
        return
    from scoter.batch.crawldir.export import csv_row, json_line

    as_csv = partial(csv_row, exact=exact)
    out = sys.stdout.buffer
    sys.stdout.flush()
    if form == "csv":
        out.write(as_csv(dict(zip(columns, columns, strict=True))))
    encode = as_csv if form == "csv" else json_line
    for row in rows:
        out.write(encode({name: row[name] for name in columns}))
    out.flush()


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values, one per line."""
    from scoter.batch.crawldir.export import text_value

    widest = max(map(len, facts), default=0)
    for name, value in facts.items():
        sys.stdout.write(f"{name:<{widest}}  {visible(text_value(value))}".rstrip() + "\n")


def exact_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--exact``, which ``invocation().exact`` has."""

    def remember(context: click.Context, parameter: click.Parameter, value: bool) -> None:
        context.ensure_object(Invocation).exact = value

    text = "Write CSV values as they are, even those that a spreadsheet would take for formulas."
    return click.option("--exact", is_flag=True, expose_value=False, callback=remember, help=text)(command)


def dump_format(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of dumps."""
    add = click.option(
        "--format",
        "form",
        type=click.Choice(["csv", "json", "parquet", "plain"]),
        help="Format of the dump (default: json with --json, otherwise plain).",
    )
    return add(exact_option(command))


def write_dump(schema: Any, batches: Iterable[Any], out: str, form: str | None) -> int:
    """Write a table to a file, or to standard output for a dash, and return the number of rows."""
    from scoter.batch.crawldir.export import write_rows

    form = form or ("json" if invocation().json else "plain")
    with open_output(out, binary=form == "parquet") as file:
        return write_rows(batches, schema, file, form, exact=invocation().exact)


@contextmanager
def open_output(name: str, *, binary: bool = False) -> Iterator[BinaryIO]:
    """Open a file that appears when it is complete, or standard output for a dash."""
    if name != "-":
        from scoter.batch.crawldir.export import replace_file

        with replace_file(Path(name)) as file:
            yield file
        return
    if binary and sys.stdout.isatty():
        raise UsageError("this format cannot be shown on a terminal", hint="Write to a file, or pipe the output.")
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def print_table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, indent: str = "") -> None:
    """Print rows under their column names; on a terminal, long cells are truncated to fit its width."""
    from scoter.batch.crawldir.export import text_value

    texts = ([visible(text_value(row[name])) for name in columns] for row in rows)
    first = list(islice(texts, _MEASURED_ROWS))
    widest = [max(map(width, cells)) for cells in zip(columns, *first, strict=True)]
    limit = _terminal_width(len(columns)) - len(indent) if sys.stdout.isatty() else None
    widths = [min(_WIDEST_CELL, each) for each in widest] if limit is None else narrowed(widest, limit)
    sys.stdout.write(indent + _line(columns, widths, limit))
    sys.stdout.write(indent + _GAP.join("─" * size for size in widths) + "\n")
    for cells in chain(first, texts):
        if limit is not None and any(width(cell) > size for cell, size in zip(cells, widest, strict=True)):
            widest = [max(width(cell), size) for cell, size in zip(cells, widest, strict=True)]
            widths = narrowed(widest, limit)
        sys.stdout.write(indent + _line(cells, widths, limit))


def _terminal_width(columns: int) -> int:
    """Return the terminal's width without the gaps between columns."""
    return shutil.get_terminal_size().columns - len(_GAP) * (columns - 1)


def narrowed(widths: Sequence[int], limit: int) -> list[int]:
    """Return column widths that fit a total width, taking from the widest, but none below a readable minimum.

    >>> narrowed([3, 30, 50], 63), narrowed([3, 30, 50], 43), narrowed([9, 9], 10)
    ([3, 30, 30], [3, 20, 20], [8, 8])
    """
    found = list(widths)
    while sum(found) > limit and max(found) > _NARROWEST_CELL:
        widest = max(found)
        next_widest = max((each for each in found if each < widest), default=0)
        share = -(-(sum(found) - limit) // found.count(widest))  # what each of the widest has to give up
        size = max(widest - share, next_widest, _NARROWEST_CELL)
        found = [min(each, size) for each in found]
    return found


def _line(cells: Sequence[str], widths: Sequence[int], limit: int | None) -> str:
    if limit is not None:
        cells = [cut(cell, size) for cell, size in zip(cells, widths, strict=True)]
    padded = (cell + " " * (size - width(cell)) for cell, size in zip(cells, widths, strict=True))
    return _GAP.join(padded).rstrip() + "\n"
