"""Tells callbacks what became of their URLs: signed, with a delivery's id, again and again for a day.

The body is the event as JSON. ``Scoter-Signature: t=<seconds>,v1=<hex>`` is the HMAC-SHA256 of ``<seconds>.<body>``
under the service's secret; ``Scoter-Delivery`` names the delivery, which may come more than once. Any status from 200
to 299 is a receipt; a redirect is none, and is not followed.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from scoter.core.url import Url, canonical
from scoter.errors import ScoterError, UrlError
from scoter.live.ports import Deliveries, Delivery
from scoter.web.measures import Measures

_log = logging.getLogger(__name__)
_DETAIL: Final = 300
_MANY: Final = 1_000


class Posted(Struct, frozen=True):
    """What came of a post: a status, or why there is none; ``is_refused`` when it must not be tried again."""

    status: int = 0
    why: str = ""
    is_refused: bool = False


class Post(Protocol):
    """Posts to callbacks: to public addresses only, one hop, and never fails: what goes wrong is an answer."""

    async def post(self, url: Url, headers: Sequence[tuple[str, str]], body: bytes) -> Posted: ...


class Backoff(Struct, frozen=True, kw_only=True):
    """When to try again: twice as late after each failure, by chance between half and all of it; in all for a day."""

    first: timedelta = timedelta(seconds=5)
    longest: timedelta = timedelta(hours=1)
    until: timedelta = timedelta(days=1)

    def again_in(self, tries: int, age: timedelta, chance: float) -> timedelta | None:
        """Return how long to wait after a try with so many that failed before; none when it is time to give up.

        ``age`` is by the wall's clock, which may have been set, and counts those days in which no service ran: so it
        counts for no more than the pauses between the tries.
        """
        wait = self._longest_after(tries) * (0.5 + chance / 2)
        spent = sum((self._longest_after(each) for each in range(min(tries, _MANY))), timedelta())
        return wait if min(age, spent) + wait <= self.until else None

    def _longest_after(self, tries: int) -> timedelta:
        return min(self.longest, self.first * 2.0 ** min(tries, 30))


class Pace(Struct, frozen=True, kw_only=True):
    """How many deliveries are under way, in all and to one host; how long one is held; how often is looked.

    One for which its host has no room comes again when it is likely to have some, and ``soon`` at the latest.
    """

    most: int = 50
    per_host: int = 4
    lease: timedelta = timedelta(minutes=2)
    within: float = 30.0
    look: float = 1.0
    soon: float = 1.0


class _Host(Struct):
    """A host to which deliveries are under way: how long one takes, and until when those take that were put off."""

    busy: int = 0
    seconds: float = 0.1
    taken_until: float = 0.0

    def next_turn(self, now: float, pace: Pace) -> timedelta:
        """Return when there is likely to be room for one more.

        All at once would be too early for most of them: to come again and be put off again is work for the database.
        """
        turn = max(now, self.taken_until) + self.seconds / pace.per_host
        self.taken_until = min(turn, now + pace.soon)
        return timedelta(seconds=self.taken_until - now)

    def took(self, seconds: float) -> None:
        """Note the end of a delivery."""
        self.busy -= 1
        self.seconds += (seconds - self.seconds) / 8


class Webhooks:
    """The worker that empties the list of deliveries."""

    def __init__(
        self,
        deliveries: Deliveries,
        post: Post,
        secret: bytes,
        *,
        measures: Measures | None = None,
        backoff: Backoff = Backoff(),  # noqa: B008  frozen
        pace: Pace = Pace(),  # noqa: B008  frozen
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        chance: Callable[[], float] = random.random,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._deliveries = deliveries
        self._post = post
        self._secret = secret
        self._measures = measures or Measures()
        self._backoff = backoff
        self._pace = pace
        self._clock = clock
        self._chance = chance
        self._timer = timer
        self._tasks: set[asyncio.Task[None]] = set()
        self._hosts: dict[str, _Host] = {}
        self._stirred = asyncio.Event()
        self._is_stopping = False

    def __len__(self) -> int:
        return len(self._tasks)

    def wake(self) -> None:
        """Look for deliveries now."""
        self._stirred.set()

    def stop(self) -> None:
        """Take no more; what is under way is finished by ``run``."""
        self._is_stopping = True
        self._stirred.set()

    async def run(self) -> None:
        """Deliver until ``stop``."""
        while not self._is_stopping:
            self._stirred.clear()
            await self.deliver()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pace.look):
                    await self._stirred.wait()
        await self.finish()

    async def finish(self) -> None:
        """Wait for what is under way."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))

    async def deliver(self) -> int:
        """Begin what is due, as far as there is room; return how many."""
        room = self._pace.most - len(self._tasks)
        if room <= 0:
            return 0
        try:
            due = await self._deliveries.due(room, self._pace.lease)
        except ScoterError as error:
            _log.warning("deliveries could not be read: %s", error)
            return 0
        # What its host has no room for is not waited for: deliveries to one slow host would soon take all there is.
        crowded: dict[str, timedelta] = {}
        for delivery in due:
            if (pause := self._begin(delivery)) is not None:
                crowded[delivery.id] = pause
        if crowded:
            await self._put_off(crowded)
            if len(due) >= room:  # behind them may be others that there is room for
                self._stirred.set()
        return len(due) - len(crowded)

    def _begin(self, delivery: Delivery) -> timedelta | None:
        """Begin a delivery; or, if as many to its host are under way as may be, return when to come again."""
        try:
            url = canonical(delivery.callback)
        except UrlError as error:
            work = self._note(delivery, Posted(why=error.message, is_refused=True))
        else:
            host = self._hosts.setdefault(url.host, _Host())
            if host.busy >= self._pace.per_host:
                return host.next_turn(self._timer(), self._pace)
            host.busy += 1
            work = self._deliver(url, host, delivery)
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return None

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._stirred.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a delivery found a defect", exc_info=error)

    async def _deliver(self, url: Url, host: _Host, delivery: Delivery) -> None:
        began = self._timer()
        try:
            await self._note(delivery, await self._posted(url, delivery))
        finally:
            host.took(self._timer() - began)
            if not host.busy:
                del self._hosts[url.host]

    async def _posted(self, url: Url, delivery: Delivery) -> Posted:
        body = msgspec.json.encode(delivery.event)
        headers = (
            ("Content-Type", "application/json"),
            ("Scoter-Delivery", delivery.id),
            ("Scoter-Signature", signature(self._secret, int(self._clock().timestamp()), body)),
        )
        try:
            async with asyncio.timeout(self._pace.within):
                return await self._post.post(url, headers, body)
        except TimeoutError:
            return Posted(why="no answer in time")

    async def _put_off(self, crowded: Mapping[str, timedelta]) -> None:
        try:
            await self._deliveries.put_off(crowded)
        except ScoterError as error:  # their leases run out, and they come again
            _log.warning("deliveries could not be put off: %s", error)

    async def _note(self, delivery: Delivery, posted: Posted) -> None:
        try:
            if 200 <= posted.status < 300:
                self._measures.deliveries.add("delivered")
                await self._deliveries.delivered([delivery.id])
                return
            why = posted.why or f"status {posted.status}"
            age = self._clock() - delivery.event.at
            again = None if posted.is_refused else self._backoff.again_in(delivery.tries, age, self._chance())
            self._measures.deliveries.add("given_up" if again is None else "failed")
            await self._deliveries.failed(delivery.id, again, why[:_DETAIL])
        except ScoterError as error:  # its lease runs out, and it is tried again
            _log.warning("a delivery could not be noted: %s", error)


def signature(secret: bytes, at: int, body: bytes) -> str:
    """Return the value of the signature's field.

    >>> signature(b"secret", 1, b"{}")[:12]
    't=1,v1=11227'
    """
    return f"t={at},v1={hmac.new(secret, b'%d.%b' % (at, body), sha256).hexdigest()}"
