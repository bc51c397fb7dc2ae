"""One fetch list on an executor: the worker of ``batch.worker`` fetches it into a local spool.

Every finished part is copied to the segment, where it is invisible until the driver accepts it.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import uvloop
from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir.segment import Segment
from scoter.batch.spark.driver_connection import DriverLink, LeaseLost
from scoter.batch.worker.process import FetchTask, FetchTaskReport, SegmentWorker, WorkerPlace
from scoter.batch.worker.records import datum_of
from scoter.config import Config
from scoter.core.reply import Failed, Reason, Reply, Request
from scoter.core.robots_cache import RobotsCache
from scoter.errors import UserError
from scoter.fetch.filters import untimed
from scoter.fetch.protocols.dispatch import Protocols
from scoter.fetch.queues.holds import HoldStore
from scoter.plugins import FetchProtocol, chain
from scoter.store.host_holds import SqliteHostHolds
from scoter.store.objects.copies import local_file, process_folder
from scoter.store.objects.path import any_path

_LOOK: Final = 0.1  # seconds between looks at a lease that has ended


def run_list(task: FetchTask, address: tuple[str, int], secret: bytes) -> None:
    """Fetch a list, or what a former owner left of it; do nothing if all is done."""
    with DriverLink(address, secret, task.worker) as link:
        granted = link.claim()
        if granted is None:
            return
        used = time.process_time()
        with tempfile.TemporaryDirectory(prefix="fetch-", dir=process_folder(), ignore_cleanup_errors=True) as own:
            segment = Segment(any_path(task.segment))
            spool = Path(own, segment.name)
            spool.mkdir()
            holds = Path(own, "holds.sqlite")
            with SqliteHostHolds(holds) as stored:
                stored.put((each.host, each.until, each.delay) for each in granted.holds)
            try:
                here = replace(
                    task,
                    segment=str(spool),
                    attempt=granted.attempt,
                    files=tuple(_remaining(segment, task.files, granted.parts, Path(own))),
                    holds=str(holds),
                    robots="",
                )
                with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                    report = runner.run(SegmentWorker(here, _Reports(link), ExecutorPlace(link, spool, segment)).run())
            except LeaseLost:
                raise
            except UserError as error:
                report = FetchTaskReport(task.worker, ended=True, problem=(error.message, error.where, error.hint))
            if link.is_lost:
                raise LeaseLost("the list belongs to another executor, or the driver does not answer")
            link.end(replace(report, cpu=time.process_time() - used))


class _Reports:
    """The pipe of a worker, as far as it needs one."""

    def __init__(self, link: DriverLink) -> None:
        self._link = link
        self._has_ended = False

    def send(self, report: FetchTaskReport) -> None:
        if report.snapshot is not None:
            self._link.report(report.snapshot)

    def poll(self) -> bool:
        return self._link.is_over or (bool(self._link.order.end) and not self._has_ended)

    def recv(self) -> str | None:
        if self._link.is_over:
            return None
        self._has_ended = True
        return self._link.order.end


class ListLease(Protocol):
    """What requests need to know about the lease of their list."""

    @property
    def is_over(self) -> bool: ...
    def may_request(self) -> bool: ...


class LeasedProtocols(Protocols):
    """Checks the lease of the list immediately before each request; without one, requests wait.

    Requests in progress are cancelled when the lease ends, so that none is left when somebody else gets the list. If it
    is renewed after all, they are made again, once the grace period has passed.
    """

    def __init__(self, plugins: Sequence[tuple[str, FetchProtocol]], lease: ListLease, grace: float) -> None:
        super().__init__(plugins, datum_of)
        self._lease = lease
        self._grace = grace
        self._in_progress: set[asyncio.Task[Reply]] = set()
        self._cut: set[asyncio.Task[Reply]] = set()
        self._watching: asyncio.Task[None] | None = None

    async def __call__(self, request: Request) -> Reply:
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())
        while True:
            if not self._lease.may_request():
                with untimed():  # this time is not spent waiting for the server
                    while not self._lease.may_request():
                        if self._lease.is_over:
                            return Failed(request.url, Reason.STOPPED, "the lease has ended", blames_host=False)
                        await asyncio.sleep(_LOOK)
            asking = asyncio.ensure_future(super().__call__(request))
            self._in_progress.add(asking)
            try:
                return await asking
            except asyncio.CancelledError:
                if asking not in self._cut:
                    raise
            finally:
                self._in_progress.discard(asking)
            self._cut.discard(asking)
            with untimed():
                await asyncio.sleep(self._grace)

    async def close(self) -> None:
        """Close all plug-ins."""
        if self._watching is not None:
            self._watching.cancel()
        await super().close()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_LOOK)
            if not self._lease.may_request():
                for each in self._in_progress - self._cut:
                    self._cut.add(each)
                    each.cancel()


class _SharedHolds:
    """Holds of this list, which the driver learns too."""

    def __init__(self, store: HoldStore, link: DriverLink) -> None:
        self._store = store
        self._link = link

    def until(self, host: str) -> float:
        return self._store.until(host)

    def put(self, holds: Iterable[tuple[str, float, float]]) -> None:
        rows = list(holds)
        self._store.put(rows)
        self._link.learn(rows)


class ExecutorPlace(WorkerPlace):
    """A worker on an executor."""

    def __init__(self, link: DriverLink, spool: Path, segment: Segment) -> None:
        self._link = link
        self._spool = spool
        self._segment = segment

    def protocols(self, config: Config) -> Protocols:
        return LeasedProtocols(chain("protocol", config), self._link, config.fetch.lease_grace.total_seconds())

    def robots(self, task: FetchTask) -> AbstractContextManager[RobotsCache]:
        return nullcontext(self._link)

    def holds(self, store: HoldStore) -> HoldStore:
        return _SharedHolds(store, self._link)

    def publish(self, part: str) -> None:
        """Copy a finished part to the segment, and ask the driver to accept it."""
        rows = pq.read_metadata(self._spool / "crawl_fetch" / f"{part}.parquet").num_rows
        self._segment.offer_part(part, self._spool, self._link.token)
        self._link.offer(part, rows)
        for name in self._segment.files_of_part(part, self._spool):
            (self._spool / name).unlink()


def _remaining(segment: Segment, files: Sequence[str], parts: Sequence[str], folder: Path) -> list[str]:
    """Return local copies of fetch lists, without the URLs in finished parts."""
    lists = [local_file(file) for file in files]
    if not parts:
        return lists
    found = []
    for number, file in enumerate(lists):
        own = pq.read_table(file)
        urls = own.column("url")
        done = [_common(local_file(segment.crawl_fetch().location(part)), urls) for part in parts]
        keep = pc.invert(pc.is_in(urls, value_set=pa.concat_arrays(done)))
        target = folder / f"list-{number:05d}.parquet"
        pq.write_table(own.filter(keep), target)
        found.append(str(target))
    return found


def _common(part: str, urls: Any) -> Any:
    """Return the URLs of a part that are in a list."""
    of_part = pq.read_table(part, columns=["url"]).column("url")
    return of_part.filter(pc.is_in(of_part, value_set=urls)).combine_chunks()


class ListRunner(Struct, frozen=True):
    """A function that runs the task of a list, and can be sent to an executor."""

    tasks: tuple[FetchTask, ...]
    address: tuple[str, int]
    secret: bytes

    def __call__(self, number: int) -> None:
        run_list(self.tasks[number], self.address, self.secret)
