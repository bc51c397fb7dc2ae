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

import ada_url
import msgspec
import pycurl
from msgspec import Struct

from scoter.config import Config
from scoter.core.domain import is_ip
from scoter.core.reply import Reason
from scoter.core.url import Url, canonical
from scoter.errors import ScoterError, UrlError
from scoter.fetch.network.guard import WEB_PORTS, Guard
from scoter.fetch.network.resolver import CachingResolver, DnsResolver, NotResolved, Resolver
from scoter.fetch.protocols.curl_loop import CurlLoop
from scoter.fetch.protocols.sites import route
from scoter.fetch.protocols.transfers import TransferLimits, TransferRequest
from scoter.live.ports import Deliveries, Delivery
from scoter.web.metrics import ServiceMetrics

_log = logging.getLogger(__name__)
_DETAIL: Final = 300
_MANY: Final = 1_000


class PostResult(Struct, frozen=True):
    """What came of a post: a status, or why there is none; ``is_refused`` when it must not be tried again."""

    status: int = 0
    why: str = ""
    is_refused: bool = False


class CallbackPoster(Protocol):
    """Posts to callbacks: to public addresses only, one hop, and never fails: what goes wrong is an answer."""

    async def post(self, url: Url, headers: Sequence[tuple[str, str]], body: bytes) -> PostResult: ...


class DeliveryBackoff(Struct, frozen=True, kw_only=True):
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


class DeliveryLimits(Struct, frozen=True, kw_only=True):
    """How many deliveries are under way, in all and to one host; how long one is held; how often is looked.

    One for which its host has no room comes again when it is likely to have some, and ``soon`` at the latest.
    """

    most: int = 50
    per_host: int = 4
    lease: timedelta = timedelta(minutes=2)
    within: float = 30.0
    look: float = 1.0
    soon: float = 1.0


class _CallbackHost(Struct):
    """A host to which deliveries are under way: how long one takes, and until when those take that were put off."""

    busy: int = 0
    seconds: float = 0.1
    taken_until: float = 0.0

    def next_turn(self, now: float, pace: DeliveryLimits) -> timedelta:
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
        post: CallbackPoster,
        secret: bytes,
        *,
        measures: ServiceMetrics | None = None,
        backoff: DeliveryBackoff = DeliveryBackoff(),  # noqa: B008  frozen
        pace: DeliveryLimits = DeliveryLimits(),  # noqa: B008  frozen
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        chance: Callable[[], float] = random.random,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._deliveries = deliveries
        self._post = post
        self._secret = secret
        self._measures = measures or ServiceMetrics()
        self._backoff = backoff
        self._pace = pace
        self._clock = clock
        self._chance = chance
        self._timer = timer
        self._tasks: set[asyncio.Task[None]] = set()
        self._hosts: dict[str, _CallbackHost] = {}
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
            work = self._note(delivery, PostResult(why=error.message, is_refused=True))
        else:
            host = self._hosts.setdefault(url.host, _CallbackHost())
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

    async def _deliver(self, url: Url, host: _CallbackHost, delivery: Delivery) -> None:
        began = self._timer()
        try:
            await self._note(delivery, await self._posted(url, delivery))
        finally:
            host.took(self._timer() - began)
            if not host.busy:
                del self._hosts[url.host]

    async def _posted(self, url: Url, delivery: Delivery) -> PostResult:
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
            return PostResult(why="no answer in time")

    async def _put_off(self, crowded: Mapping[str, timedelta]) -> None:
        try:
            await self._deliveries.put_off(crowded)
        except ScoterError as error:  # their leases run out, and they come again
            _log.warning("deliveries could not be put off: %s", error)

    async def _note(self, delivery: Delivery, posted: PostResult) -> None:
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


# Sooner than ``webhooks.Pace`` gives a delivery up: a receiver that has said 200 and does not end is one that has it.
POST_LIMITS: Final = TransferLimits(
    body=64 * 1024, connect=timedelta(seconds=10), silence=timedelta(seconds=10), total=timedelta(seconds=20)
)
_BUDGET: Final = 8 * 2**20
_REFUSALS: Final = (Reason.REFUSED_ADDRESS, Reason.REFUSED_PORT, Reason.REFUSED_SCHEME)


def callback_check(guard: Guard) -> Callable[[str], str]:
    """Return what says why a callback must not be posted to, as far as its URL tells, or nothing."""

    def check(text: str) -> str:
        try:
            url = canonical(text)
        except UrlError as error:
            return error.message
        if url.scheme not in WEB_PORTS:
            return f"{url.scheme}: is not http or https"
        parts = ada_url.URL(text)
        if parts.username or parts.password:  # a canonical URL has none: every post would come without them
            return "it has a user name or a password, which are never sent; the signature tells who posts"
        refusal = guard.check_url(url)
        return refusal.detail if refusal else ""

    return check


class CurlPoster:
    """Posts one hop at a time; libcurl never follows a redirect of its own."""

    def __init__(
        self,
        config: Config,
        *,
        guard: Guard | None = None,
        resolver: Resolver | None = None,
        limits: TransferLimits = POST_LIMITS,
    ) -> None:
        self._guard = guard or Guard(config)
        self._resolver = resolver or CachingResolver(DnsResolver(), self._guard)
        self._agent = f"User-Agent: {config.agent.name or 'scoter'}"
        self._limits = limits
        self._curl: CurlLoop | None = None

    async def post(self, url: Url, headers: Sequence[tuple[str, str]], body: bytes) -> PostResult:
        """Post a body; whatever goes wrong is an answer."""
        refusal = self._guard.check_url(url)
        if refusal is not None:
            return PostResult(why=refusal.detail, is_refused=True)
        port = url.port or WEB_PORTS[url.scheme]
        override = self._guard.override(url.host, port)
        if override is not None:
            connect_to = route(url.host, port, *override)
        elif is_ip(url.host):
            connect_to = ""
        else:
            answer = await self._resolver.resolve(url.host.removesuffix("."))
            if isinstance(answer, NotResolved):
                return PostResult(why=answer.reason)  # even if refused: who moves a name may move it back
            connect_to = route(url.host, port, answer.addresses[0], port)
        told = await self._loop().run(
            TransferRequest(
                url=url.text,
                headers=(self._agent, "Expect:", *(f"{name}: {value}" for name, value in headers)),
                connect_to=connect_to,
                check=self._guard.open_socket_check,
                options=((pycurl.POST, 1), (pycurl.POSTFIELDSIZE, len(body)), (pycurl.POSTFIELDS, body)),
            )
        )
        if told.status:
            return PostResult(told.status)
        return PostResult(why=told.detail, is_refused=told.reason in _REFUSALS)

    async def close(self) -> None:
        """Close all connections."""
        if self._curl is not None:
            self._curl.close()
            self._curl = None

    def _loop(self) -> CurlLoop:
        if self._curl is None:
            options = ((pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS), (pycurl.PATH_AS_IS, 1))
            # No handle is kept for the next post: libcurl cannot be told to forget what one was given to send.
            self._curl = CurlLoop(self._limits, concurrency=0, budget=_BUDGET, options=options)
        return self._curl
