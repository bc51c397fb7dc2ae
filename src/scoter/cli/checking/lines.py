"""Lines for a terminal: what a page says is shown, and can do nothing to the screen."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator

import click
from msgspec import Struct

from scoter.cli.output import has_colours, paint, visible, width

LABEL = 14
"""Columns for what a line is about."""
_ELSEWHERE = 100  # columns where there is no terminal to ask
_WIDEST = 120

# Not printable by Unicode's word, and harmless: without the joiners words of Persian, Hindi and emoji fall apart.
_HARMLESS = frozenset("\t\xa0\xad\u200c\u200d\u202f\u3000\u2002\u2003\u2009")


class Line(Struct, frozen=True):
    """A line, or a title over some."""

    text: str
    is_title: bool = False


def readable(text: str) -> str:
    """Return a line of text in which nothing can move the cursor, hide, or turn what follows around.

    >>> readable("a\\x1b[2Jb\\u202ec"), readable("a\\tb")
    ('a\\\\x1b[2Jb\\\\u202ec', 'a\\tb')
    """
    if text.isprintable():
        return text
    return "".join(each if each in _HARMLESS else visible(each) for each in text)


def show(lines: Iterable[Line]) -> None:
    """Print lines; titles stand out on a terminal."""
    for line in lines:
        text = readable(line.text)
        # Without being told, click takes escapes out of what goes into a pipe.
        click.echo(paint(text, bold=True) if line.is_title else text, color=has_colours(sys.stdout))


def dump(text: str) -> None:
    """Print a text whole, line by line."""
    for line in text.splitlines():
        click.echo(readable(line))


def columns() -> int:
    """Return how wide the screen is."""
    return min(shutil.get_terminal_size().columns, _WIDEST) if sys.stdout.isatty() else _ELSEWHERE


def fact(label: str, value: str, after: str = "") -> Iterator[Line]:
    """Yield what there is to say of something, on as many lines as it takes; nothing where there is nothing."""
    if not value:
        return
    said = f"{value}  ({after})" if after else value
    for number, piece in enumerate(wrapped(said, columns() - LABEL - 2)):
        yield Line(f"  {'' if number else label:<{LABEL}}{piece}")


def title(text: str) -> Iterator[Line]:
    """Yield a title and the empty line before it."""
    yield Line("")
    yield Line(text, is_title=True)


def excerpt(text: str, most: int) -> tuple[list[str], bool]:
    """Return the first lines of a text as they fit the screen, and whether that is all of it."""
    found: list[str] = []
    for line in text.splitlines():
        found += wrapped(line, columns() - 2) if line.strip() else [""]
        if len(found) > most:
            return found[:most], False
    return found, True


def wrapped(text: str, room: int) -> list[str]:
    """Return a text in pieces that fit; what has no spaces, such as a URL, is left whole."""
    if width(text) <= room:
        return [text]
    # A text of wide characters takes two columns for each, and is parted anywhere.
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
    """Return the beginning of a text that fits.

    >>> clipped("grey seals", 6)
    'grey …'
    """
    return text if len(text) <= room else text[: room - 1] + "…"
