"""Lines for a terminal, safe to print whatever a page contains."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator

import click
from msgspec import Struct

from scoter.cli.output import has_colours, paint, visible, width

LABEL_WIDTH = 14
_DEFAULT_WIDTH = 100  # columns where stdout is not a terminal
_GREATEST_WIDTH = 120

# Not printable according to Unicode, but harmless. Persian, Hindi and emoji need the joiners.
_HARMLESS = frozenset("\t\xa0\xad\u200c\u200d\u202f\u3000\u2002\u2003\u2009")


class TextLine(Struct, frozen=True):
    """A line of text, or a title."""

    text: str
    is_title: bool = False


def readable(text: str) -> str:
    """Escape characters that could move the cursor, hide text or reverse its direction.

    >>> readable("a\\x1b[2Jb\\u202ec"), readable("a\\tb")
    ('a\\\\x1b[2Jb\\\\u202ec', 'a\\tb')
    """
    if text.isprintable():
        return text
    return "".join(each if each in _HARMLESS else visible(each) for each in text)


def show(lines: Iterable[TextLine]) -> None:
    """Print lines, with titles in bold on a terminal."""
    for line in lines:
        text = readable(line.text)
        # By default click removes escape sequences from output to a pipe.
        click.echo(paint(text, bold=True) if line.is_title else text, color=has_colours(sys.stdout))


def dump(text: str) -> None:
    """Print a whole text."""
    for line in text.splitlines():
        click.echo(readable(line))


def columns() -> int:
    """Return the width of the output."""
    return min(shutil.get_terminal_size().columns, _GREATEST_WIDTH) if sys.stdout.isatty() else _DEFAULT_WIDTH


def fact(label: str, value: str, comment: str = "") -> Iterator[TextLine]:
    """Yield the lines of a labelled value and a comment in parentheses; nothing without a value."""
    if not value:
        return
    text = f"{value}  ({comment})" if comment else value
    for number, piece in enumerate(wrapped(text, columns() - LABEL_WIDTH - 2)):
        yield TextLine(f"  {'' if number else label:<{LABEL_WIDTH}}{piece}")


def title(text: str) -> Iterator[TextLine]:
    """Yield a title with an empty line before it."""
    yield TextLine("")
    yield TextLine(text, is_title=True)


def excerpt(text: str, most: int) -> tuple[list[str], bool]:
    """Return the first wrapped lines of a text, and whether that is all of it."""
    found: list[str] = []
    for line in text.splitlines():
        found += wrapped(line, columns() - 2) if line.strip() else [""]
        if len(found) > most:
            return found[:most], False
    return found, True


def wrapped(text: str, room: int) -> list[str]:
    """Wrap a text at spaces; a long URL is not broken."""
    if width(text) <= room:
        return [text]
    # East Asian characters take two columns each, and lines may break anywhere.
    is_wide = width(text) > 1.5 * len(text)
    indent = text[: len(text) - len(text.lstrip())]
    return textwrap.wrap(
        text,
        max(room // 2 if is_wide else room, 20),
        subsequent_indent=indent,
        break_long_words=is_wide,
        break_on_hyphens=False,
    )


def clipped(text: str, room: int) -> str:
    """Truncate a text to a number of characters.

    >>> clipped("grey seals", 6)
    'grey …'
    """
    return text if len(text) <= room else text[: room - 1] + "…"
