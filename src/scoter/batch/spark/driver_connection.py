"""The connection of an executor to the driver of a fetch, and the lease of its list.

The connection has a thread of its own, so the lease is renewed while the fetch is busy. The lease counts from when its
renewal was sent, by a clock that runs on while the machine sleeps: an executor that was suspended finds it ended.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, Final, TypeVar

from scoter.batch.spark import messages as m
from scoter.batch.worker.process import FetchTaskReport
from scoter.core.robots_cache import StoredRobots
from scoter.errors import UserError
from scoter.fetch.progress import Snapshot
from scoter.store.disk import Closing
from scoter.store.objects.leases import steady_clock

RENEWAL: Final = 1.0
"""Seconds between renewals of a lease."""
_ANSWER: Final = 10.0
_AGAIN: Final = 0.5
_MOST_WAITING: Final = 10_000  # holds and robots.txt files that wait for the next renewal
_PATIENCE: Final = 4  # leases without an answer of the driver, after which an executor gives up
T = TypeVar("T")


class LeaseLost(UserError):
    """The list of this executor belongs to another one."""


class DriverLink(Closing):
    """One list of a segment, as its executor sees it."""

    def __init__(
        self, address: tuple[str, int], secret: bytes, number: int, now: Callable[[], float] = steady_clock
    ) -> None:
        self.number = number
        self.order: m.ListKept = m.ListKept()
        self.is_lost = False
        self._address = address
        self._secret = secret
        self._now = now
        self.token = ""
        self._lease = 0.0
        self._valid_until = 0.0
        self._snapshot: Snapshot | None = None
        self._holds: dict[str, m.LearnedHold] = {}
        self._robots: dict[str, m.LearnedRobots] = {}
        self._guard = threading.Lock()
        self._ids = itertools.count()
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: dict[int, asyncio.Future[m.DriverMessage]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scoter-driver-link", daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"DriverLink(list {self.number}, {'lost' if self.is_lost else 'ours'})"

    def close(self) -> None:
        """Close the connection."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                self._loop.run_until_complete(task)
        if self._writer is not None:
            self._writer.close()
            with suppress(OSError):
                self._loop.run_until_complete(self._writer.wait_closed())
        self._loop.close()

    # Called by the task and its worker

    def claim(self) -> m.ListGranted | None:
        """Wait until the list is ours; ``None`` if there is nothing left to do."""
        while True:
            began = self._now()
            answer = self._wait(self._ask(m.ClaimList(self.number)))
            if isinstance(answer, m.WaitForList):
                threading.Event().wait(min(answer.seconds, 5.0))
                continue
            if not isinstance(answer, m.ListGranted):
                return None
            self.token, self._lease = answer.token, answer.lease
            self._valid_until = began + answer.lease
            asyncio.run_coroutine_threadsafe(self._renew_always(), self._loop)
            return answer

    def may_request(self) -> bool:
        """Return whether the list is ours now."""
        return not self.is_lost and self._now() < self._valid_until

    @property
    def is_over(self) -> bool:
        """Whether no more requests will be made."""
        return self.is_lost or self.order.is_stopping

    def report(self, snapshot: Snapshot) -> None:
        """Send statistics with the next renewal."""
        self._snapshot = snapshot

    def offer(self, part: str, rows: int) -> None:
        """Ask the driver to make a part valid; raise if the list is no longer ours."""
        answer = self._wait(self._ask_again(m.OfferPart(self.number, self.token, part, rows, self._snapshot)))
        if isinstance(answer, m.ListLost):
            self.is_lost = True
            raise LeaseLost(answer.problem or "the list belongs to another executor")

    def end(self, report: FetchTaskReport) -> None:
        """Send what was learned, and the last report."""
        self._wait(self._renew())
        answer = self._wait(self._ask_again(m.EndList(self.number, self.token, report)))
        if isinstance(answer, m.ListLost):
            raise LeaseLost("the list belongs to another executor")

    async def get(self, origin: str) -> StoredRobots | None:
        """Return the robots.txt of an origin that the crawl knows (``RobotsCache``)."""
        asking = asyncio.run_coroutine_threadsafe(self._ask(m.FindRobots(self.number, origin)), self._loop)
        try:
            answer = await asyncio.wrap_future(asking)
        except UserError:  # it is only a cache
            return None
        found = answer.robots if isinstance(answer, m.RobotsFound) else None
        return None if found is None else StoredRobots(found.body, found.expires)

    async def put(self, origin: str, stored: StoredRobots) -> None:
        """Send the robots.txt of an origin with the next renewal (``RobotsCache``)."""
        with self._guard:
            if len(self._robots) < _MOST_WAITING:
                self._robots[origin] = m.LearnedRobots(origin, stored.body, stored.expires)

    def learn(self, holds: Iterable[tuple[str, float, float]]) -> None:
        """Send holds with the next renewal."""
        with self._guard:
            for each in holds:
                if len(self._holds) < _MOST_WAITING or each[0] in self._holds:
                    self._holds[each[0]] = m.LearnedHold(*each)

    # In the thread of the connection

    def _wait(self, asking: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(asking, self._loop).result()

    async def _renew_always(self) -> None:
        while not self.is_lost:
            with suppress(UserError):  # the next renewal may succeed
                await self._renew()
            if self._now() > self._valid_until + _PATIENCE * self._lease:
                self.is_lost = True
            await asyncio.sleep(RENEWAL)

    async def _renew(self) -> None:
        with self._guard:
            holds, robots = dict(self._holds), dict(self._robots)
        began = self._now()
        message = m.RenewList(self.number, self.token, self._snapshot, tuple(holds.values()), tuple(robots.values()))
        answer = await self._ask(message)
        if isinstance(answer, m.ListKept):
            self._valid_until = began + self._lease
            self.order = answer
            with self._guard:
                for sent, kept in ((holds, self._holds), (robots, self._robots)):
                    for name, value in sent.items():
                        if kept.get(name) is value:
                            del kept[name]
        elif isinstance(answer, m.ListLost):
            self.is_lost = True

    async def _ask_again(self, message: m.ExecutorMessage) -> m.DriverMessage:
        """Ask until there is an answer, or the list is lost."""
        while True:
            try:
                return await self._ask(message)
            except UserError:
                if self.is_lost:
                    raise
                await asyncio.sleep(_AGAIN)

    async def _ask(self, message: m.ExecutorMessage) -> m.DriverMessage:
        try:
            async with asyncio.timeout(_ANSWER):
                writer = await self._connection()
                number = next(self._ids)
                answer: asyncio.Future[m.DriverMessage] = self._loop.create_future()
                self._waiting[number] = answer
                try:
                    await m.send(writer, m.encode(m.NumberedMessage(number, message)))
                    return await answer
                finally:
                    del self._waiting[number]
        except (OSError, EOFError, TimeoutError) as error:
            self._disconnect()
            host, port = self._address
            message_ = f"the driver does not answer: {error or 'it takes too long'}"
            raise UserError(message_, where=f"{host}:{port}") from error

    async def _connection(self) -> asyncio.StreamWriter:
        if self._writer is None:
            reader, writer = await asyncio.open_connection(*self._address)
            await m.send(writer, m.proof(self._secret, await m.receive(reader)))
            self._writer = writer
            self._reading = self._loop.create_task(self._read(reader, writer))
        return self._writer

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                answer = m.decode_answer(await m.receive(reader))
                found = self._waiting.get(answer.id)
                if found is not None and not found.done():
                    found.set_result(answer.message)
        except (OSError, EOFError) as error:
            if self._writer is writer:
                self._disconnect(error)

    def _disconnect(self, error: Exception | None = None) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
        for each in self._waiting.values():
            if not each.done():
                each.set_exception(ConnectionError(f"the connection was closed: {error or 'no answer'}"))
