"""Exports every outcome to a Parquet log for analysis: one row per outcome, one file per hour.

The log is made from the events, which are stored together with the outcomes. So every outcome gets into the log exactly
once, however often the service is killed; ``log_files`` explains how.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any, Final

from scoter.errors import ScoterError
from scoter.heap import give_back
from scoter.live.content.log_files import (
    HOUR,
    LogFile,
    LogState,
    hour_of,
    merge,
    older,
    pieces,
    read_state,
    remove,
    tidy,
    write_part,
    write_state,
)
from scoter.live.content.log_rows import OutcomeTimings, row_of, table_of
from scoter.live.ports import Events
from scoter.live.records import Event
from scoter.live.tenants import scoped_id
from scoter.store.warc.writer import utc_now

EVERY: Final = timedelta(seconds=20)
_SLICE: Final = 100  # events per read, which takes some milliseconds of the event loop
_ROWS: Final = 5_000  # rows of a part
_LATE: Final = timedelta(minutes=1)  # how long an hour stays open after its end
_READING: Final = timedelta(minutes=10)  # how long parts stay after a merge, for processes that are reading them

_log = logging.getLogger(__name__)


class FetchLog:
    """Writes events to the log, in order."""

    def __init__(
        self,
        folder: Path,
        events: Events,
        timings: OutcomeTimings | None = None,
        *,
        clock: Callable[[], datetime] = utc_now,
        rows: int = _ROWS,
    ) -> None:
        self.folder = folder
        self._events = events
        self._timings = timings if timings is not None else OutcomeTimings()
        self._clock = clock
        self._rows = rows
        self._lock = asyncio.Lock()
        self._merged: list[tuple[datetime, list[LogFile]]] = []
        tidy(folder)
        self._state = read_state(folder)
        if events.last() < self._state.number:
            # Another database, or an old backup of this one: its events have been logged, or belong to another log.
            self._state = LogState(self._state.generation + 1, events.last())
            write_state(folder, self._state)
        self._seen = self._state.number

    def __repr__(self) -> str:
        return f"FetchLog({self.folder}, up to {self.number} of {self._events.last()})"

    @property
    def number(self) -> int:
        """The number of the last event in the log."""
        return self._state.number

    async def run(self, every: timedelta = EVERY) -> None:
        """Export and merge periodically until cancelled; ``flush`` exports the remaining events."""
        while True:
            await asyncio.sleep(every.total_seconds())
            try:
                await self.export()
                await self.merge()
            except ScoterError as error:  # for example a full disk; nothing is lost, and the next round retries
                _log.warning("cannot write the log: %s", error)

    async def export(self) -> int:
        """Write the events that existed at the last call, whose timings are known by now; return how many."""
        upto, self._seen = self._seen, self._events.last()
        return await self._export(upto)

    async def flush(self) -> int:
        """Write all events; return how many."""
        return await self._export(self._events.last())

    async def merge(self) -> int:
        """Merge the parts of each hour that is over; return the number of hours."""
        async with self._lock:
            await self._remove_merged()
            parts = [piece for piece in await asyncio.to_thread(pieces, self.folder) if piece.is_part]
            over, made = self._clock() - HOUR - _LATE, 0
            pending = {hour_of(event.at) for event in await self._events.since(self.number, 1)}
            problem: ScoterError | None = None
            for (hour, _), found in groupby(parts, key=lambda piece: (piece.hour, piece.generation)):
                if hour > over or hour in pending:
                    continue
                together = list(found)
                try:
                    await asyncio.to_thread(merge, self.folder, together)
                except ScoterError as error:  # a damaged part must not block later hours
                    problem = error
                    continue
                self._merged.append((self._clock() + _READING, together))
                made += 1
            if made:
                await asyncio.to_thread(give_back)
            if problem is not None:
                raise problem
            return made

    async def expire(self, before: datetime) -> int:
        """Remove the hours that ended before a time; return the number of files."""
        async with self._lock:
            gone = await asyncio.to_thread(older, self.folder, before)
            if gone:
                # Write the state first: without it and the files, events would be exported again. If the disk is
                # full and it cannot be written, keep the newest file, whose name holds the state.
                try:
                    await asyncio.to_thread(write_state, self.folder, self._state)
                except ScoterError:
                    newest = (self._state.generation, self._state.number)
                    gone = [piece for piece in gone if (piece.generation, piece.last) != newest]
                await asyncio.to_thread(remove, self.folder, gone)
            return len(gone)

    async def _remove_merged(self) -> None:
        now = self._clock()
        # The upper bound matters after the clock was set back.
        for due, parts in [each for each in self._merged if not now < each[0] <= now + _READING]:
            await asyncio.to_thread(remove, self.folder, parts)
            self._merged.remove((due, parts))

    async def _export(self, upto: int) -> int:
        async with self._lock:
            done = 0
            while self.number < upto:
                found = await self._gather(upto)
                if found is None:
                    break
                piece, tables, outcomes = found
                await asyncio.to_thread(write_part, self.folder, piece, tables)
                self._state = LogState(piece.generation, piece.last)
                self._timings.forget(outcomes)
                done += len(outcomes)
            return done

    async def _gather(self, upto: int) -> tuple[LogFile, list[Any], list[tuple[str, str]]] | None:
        """Return the next part: events of one hour, as Arrow columns, and their (message, URL).

        As columns they take a tenth of the memory.
        """
        following = await self._events.since(self.number, 1)
        if not following or following[0].number > upto:
            return None
        hour, first = hour_of(following[0].at), following[0].number
        last = first - 1
        tables: list[Any] = []
        outcomes: list[tuple[str, str]] = []
        while len(outcomes) < self._rows:
            following = await self._events.since(last, min(_SLICE, self._rows - len(outcomes)))
            fitting = list(takewhile(lambda event: event.number <= upto and hour_of(event.at) == hour, following))
            if fitting:
                last = fitting[-1].number
                tables.append(await asyncio.to_thread(self._table, fitting))
                outcomes += [(scoped_id(event.tenant, event.message), event.url) for event in fitting]
            if not fitting or len(fitting) < len(following):
                break
        return LogFile(hour, self._state.generation, first, last, is_part=True), tables, outcomes

    def _table(self, events: Sequence[Event]) -> Any:
        rows = []
        for event in events:
            timing = self._timings.get(scoped_id(event.tenant, event.message), event.url)
            rows.append(row_of(event, timing))
        return table_of(rows)
