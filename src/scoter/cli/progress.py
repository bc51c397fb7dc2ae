"""How a running command tells how far it is: one line on stderr that is written over, or now and then a new one."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable

from scoter.cli.output import cut, to_stderr, understands_escapes

_SELDOM = 10.0  # seconds between lines when nobody is watching: a log should not fill with them


class StatusLine:
    """One line that changes, on a terminal; elsewhere a line every ten seconds; nothing when asked to be quiet."""

    def __init__(self, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet = quiet
        self._is_terminal = understands_escapes(sys.stderr)
        self._clock = clock
        self._shown = ""
        self._next = clock() + _SELDOM

    def show(self, text: str) -> None:
        """Tell where things stand."""
        if self._quiet:
            return
        if self._is_terminal:
            room = shutil.get_terminal_size().columns - 1
            shown = cut(text, room)
            if shown != self._shown:
                to_stderr("\r\x1b[K" + shown)
                self._shown = shown
        elif self._clock() >= self._next:
            to_stderr(text + "\n")
            self._next = self._clock() + _SELDOM

    def note(self, text: str) -> None:
        """Tell something that stays."""
        if self._quiet:
            return
        self.clear()
        to_stderr(text + "\n")

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            to_stderr("\r\x1b[K")
            self._shown = ""


def percent(what: str, share: float) -> str:
    """Return how far a step is.

    >>> percent("updatedb", 0.5)
    'updatedb ██████████░░░░░░░░░░ 50 %'
    """
    full = round(share * 20)
    return f"{what} {'█' * full}{'░' * (20 - full)} {share * 100:.0f} %"
