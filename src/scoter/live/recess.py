"""When nothing can be kept: nothing is taken up, but for one entry now and then, to see whether it can be again.

Otherwise every page would be asked for again and again, on behalf of a disk that has no room for it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from scoter.errors import ContentUnavailable, Unavailable

FIRST: Final = 1.0
LONGEST: Final = 15.0
_SOON: Final = 60.0  # seconds after the end of a recess in which the next one begins where that one left off

_log = logging.getLogger(__name__)


class Recess:
    """How much may be taken up, by what became of the last that was."""

    def __init__(
        self, *, first: float = FIRST, longest: float = LONGEST, timer: Callable[[], float] = time.monotonic
    ) -> None:
        """A trial is made after ``first`` seconds; each that fails doubles them, up to ``longest``."""
        self._first = first
        self._longest = longest
        self._timer = timer
        self._trouble: Unavailable | None = None
        self._is_tried = False
        self._pause = 0.0
        self._until = 0.0
        self._ended = float("-inf")

    @property
    def trouble(self) -> str:
        """Why nothing can be kept, or nothing."""
        return "" if self._trouble is None else self._trouble.message

    def begin(self, error: Unavailable) -> None:
        """Take up nothing for a while. Those who were under way and fail like the first do not prolong it."""
        if self._trouble is not None and not self._is_tried:
            return
        now = self._timer()
        goes_on = self._trouble is not None or now - self._ended < _SOON
        self._pause = min(self._longest, self._pause * 2) if goes_on and self._pause else self._first
        self._until = now + self._pause
        self._trouble, self._is_tried = error, False
        _log.warning("nothing can be kept, and nothing is taken up for %.0f s: %s", self._pause, error)

    def admits(self, most: int) -> int:
        """Return how many of so many may be taken up now: all, none, or one for a trial."""
        if self._trouble is None:
            return most
        now = self._timer()
        if now < self._until:
            return 0
        self._until = now + self._pause
        self._is_tried = True
        return min(most, 1)

    def opened(self, count: int) -> None:
        """Note that the journal could be read: that is all that was missing, or nothing waits for the archive."""
        if self._trouble is not None and not (count and isinstance(self._trouble, ContentUnavailable)):
            self._end()

    def kept(self, *, archived: bool) -> None:
        """Note that an outcome was kept, and whether answers were archived with it."""
        if self._trouble is None or not self._is_tried:
            return
        if archived or not isinstance(self._trouble, ContentUnavailable):
            self._end()
        else:  # it needed no room in the archive, and told nothing of it: the next trial need not wait
            self._until = self._timer()

    def _end(self) -> None:
        self._trouble = None
        self._ended = self._timer()
        _log.warning("what comes can be kept again")
