"""How rows are printed: a table for people, one JSON object a line for programs."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TextIO

import click
import msgspec

_GAP = "  "


def print_json(row: Any) -> None:
    """Print one object as a line of JSON, which is UTF-8 wherever it is printed."""
    try:
        line = msgspec.json.encode(row) + b"\n"
    except UnicodeEncodeError:  # the name of a file that is not UTF-8
        line = msgspec.json.encode(_whole(msgspec.to_builtins(row))) + b"\n"
    if (sys.stdout.encoding or "utf-8").lower() in {"utf-8", "utf8"}:
        sys.stdout.write(line.decode())
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(line)


def _whole(value: Any) -> Any:
    """Return plain data with U+FFFD for half characters, which no encoding holds."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {_whole(name): _whole(each) for name, each in value.items()}
    return [_whole(each) for each in value] if isinstance(value, list) else value


def print_table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Print rows under their column names; on a terminal the last column is cut to fit."""
    lines = [tuple(columns), *(tuple(visible(str(row[column])) for column in columns) for row in rows)]
    widths = [max(map(width, cells)) for cells in zip(*lines, strict=True)]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for number, line in enumerate(lines):
        text = _GAP.join(cell + " " * (size - width(cell)) for cell, size in zip(line, widths, strict=True)).rstrip()
        if room is not None:
            text = cut(text, room)
        sys.stdout.write(text + "\n")
        if number == 0:
            sys.stdout.write(_GAP.join("─" * size for size in widths)[:room] + "\n")


def visible(text: str) -> str:
    """Return text in which nothing can move a terminal's cursor or hide: control characters are escaped.

    >>> visible("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape", errors="backslashreplace").decode()
        for each in text
    )


def width(text: str) -> int:
    """Return how many columns a text takes on a terminal."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def cut(text: str, room: int) -> str:
    """Return as much of a text as fits into so many columns.

    >>> cut("abc", 3), cut("日本語", 5)
    ('abc', '日本…')
    """
    if width(text) <= room:
        return text
    used = 0
    for number, sign in enumerate(text):
        used += width(sign)
        if used > room - 1:
            return text[:number] + "…"
    return text


def understands_escapes(stream: TextIO) -> bool:
    """Tell whether a stream is a terminal on which lines can be written over."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def has_colours(stream: TextIO) -> bool:
    """Tell whether colours are for whoever reads a stream: not under NO_COLOR, under FORCE_COLOR also in a pipe."""
    if os.environ.get("NO_COLOR"):
        return False
    return os.environ.get("FORCE_COLOR", "0") not in {"", "0"} or understands_escapes(stream)


def paint(text: str, colour: str | None = None, *, bold: bool = False) -> str:
    """Return text in a colour, where somebody sees it on standard output and has not asked for none."""
    return click.style(text, fg=colour, bold=bold or None) if has_colours(sys.stdout) else text


def note(text: str) -> None:
    """Tell a person something that is not the result."""
    to_stderr(text + "\n")


def to_stderr(text: str) -> None:
    """Write to standard error, where anybody listens: a log whose disk is full, or a reader that left, ends no work."""
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def warn_of(chain: Iterable[tuple[str, Any]], quiet: bool) -> None:
    """Tell what the plug-ins of a chain warn of: rules that may be slow."""
    for name, plugin in () if quiet else chain:
        for text in getattr(plugin, "warnings", ()):
            note(f"{name}: {text}")
