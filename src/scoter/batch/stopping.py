"""How a running job is asked to end: Ctrl-C, a signal, or a file that somebody puts into the crawl directory."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType


class Stopping:
    """Whether the end is wanted.

    The first Ctrl-C asks for a clean end; the second one interrupts as it always does.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self.by = ""

    def __bool__(self) -> bool:
        if not self.by and self._file is not None and self._file.exists():
            self.by = f"the file {self._file.name}"
        return bool(self.by)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM as the wish to end, for a while."""
        before = {number: signal.signal(number, self._hear) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.by:
            raise KeyboardInterrupt
        self.by = "Ctrl-C" if number == signal.SIGINT else "a signal"
