"""Answers the executors of a fetch. Runs in a thread of the driver, with an event loop of its own.

All decisions are made here, one after another: who owns a list, and which parts are valid. An executor that was
suspended or cut off cannot make a part valid, because its token is no longer that of the owner.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import queue
import secrets
import socket
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from scoter.batch.crawldir.segment import Segment
from scoter.batch.fetchlists.lists import list_of_queue
from scoter.batch.spark import messages as m
from scoter.batch.spark.leases import ListLeases
from scoter.batch.worker.process import FetchTaskReport
from scoter.core.robots_cache import StoredRobots
from scoter.errors import UserError
from scoter.fetch.progress import Snapshot
from scoter.store.disk import Closing
from scoter.store.host_holds import SqliteHostHolds
from scoter.store.objects.leases import steady_clock
from scoter.store.robots_cache import SqliteRobotsCache

_HANDSHAKE: Final = 10.0
_log = logging.getLogger(__name__)


class FetchCoordinator(Closing):
    """Serves the executors that fetch a segment, until it is closed."""

    def __init__(
        self,
        segment: Segment,
        *,
        lists: int,
        partition: str,
        buckets: Sequence[int] = (),
        lease: float,
        grace: float,
        robots: Path,
        holds: Path,
        address: tuple[str, int] = ("127.0.0.1", 0),
        now: Callable[[], float] = steady_clock,
    ) -> None:
        self.secret = secrets.token_bytes(32)
        self.reports: queue.SimpleQueue[FetchTaskReport] = queue.SimpleQueue()
        self.leases = ListLeases(lists, lease=lease, grace=grace)
        self.stopping = False
        self._segment = segment
        self._is_divided = lists > 1 and partition != "ip"
        self._lists = lists
        self._buckets = buckets
        self._lease = lease
        self._now = now
        self._former: defaultdict[int, Snapshot] = defaultdict(Snapshot)  # what former owners of a list have done
        self._accepted: dict[int, Snapshot] = {}  # what is in the parts of current owners
        self._read: dict[int, str] = {}  # tokens of owners that have read all of their lists
        self._endings: dict[str, str] = {}  # why owners are to end early, by token
        self._stored_robots = SqliteRobotsCache(robots)
        self._stored_holds = SqliteHostHolds(holds)
        self._publishing = asyncio.Lock()  # while a part becomes valid, its list must not get another owner
        self._answering: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._socket = socket.create_server(address, backlog=1024)
        self.port = int(self._socket.getsockname()[1])
        self._thread = threading.Thread(target=self._serve, name="scoter-fetch-coordinator", daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"FetchCoordinator(port {self.port}, {self.leases!r})"

    def close(self) -> None:
        """Stop serving; executors that are still connected make no more requests."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._socket.close()
        self._stored_robots.close()
        self._stored_holds.close()

    def end_lists(self, reason: str) -> None:
        """Let the owners that have read all of their lists end early.

        Whoever takes a list over later goes on with it: what its former owner did not finish may be most of the list.
        """
        for number, token in tuple(self._read.items()):
            if self.leases.owns(number, token):
                self._endings.setdefault(token, reason)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._connected, sock=self._socket))
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                self._loop.run_until_complete(task)
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            nonce = secrets.token_bytes(m.NONCE)
            async with asyncio.timeout(_HANDSHAKE):
                await m.send(writer, nonce)
                if not hmac.compare_digest(await m.receive(reader, m.NONCE), m.proof(self.secret, nonce)):
                    return
            while True:
                # Not cancelled with the connection: a part that is becoming valid must not be left half-way.
                task = asyncio.create_task(self._reply(await m.receive(reader), writer))
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)
        except (OSError, EOFError, TimeoutError, asyncio.CancelledError):
            pass  # an executor that was cut off connects again; or the coordinator is being closed
        finally:
            writer.close()

    async def _reply(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        try:
            asked = m.decode_message(data)
        except msgspec.DecodeError as error:  # another version of Scoter
            _log.warning("an executor sent what cannot be read: %s", error)
            writer.close()
            return
        try:
            answer = await self._answer(asked.message)
        except Exception:  # the executor asks again
            _log.exception("a message of an executor cannot be answered")
            writer.close()
            return
        with suppress(OSError):
            await m.send(writer, m.encode(m.NumberedAnswer(asked.id, answer)))

    async def _answer(self, message: m.ExecutorMessage) -> m.DriverMessage:
        match message:
            case m.ClaimList(number):
                async with self._publishing:
                    return await self._claimed(number)
            case m.RenewList():
                return await self._renewed(message)
            case m.OfferPart():
                async with self._publishing:
                    return await self._offered(message)
            case m.FindRobots(_, origin):
                found = await self._stored_robots.get(origin)
                return m.RobotsFound(None if found is None else m.LearnedRobots(origin, found.body, found.expires))
            case m.EndList(number, token, report):
                if not self.leases.end(number, token):
                    return m.ListLost()
                self.reports.put(self._counted(report))
                return m.ListKept()

    async def _claimed(self, number: int) -> m.DriverMessage:
        if self.stopping:
            return m.NoWork()
        found = self.leases.claim(number, self._now())
        if found.wait:
            return m.WaitForList(found.wait)
        if not found.token:
            return m.NoWork()
        self._former[number] = _sum(self._former[number], self._accepted.pop(number, Snapshot()))
        if self._read.pop(number, ""):  # the last report of the former owner is no longer true
            self.reports.put(FetchTaskReport(number, self._former[number]))
        parts = await asyncio.to_thread(self._segment.crawl_fetch().finished)
        attempt = await asyncio.to_thread(self._segment.begin_attempt, parts, is_listed=True)
        self.leases.renew(number, found.token, self._now())
        holds = tuple(m.LearnedHold(each.host, each.until, each.delay) for each in self._stored_holds.current())
        if self._is_divided:
            holds = tuple(each for each in holds if list_of_queue(each.host, self._lists, self._buckets) == number)
        return m.ListGranted(found.token, self._lease, attempt, tuple(parts), holds)

    async def _renewed(self, message: m.RenewList) -> m.DriverMessage:
        # Also what a former owner has learned is worth knowing.
        self._stored_holds.put((each.host, each.until, each.delay) for each in message.holds)
        for each in message.robots:
            await self._stored_robots.put(each.origin, StoredRobots(each.body, each.expires))
        if not self.leases.renew(message.number, message.token, self._now()):
            return m.ListLost()
        if message.snapshot is not None:
            if message.snapshot.is_fed:
                self._read[message.number] = message.token
            self.reports.put(self._counted(FetchTaskReport(message.number, message.snapshot)))
        return self._kept(message.token)

    async def _offered(self, offer: m.OfferPart) -> m.DriverMessage:
        number = offer.number
        if not self.leases.owns(number, offer.token):
            return m.ListLost()
        try:
            await asyncio.to_thread(self._segment.accept_part, offer.part, offer.token)
        except UserError as error:  # the disk is full, or the lock of this fetch was lost
            return m.ListLost(f"{error.message} ({error.where})" if error.where else error.message)
        rows = self._accepted.get(number, Snapshot()).done + offer.rows
        self._accepted[number] = replace(offer.snapshot or Snapshot(), done=rows)
        self.leases.renew(number, offer.token, self._now())
        return self._kept(offer.token)

    def _kept(self, token: str) -> m.ListKept:
        return m.ListKept(self.stopping, self._endings.get(token, ""))

    def _counted(self, report: FetchTaskReport) -> FetchTaskReport:
        """Add what former owners of the list have done."""
        if report.worker not in self._former or report.snapshot is None:
            return report
        return replace(report, snapshot=_sum(report.snapshot, self._former[report.worker]))


def _sum(snapshot: Snapshot, former: Snapshot) -> Snapshot:
    return replace(
        snapshot,
        done=snapshot.done + former.done,
        fetched=snapshot.fetched + former.fetched,
        added=snapshot.added + former.added,
        errors=dict(Counter(snapshot.errors) + Counter(former.errors)),
        replies=dict(Counter(snapshot.replies) + Counter(former.replies)),
    )
