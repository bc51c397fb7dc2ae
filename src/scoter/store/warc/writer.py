"""Writes a sequence of WARC files: a new one is started when the last is large or old enough."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from scoter.core.reply import Exchange
from scoter.errors import NameTaken, UsageError
from scoter.store.disk import Closing
from scoter.store.warc.capture import ArchiveInfo, EarlierCapture, Facts, Location
from scoter.store.warc.part import WarcPart


def utc_now() -> datetime:
    """Return the current time."""
    return datetime.now(UTC)


class WarcWriter(Closing):
    """Archives exchanges in a folder, in files named by prefix, time and number.

    A file is opened with its first exchange, so there are no empty files. The age is checked on each write and by
    ``finish_if_due``, which the owner of an idle writer must call from time to time.
    """

    def __init__(
        self,
        folder: Path,
        prefix: str,
        about: ArchiveInfo,
        *,
        size: int,
        age: timedelta,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        if not prefix or "/" in prefix or prefix.startswith("."):
            raise UsageError(f"{prefix!r} is not a valid file name prefix", hint="Use letters, digits and hyphens.")
        self._folder = folder
        self._prefix = prefix
        self._about = about
        self._size = size
        self._age = age
        self._now = now
        self._serial = 0
        self._part: WarcPart | None = None

    def __repr__(self) -> str:
        return f"WarcWriter({self._folder / self._prefix}, {self._serial} files, now {self._part})"

    def write(self, exchange: Exchange, facts: Facts = (), earlier: EarlierCapture | None = None) -> Location:
        """Archive an exchange and return the position of its response; see ``WarcPart.append``."""
        self.finish_if_due()
        if self._part is None:
            self._part = self._begin()
        return self._part.append(exchange, facts, earlier)

    def sync(self) -> None:
        """Sync everything written so far to disk."""
        if self._part is not None:
            self._part.sync()

    def finish_if_due(self) -> Path | None:
        """Finish the open file if it is large or old enough, and return its path."""
        part = self._part
        if part is None or (part.size < self._size and self._now() - part.opened < self._age):
            return None
        return self.finish()

    def finish(self) -> Path | None:
        """Finish the open file, if any, and return its path."""
        if self._part is None:
            return None
        path = self._part.finish()
        self._part = None
        return path

    def close(self) -> None:
        """Finish the open file."""
        self.finish()

    def _begin(self) -> WarcPart:
        opened = self._now()
        while True:
            self._serial += 1
            with suppress(NameTaken):  # used by an earlier run, or by another process
                name = f"{self._prefix}-{opened:%Y%m%d%H%M%S}-{self._serial:05d}"
                return WarcPart(self._folder, name, self._about, opened=opened)
