"""Delivers events to callbacks: signed, identified by a delivery ID, and retried for a day.

The body is the event as JSON. ``Scoter-Signature: t=<seconds>,v1=<hex>`` is the HMAC-SHA256 of ``<seconds>.<body>``
with the service's secret; ``Scoter-Delivery`` identifies the delivery, which may arrive more than once. Any status from
200 to 299 acknowledges it; redirects do not, and are not followed.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import random
import time
from collections.abc import Callable, Sequence
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
from scoter.fetch.network.allowed_hosts import WEB_PORTS
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.resolver import CachingResolver, DnsResolver, NotResolved, Resolver
from scoter.fetch.protocols.curl_loop import CurlLoop
from scoter.fetch.protocols.sites import route
from scoter.fetch.protocols.transfers import TransferLimits, TransferRequest
from scoter.http.logs import logging_about
from scoter.live.api.metrics import ServiceMetrics
from scoter.live.ports import Deliveries, Delivery

_log = logging.getLogger(__name__)
_LONGEST_REASON: Final = 300
_MAX_COUNTED: Final = 1_000
_FIRST_PAUSE: Final = timedelta(seconds=5)
_LONGEST_PAUSE: Final = timedelta(hours=1)
_RETRIED_FOR: Final = timedelta(days=1)


class PostResult(Struct, frozen=True):
    """The result of a post: a status, or why there is none; ``is_refused`` if it must not be retried."""

    status: int = 0
    why: str = ""
    is_refused: bool = False


class CallbackPoster(Protocol):
    """Posts to callbacks, at public addresses only, without following redirects. Failures are results."""

    async def post(self, url: Url, headers: Sequence[tuple[str, str]], body: bytes) -> PostResult: ...


def retry_in(tries: int, age: timedelta, chance: float) -> timedelta | None:
    """Return how long to wait after ``tries`` earlier failures; ``None`` to give up.

    Exponential back-off with jitter (50 to 100 %), for a day in total. ``age`` is measured by the wall clock, which may
    have been set, and includes the time in which no service ran. It therefore counts at most as much as the sum of the
    pauses so far.
    """
    wait = _longest_after(tries) * (0.5 + chance / 2)
    spent = sum((_longest_after(each) for each in range(min(tries, _MAX_COUNTED))), timedelta())
    return wait if min(age, spent) + wait <= _RETRIED_FOR else None


def _longest_after(tries: int) -> timedelta:
    return min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(tries, 30))


class DeliveryLimits(Struct, frozen=True, kw_only=True):
    """Simultaneous deliveries, in total and per host; how long one is claimed, and its timeout; seconds between polls.

    A delivery to a busy host is postponed until a slot is likely to be free, at most ``soon`` seconds.
    """

    most: int = 50
    per_host: int = 4
    claim: timedelta = timedelta(minutes=2)
    within: float = 30.0
    look: float = 1.0
    soon: float = 1.0


class _CallbackHost(Struct):
    """A host with deliveries in progress: how long one takes, and until when its slots are taken."""

    busy: int = 0
    seconds: float = 0.1
    taken_until: float = 0.0

    def next_slot(self, now: float, pace: DeliveryLimits) -> timedelta:
        """Return when a slot is likely to be free for one more delivery.

        Retrying all at the same time would be too early for most, and postponing them again costs database writes.
        """
        free = max(now, self.taken_until) + self.seconds / pace.per_host
        self.taken_until = min(free, now + pace.soon)
        return timedelta(seconds=self.taken_until - now)

    def finished(self, seconds: float) -> None:
        """Record the end of a delivery."""
        self.busy -= 1
        self.seconds += (seconds - self.seconds) / 8


class Webhooks:
    """Delivers events to callbacks when they are due."""

    def __init__(
        self,
        deliveries: Deliveries,
        post: CallbackPoster,
        secret: bytes,
        *,
        metrics: ServiceMetrics | None = None,
        pace: DeliveryLimits = DeliveryLimits(),  # noqa: B008  frozen
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        chance: Callable[[], float] = random.random,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._deliveries = deliveries
        self._post = post
        self._secret = secret
        self._metrics = metrics or ServiceMetrics()
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
        """Look for due deliveries now."""
        self._stirred.set()

    def stop(self) -> None:
        """Start no more; ``run`` finishes the deliveries in progress."""
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
        """Wait for the deliveries in progress."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))

    async def deliver(self) -> int:
        """Start due deliveries, up to the limit; return how many."""
        room = self._pace.most - len(self._tasks)
        if room <= 0:
            return 0
        try:
            due = await self._deliveries.due(room, self._pace.claim)
        except ScoterError as error:
            _log.warning("cannot read deliveries: %s", error)
            return 0
        # Do not wait for a busy host: deliveries to one slow host would soon take all slots.
        crowded: dict[str, timedelta] = {}
        for delivery in due:
            if (pause := self._begin(delivery)) is not None:
                crowded[delivery.id] = pause
        if crowded:
            try:
                await self._deliveries.put_off(crowded)
            except ScoterError as error:  # their claims end, and they become due again
                _log.warning("cannot postpone deliveries: %s", error)
            if len(due) >= room:  # there may be others behind them that can start
                self._stirred.set()
        return len(due) - len(crowded)

    def _begin(self, delivery: Delivery) -> timedelta | None:
        """Start a delivery, or return how long to postpone it if its host is busy."""
        try:
            url = canonical(delivery.callback)
        except UrlError as error:
            work = self._note(delivery, PostResult(why=error.message, is_refused=True))
        else:
            host = self._hosts.setdefault(url.host, _CallbackHost())
            if host.busy >= self._pace.per_host:
                return host.next_slot(self._timer(), self._pace)
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
            _log.error("defect in a delivery", exc_info=error)

    async def _deliver(self, url: Url, host: _CallbackHost, delivery: Delivery) -> None:
        began = self._timer()
        event = delivery.event
        try:
            with logging_about(message_id=event.message, url=event.url):
                await self._note(delivery, await self._posted(url, delivery))
        finally:
            host.finished(self._timer() - began)
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
            return PostResult(why="timed out")

    async def _note(self, delivery: Delivery, posted: PostResult) -> None:
        try:
            if 200 <= posted.status < 300:
                self._metrics.delivered(delivery.event.tenant, "delivered")
                await self._deliveries.delivered([delivery.id])
                return
            why = posted.why or f"status {posted.status}"
            age = self._clock() - delivery.event.at
            again = None if posted.is_refused else retry_in(delivery.tries, age, self._chance())
            self._metrics.delivered(delivery.event.tenant, "given_up" if again is None else "failed")
            await self._deliveries.failed(delivery.id, again, why[:_LONGEST_REASON])
        except ScoterError as error:  # its claim ends, and it is retried
            _log.warning("cannot record a delivery: %s", error)


def signature(secret: bytes, at: int, body: bytes) -> str:
    """Return the value of the signature header.

    >>> signature(b"secret", 1, b"{}")[:12]
    't=1,v1=11227'
    """
    return f"t={at},v1={hmac.new(secret, b'%d.%b' % (at, body), sha256).hexdigest()}"


# Shorter than ``DeliveryLimits.within``: a receiver that sent 200 and does not close has the delivery.
POST_LIMITS: Final = TransferLimits(
    body=64 * 1024, connect=timedelta(seconds=10), silence=timedelta(seconds=10), total=timedelta(seconds=20)
)
_BUDGET: Final = 8 * 2**20
_REFUSALS: Final = (Reason.REFUSED_ADDRESS, Reason.REFUSED_PORT, Reason.REFUSED_SCHEME)


def callback_check(guard: Guard) -> Callable[[str], str]:
    """Return a function that says why a callback URL is not allowed, or ""."""

    def check(text: str) -> str:
        try:
            url = canonical(text)
        except UrlError as error:
            return error.message
        if url.scheme not in WEB_PORTS:
            return f"{url.scheme}: is not http or https"
        parts = ada_url.URL(text)
        if parts.username or parts.password:  # canonical URLs have none, so posts would lack them
            return "it contains a user name or password, which are never sent; check the signature instead"
        refusal = guard.check_url(url)
        return refusal.detail if refusal else ""

    return check


class CurlPoster:
    """Posts with libcurl, behind the guard of all fetches: for the URL, the DNS answer and the socket."""

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
        """Post a body; failures are results."""
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
                return PostResult(why=answer.reason)  # even if the address is refused: the DNS entry may change back
            connect_to = route(url.host, port, answer.addresses[0], port)
        transfer = await self._loop().run(
            TransferRequest(
                url=url.text,
                headers=(self._agent, "Expect:", *(f"{name}: {value}" for name, value in headers)),
                connect_to=connect_to,
                check=self._guard.open_socket_check,
                options=((pycurl.POST, 1), (pycurl.POSTFIELDSIZE, len(body)), (pycurl.POSTFIELDS, body)),
            )
        )
        if transfer.status:
            return PostResult(transfer.status)
        return PostResult(why=transfer.detail, is_refused=transfer.reason in _REFUSALS)

    async def close(self) -> None:
        """Close all connections."""
        if self._curl is not None:
            self._curl.close()
            self._curl = None

    def _loop(self) -> CurlLoop:
        if self._curl is None:
            options = ((pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS), (pycurl.PATH_AS_IS, 1))
            # No handle is reused: libcurl cannot forget the body it was given.
            self._curl = CurlLoop(self._limits, concurrency=0, budget=_BUDGET, options=options)
        return self._curl
