"""Text for terminals and pipes: messages on stderr, JSON lines, colours, widths and a status line."""

from __future__ import annotations

import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TextIO

import click
import msgspec

_LOG_INTERVAL = 10.0  # seconds between status lines where stderr is not a terminal


def print_json(row: Any) -> None:
    """Print one object as a line of JSON, in UTF-8 whatever the locale."""
    try:
        line = msgspec.json.encode(row) + b"\n"
    except UnicodeEncodeError:  # a file name that is not UTF-8
        line = msgspec.json.encode(_without_surrogates(msgspec.to_builtins(row))) + b"\n"
    if (sys.stdout.encoding or "utf-8").lower() in {"utf-8", "utf8"}:
        sys.stdout.write(line.decode())
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(line)


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {_without_surrogates(name): _without_surrogates(each) for name, each in value.items()}
    return [_without_surrogates(each) for each in value] if isinstance(value, list) else value


def note(text: str) -> None:
    """Print a message for a person to stderr."""
    to_stderr(text + "\n")


def server_note(text: str, log_format: str) -> None:
    """Print a message of a server to stderr, as a line of its log if that has JSON lines."""
    if log_format == "json":
        import logging  # servers have imported it

        logging.getLogger("scoter").info("%s", text)
    else:
        note(text)


def to_stderr(text: str) -> None:
    """Write to stderr and ignore failures: a closed or full stderr must not end a command."""
    # RuntimeError: called by a signal handler that has interrupted another write.
    with suppress(OSError, RuntimeError):
        sys.stderr.write(text)
        sys.stderr.flush()


def print_warnings(chain: Iterable[tuple[str, Any]], quiet: bool) -> None:
    """Print the warnings of a chain's plug-ins, for example about rules that may be slow."""
    for name, plugin in () if quiet else chain:
        for text in getattr(plugin, "warnings", ()):
            note(f"{name}: {text}")


def visible(text: str) -> str:
    """Escape control characters, so that text from the web cannot control a terminal.

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


def cut(text: str, columns: int) -> str:
    """Truncate a text to a number of columns.

    >>> cut("abc", 3), cut("日本語", 5)
    ('abc', '日本…')
    """
    if width(text) <= columns:
        return text
    used = 0
    for number, sign in enumerate(text):
        used += width(sign)
        if used > columns - 1:
            return text[:number] + "…"
    return text


def understands_escapes(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that understands escape sequences."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def has_colours(stream: TextIO) -> bool:
    """Return whether to colour a stream; NO_COLOR turns colours off, FORCE_COLOR turns them on in a pipe."""
    if os.environ.get("NO_COLOR"):
        return False
    return os.environ.get("FORCE_COLOR", "0") not in {"", "0"} or understands_escapes(stream)


def paint(text: str, colour: str | None = None, *, bold: bool = False) -> str:
    """Return text with a colour, if standard output shows colours."""
    return click.style(text, fg=colour, bold=bold or None) if has_colours(sys.stdout) else text


class StatusLine:
    """Progress on stderr: one line that is overwritten on a terminal, a line every ten seconds elsewhere."""

    def __init__(self, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet = quiet
        self._is_terminal = understands_escapes(sys.stderr)
        self._clock = clock
        self._shown = ""
        self._next = clock() + _LOG_INTERVAL

    def show(self, text: str) -> None:
        """Replace the status line."""
        if self._quiet:
            return
        if self._is_terminal:
            shown = cut(text, shutil.get_terminal_size().columns - 1)
            if shown != self._shown:
                to_stderr("\r\x1b[K" + shown)
                self._shown = shown
        elif self._clock() >= self._next:
            to_stderr(text + "\n")
            self._next = self._clock() + _LOG_INTERVAL

    def note(self, text: str) -> None:
        """Print a message that stays, above the status line."""
        if not self._quiet:
            self.clear()
            to_stderr(text + "\n")

    def acknowledge_stop(self) -> None:
        """Say at once that a request to stop was noticed."""
        self.note("Stopping; work in progress is finished and kept. Press Ctrl-C again to end at once.")

    def clear(self) -> None:
        """Remove the status line from a terminal."""
        if self._shown:
            to_stderr("\r\x1b[K")
            self._shown = ""


def progress_bar(label: str, share: float) -> str:
    """Return a progress bar.

    >>> progress_bar("updatedb", 0.5)
    'updatedb ██████████░░░░░░░░░░ 50 %'
    """
    full = round(share * 20)
    return f"{label} {'█' * full}{'░' * (20 - full)} {share * 100:.0f} %"
