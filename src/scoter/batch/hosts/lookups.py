"""Look up the names of hosts, as Nutch's ``updatehostdb`` does.

A host that answered a request needs no lookup. A name that does not exist is a failure; a name server that does not
answer is not, because a crawler without a network would otherwise take all hosts for dead. A failed host is looked up
again after ``hostdb.recheck_interval`` times the number of its failures.

Lookups are bounded: ``hostdb.num_resolvers_threads`` at a time, ``hostdb.lookup_time_limit`` in all.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import uvloop
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.config import Config
from scoter.core.domain import is_ip, reversed_host
from scoter.engine import Engine, TableSource, file_source
from scoter.engine.port import Rows
from scoter.fetch.network.allowed_hosts import WEB_PORTS
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.resolver import DnsResolver, NotResolved, Resolver
from scoter.plugins.recorded import ibis
from scoter.store.tables.parquet import write_batches

OK, FAILED = "ok", "failed"
CHECKS = pa.schema([*schemas.texts("url", "key", "answer"), ("checked", schemas.TIME)])
_BATCH = 2_048


class HostChecks(Struct, frozen=True, kw_only=True):
    """Which hosts are looked up: those never looked up, those that failed, those that were found.

    ``force`` does not wait for the end of their interval.
    """

    new: bool = True
    failed: bool = True
    known: bool = True
    force: bool = False

    @property
    def is_any(self) -> bool:
        return self.new or self.failed or self.known


class LookupCounts(Struct):
    """How many hosts were looked up, with what result."""

    found: int = 0
    missing: int = 0
    unanswered: int = 0
    left: int = 0
    """Hosts that were due, but not looked up within ``hostdb.lookup_time_limit``."""


def due_hosts(
    engine: Engine, counts: TableSource, old: TableSource, fetches: TableSource | None, checks: HostChecks, now: Any
) -> Rows:
    """Return the names of the hosts to look up, in a column ``url``."""
    known, before = engine.read(counts).select("url"), engine.read(old)
    before = before.select("url", "dns", "last_check", "next_check")
    rows = known.left_join(before.rename(before="url"), known.url == before.url)
    rows = rows.select("url", "dns", "last_check", "next_check")
    if fetches is not None and not checks.force:
        answered = engine.read(fetches)
        answered = answered.filter(answered.last_answer.notnull())
        rows = rows.anti_join(answered, "url")
    is_new = rows.last_check.isnull()
    is_due = ibis.literal(checks.force) | rows.next_check.isnull() | (rows.next_check <= now)
    is_failed = rows.dns.fill_null("") == FAILED
    wanted = (
        (is_new & checks.new)
        | (~is_new & is_failed & is_due & checks.failed)
        | (~is_new & ~is_failed & is_due & checks.known)
    )
    return rows.filter(wanted).select("url")


def save_lookups(
    hosts: Iterable[str],
    config: Config,
    file: Path,
    *,
    now: datetime,
    resolver: Resolver | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[TableSource, LookupCounts]:
    """Look up hosts, a bounded number at a time and for a bounded time, and save the answers."""
    counts = LookupCounts()
    guard = Guard(config)
    # A proxy resolves names itself, and ``fetch.connect_to`` replaces them.
    names = (
        host
        for host in hosts
        if not is_ip(host) and not config.http.proxy_host and not any(guard.override(host, port) for port in _PORTS)
    )
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        limit = config.hostdb.num_resolvers_threads
        until = clock() + config.hostdb.lookup_time_limit.total_seconds()
        asking = _Asking(runner, resolver, limit, counts, now, on_progress, lambda: clock() >= until)
        write_batches(file, CHECKS, asking.batches(names))
    return file_source(file, CHECKS), counts


_PORTS = tuple(WEB_PORTS.values())


class _Asking:
    """Asks for names in batches; within a batch, ``limit`` lookups run at a time."""

    def __init__(
        self,
        runner: asyncio.Runner,
        resolver: Resolver | None,
        limit: int,
        counts: LookupCounts,
        now: datetime,
        on_progress: Callable[[int], None],
        is_late: Callable[[], bool],
    ) -> None:
        self._runner = runner
        self._resolver = resolver
        self._limit = limit
        self._counts = counts
        self._now = now
        self._on_progress = on_progress
        self._is_late = is_late
        self._done = 0

    def batches(self, names: Iterator[str]) -> Iterator[Any]:
        while batch := [name for _, name in zip(range(_BATCH), names, strict=False)]:
            answers = self._runner.run(self._ask(batch))
            self._done += len(batch)
            self._on_progress(self._done)
            rows = [
                {"url": name, "key": reversed_host(name), "answer": answer, "checked": self._now}
                for name, answer in zip(batch, answers, strict=True)
                if answer
            ]
            yield pa.RecordBatch.from_pylist(rows, schema=CHECKS)

    async def _ask(self, names: list[str]) -> list[str]:
        resolver = self._resolver
        own = DnsResolver(in_flight=self._limit) if resolver is None else None
        slots = asyncio.Semaphore(self._limit)

        async def ask(name: str) -> str:
            async with slots:
                if self._is_late():
                    self._counts.left += 1
                    return ""
                return self._count(await (resolver or own).resolve(name))  # type: ignore[union-attr]

        try:
            return list(await asyncio.gather(*map(ask, names)))
        finally:
            if own is not None:
                own.close()

    def _count(self, answer: Any) -> str:
        match answer:
            case NotResolved(transient=True):
                self._counts.unanswered += 1
                return ""
            case NotResolved():
                self._counts.missing += 1
                return FAILED
            case _:
                self._counts.found += 1
                return OK
