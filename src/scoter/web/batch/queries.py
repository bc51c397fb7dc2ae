"""Runs queries in processes of their own, a few at a time; viewers share recent reports."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable, Hashable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
from msgspec import Struct

from scoter.core.bounded import BoundedMap
from scoter.errors import UsageError, UserError
from scoter.web.batch.query_process import DONE, TRUNCATED, QueryFailure, QueryTask

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
    """How much memory and disk a query may use, and how many may run or wait."""

    memory: int = 512 * 2**20
    spill: int = 2**30
    running: int = 2
    waiting: int = 20


class Queries:
    """Runs read-only queries over crawls."""

    def __init__(
        self,
        limits: QueryLimits = QueryLimits(),  # noqa: B008  frozen
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._slots = asyncio.Semaphore(limits.running)
        self._count = 0
        self._reports: BoundedMap[Hashable, tuple[float, Any, bool]] = BoundedMap(_REPORTS, max_weight=LARGEST_RESULT)
        self._reporting: dict[Hashable, asyncio.Lock] = {}

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
    ) -> tuple[Any, bool]:
        """Return the rows of a query as an Arrow table, and whether there are more."""
        task = QueryTask(
            crawl=str(crawl),
            query=query,
            texts=texts or {},
            times=times or {},
            most=most,
            memory=self._limits.memory,
            spill=self._limits.spill,
            seconds=seconds,
            largest=largest,
        )
        if self._count >= self._limits.running + self._limits.waiting:
            raise QueriesBusy("too many queries are running")
        self._count += 1
        try:
            async with self._slots:
                return await _answer(task)
        finally:
            self._count -= 1

    async def report(
        self,
        crawl: Path,
        query: str,
        *,
        most: int,
        texts: dict[str, str | int],
        times: dict[str, datetime],
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
                table, is_truncated = await self.run(crawl, query, most=most, seconds=60.0, texts=texts, times=times)
                self._reports.put(key, (self._clock(), table, is_truncated), weight=table.nbytes)
                return table, is_truncated
        finally:
            if not lock.locked():
                self._reporting.pop(key, None)


async def _answer(task: QueryTask) -> tuple[Any, bool]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "scoter.web.batch.query_process"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(task.seconds + _GRACE):
            out, _ = await process.communicate(msgspec.json.encode(task))
    except TimeoutError:
        raise QueryTimeout("the query took too long", where="SQL") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if out.startswith(DONE):
        table = pa.ipc.open_stream(out[1:]).read_all()
        return table.replace_schema_metadata(None), (table.schema.metadata or {}).get(TRUNCATED) == b"1"
    if out:
        failure = msgspec.json.decode(out[1:], type=QueryFailure)
        kind = QueryTimeout if failure.is_timeout else QueryRefused if failure.where == "SQL" else UsageError
        raise kind(failure.message, where=failure.where, hint=failure.hint)
    if process.returncode == -signal.SIGXCPU:
        raise QueryTimeout("the query used too much CPU time", where="SQL", hint="Select less.")
    raise QueryRefused("the query used too much memory", where="SQL", hint="Select less.")
