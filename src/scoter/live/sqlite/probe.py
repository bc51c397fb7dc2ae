"""Checks, while the service runs, that the database can be written and read, and that its structure is sound."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from contextlib import closing
from itertools import count
from typing import Final

from scoter.errors import ScoterError, StoreUnavailable, UserError
from scoter.live.clock import steady_now
from scoter.live.sqlite.database import BUSY, ServiceDb
from scoter.live.sqlite.health import store_error

_EVERY: Final = 5.0
_WITHIN: Final = 15.0  # seconds for one write: three times as long as it waits for another process
_STRUCTURE_EVERY: Final = 24 * 3600.0
_WRITE: Final = "INSERT OR REPLACE INTO facts VALUES ('probe', ?)"
_READ: Final = "SELECT value FROM facts WHERE name = 'probe'"
_log = logging.getLogger(__name__)


class DatabaseProbe:
    """Writes and reads a row every few seconds; reads the structure of the whole file at the start and once a day.

    The results are in ``ServiceDb.health``.
    """

    def __init__(self, db: ServiceDb, *, every: float = _EVERY, within: float = _WITHIN) -> None:
        self._db = db
        self._every = every
        self._within = within
        self._numbers = count(1)
        self._file = self._identity()

    async def run(self) -> None:
        """Check until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._check_often())
            group.create_task(self._check_structure_daily())

    async def check(self) -> None:
        """Write and read a row; note the result."""
        health = self._db.health
        try:
            self._require_same_file()
            mark = f"{steady_now()} {next(self._numbers)}"
            async with asyncio.timeout(self._within):
                await self._db.write(lambda connection: connection.execute(_WRITE, (mark,)).rowcount)
            found = self._db.reader.one(_READ)
            if found is None or found[0] != mark:
                raise StoreUnavailable("the database does not return what was written")
        except TimeoutError:
            health.checked(f"a write to the database has taken longer than {self._within:.0f} s")
        except ScoterError as error:
            health.checked(error.message if isinstance(error, UserError) else str(error))
        else:
            health.checked("")

    async def check_structure(self) -> None:
        """Read the structure of the whole file; note damage. It takes some seconds per gigabyte."""
        connection = sqlite3.connect(
            f"{self._db.path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY, check_same_thread=False
        )

        def read() -> str:
            with closing(connection):
                (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                return "" if found == "ok" else str(found)

        try:
            if found := await asyncio.to_thread(read):
                self._db.health.note_damage(f"is damaged: {found}")
        except asyncio.CancelledError:
            connection.interrupt()
            raise
        except sqlite3.Error as error:
            self._db.health.note(store_error(error, self._db.path))

    async def _check_often(self) -> None:
        while True:
            await self.check()
            await asyncio.sleep(self._every)

    async def _check_structure_daily(self) -> None:
        while True:
            await self.check_structure()
            await asyncio.sleep(_STRUCTURE_EVERY)

    def _require_same_file(self) -> None:
        """Note damage if the file was removed or replaced: what is written would be lost with the process."""
        if self._identity() != self._file:
            self._db.health.note_damage("was moved, removed or replaced while the service was running")
        self._db.health.require_sound()

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = self._db.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino
