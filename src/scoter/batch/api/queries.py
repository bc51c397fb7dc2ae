"""Runs queries in processes of their own, a few at a time; viewers share recent reports."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Hashable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

import msgspec
import pyarrow as pa
from msgspec import Struct

from scoter.batch.api.query_process import DONE, FAILED, TRUNCATED, QueryFailure, QueryTask
from scoter.core.bounded import BoundedMap
from scoter.errors import UsageError, UserError
from scoter.http.shares import FairSlots, Shares
from scoter.store.disk import sweep

_GRACE: Final = 60.0  # seconds for starting a process, which then measures its own time
LARGEST_RESULT: Final = 32 * 2**20
REPORT_AGE: Final = 60.0  # seconds
_REPORTS: Final = 200


class QueryTimeout(UserError):
    """A query exceeded its time limit."""


class QueryRefused(UsageError):
    """A query that is wrong, not allowed, or needs too much."""


class QueriesBusy(UserError):
    """Too many queries are running."""


class QueryLimits(Struct, frozen=True, kw_only=True):
    """How much memory and disk a query may use, and how many may run or wait.

    All running queries together use at most ``running`` times that much of the disk, and never more than half of what
    is free.
    """

    memory: int = 512 * 2**20
    spill: int = 2**30
    running: int = 2
    waiting: int = 20


class Queries:
    """Runs read-only queries over crawls."""

    def __init__(
        self,
        folder: Path,
        limits: QueryLimits = QueryLimits(),  # noqa: B008  frozen
        clock: Callable[[], float] = time.monotonic,
        share: float = 1.0,
    ) -> None:
        """``folder`` is for the temporary files of queries; what a killed server left there is removed.

        ``share`` is the part of the queries, running or waiting, that one caller may have.
        """
        self._folder = folder
        self._limits = limits
        self._clock = clock
        self._slots = FairSlots(limits.running)
        self._shares = Shares("queries", limits.running + limits.waiting, share)
        self._count = 0
        self._processes = QueryProcesses(folder)
        sweep(folder)
        self._reports: BoundedMap[Hashable, tuple[float, Any, bool]] = BoundedMap(_REPORTS, max_weight=LARGEST_RESULT)
        self._reporting: dict[Hashable, asyncio.Lock] = {}

    def prepare(self) -> None:
        """Start loading the libraries that queries need."""
        self._processes.start()

    def close(self) -> None:
        """End all queries."""
        self._processes.close()

    async def run(
        self,
        crawl: Path,
        query: str,
        *,
        most: int,
        seconds: float = 10.0,
        texts: dict[str, str | int] | None = None,
        times: dict[str, datetime] | None = None,
        largest: int = LARGEST_RESULT,
        caller: str = "",
    ) -> tuple[Any, bool]:
        """Return the rows of a query as an Arrow table, and whether there are more. Callers take turns."""
        task = QueryTask(
            crawl=str(crawl),
            query=query,
            texts=texts or {},
            times=times or {},
            most=most,
            memory=self._limits.memory,
            spill=self._spill_limit(),
            seconds=seconds,
            largest=largest,
        )
        if self._count >= self._limits.running + self._limits.waiting:
            raise QueriesBusy("too many queries are running")
        with self._shares.use(caller):
            self._count += 1
            try:
                async with self._slots.slot(caller):
                    return await self._processes.answer(task)
            finally:
                self._count -= 1

    def _spill_limit(self) -> int:
        """Return how much of the disk one query may use now."""
        free = shutil.disk_usage(self._folder if self._folder.exists() else self._folder.parent).free
        return max(min(self._limits.spill, free // 2 // self._limits.running), 2**20)

    async def report(
        self,
        crawl: Path,
        query: str,
        *,
        most: int,
        texts: dict[str, str | int],
        times: dict[str, datetime],
        caller: str = "",
    ) -> tuple[Any, bool]:
        """Answer a report as ``run`` does; the answer is at most a minute old, and all viewers share it."""
        # The end of a period is the present, so seconds must not make each request another question.
        days = tuple((name, at.replace(second=0, microsecond=0)) for name, at in sorted(times.items()))
        key = (crawl, query, most, tuple(sorted(texts.items())), days)
        lock = self._reporting.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                known = self._reports.get(key)
                if known is not None and self._clock() - known[0] < REPORT_AGE:
                    return known[1], known[2]
                table, is_truncated = await self.run(
                    crawl, query, most=most, seconds=60.0, texts=texts, times=times, caller=caller
                )
                self._reports.put(key, (self._clock(), table, is_truncated), weight=table.nbytes)
                return table, is_truncated
        finally:
            if not lock.locked():
                self._reporting.pop(key, None)


class QueryProcesses:
    """Starts the process that forks for each query, when there is a query and none is running."""

    def __init__(self, spill: Path) -> None:
        self._spill = spill
        self._folder = ""
        self._end: Callable[[], object] = lambda: None

    async def answer(self, task: QueryTask) -> tuple[Any, bool]:
        """Return the rows of a query, and whether there are more."""
        try:
            async with asyncio.timeout(task.seconds + _GRACE):
                out = await self._ask(msgspec.json.encode(task))
        except TimeoutError:
            raise QueryTimeout("the query took too long", where="SQL") from None
        if out.startswith(DONE):
            with suppress(pa.ArrowException):
                table = pa.ipc.open_stream(out[1:]).read_all()
                return table.replace_schema_metadata(None), (table.schema.metadata or {}).get(TRUNCATED) == b"1"
        if out.startswith(FAILED):
            failure = msgspec.json.decode(out[1:], type=QueryFailure)
            kind = QueryTimeout if failure.is_timeout else QueryRefused if failure.where == "SQL" else UsageError
            raise kind(failure.message, where=failure.where, hint=failure.hint)
        raise QueryRefused("the query used too much memory", where="SQL", hint="Select less.")

    async def _ask(self, request: bytes) -> bytes:
        try:
            reader, writer = await asyncio.open_unix_connection(f"{self._folder}/queries")
        except OSError:
            self.start()
            reader, writer = await asyncio.open_unix_connection(f"{self._folder}/queries")
        try:
            writer.write(len(request).to_bytes(8, "big") + request)
            return await reader.read()
        finally:
            writer.close()

    def start(self) -> None:
        """Start the process; one that is running ends."""
        self.close()
        self._folder = mkdtemp(prefix="scoter-")  # only this user can open it
        owner, ours = os.pipe()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{self._folder}/queries")
            listener.listen(100)
            process = subprocess.Popen(  # noqa: S603 - no part of it comes from outside
                [sys.executable, "-m", "scoter.batch.api.query_process", str(listener.fileno()), str(self._spill)],
                stdin=owner,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[listener.fileno()],
                start_new_session=True,
            )
        os.close(owner)
        process.returncode = 0  # it ends when our end of the pipe is closed
        self._end = weakref.finalize(self, _end, process.pid, ours, self._folder)

    def close(self) -> None:
        """End the process and all queries."""
        self._end()


def _end(process: int, pipe: int, folder: str) -> None:
    os.close(pipe)
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        os.kill(process, signal.SIGTERM)
        os.waitpid(process, 0)
