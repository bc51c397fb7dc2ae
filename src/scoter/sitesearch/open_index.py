"""The index of a crawl, opened again when `scoter index` has renewed it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Final

from scoter.errors import ScoterError
from scoter.index.search import Searcher
from scoter.index.text_index import STATE

_log = logging.getLogger(__name__)
_CHECKED_EVERY: Final = 1.0  # seconds


class OpenIndex:
    """A searcher over the newest state of an index. If a new state cannot be opened, the last one stays in use.

    Threads may share it.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Raises if there is no index."""
        self._folder = folder
        self._clock = clock
        self._lock = Lock()
        self._stamp = self._current_stamp()
        self._checked = clock()
        self._searcher = Searcher(folder)

    @property
    def version(self) -> str:
        """What changes when the index does."""
        return "-".join(f"{number:x}" for number in self._stamp)

    @property
    def pages(self) -> int:
        """The number of its pages."""
        return self._searcher.pages

    def searcher(self) -> Searcher:
        """Return a searcher over the newest index."""
        with self._lock:
            if self._clock() - self._checked >= _CHECKED_EVERY:
                self._checked = self._clock()
                self._renew()
            return self._searcher

    def _renew(self) -> None:
        stamp = self._current_stamp()
        if stamp in (self._stamp, ()):
            return
        try:
            self._searcher = Searcher(self._folder)
            self._stamp = stamp
            _log.info("opened the renewed index")
        except ScoterError as error:
            _log.warning("the renewed index cannot be opened, so the last one stays in use: %s", error)

    def _current_stamp(self) -> tuple[int, ...]:
        try:
            found = (self._folder / STATE).stat()
        except OSError:
            return ()
        return found.st_ino, found.st_size, found.st_mtime_ns
