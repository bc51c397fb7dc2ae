"""Requests between workers and the core, direct requests, and the replies for requests that are not made."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Final

from scoter.core.reply import Failed, Reason, Reply, Request
from scoter.core.robots_cache import StoredRobots
from scoter.live.api.records import DomainRule
from scoter.live.fetching.wire import (
    FrameConnection,
    HopDone,
    HopRefused,
    MakeHop,
    RefusalReason,
    RobotsAnswer,
    RobotsQuery,
    RobotsUpdate,
    WireConnection,
    WireMessage,
)
from scoter.live.records import Priority


def blocked_reply(request: Request, rule: DomainRule) -> Failed:
    """Reply for a request to a blocked domain."""
    detail = f"{rule.domain} is blocked" + (f": {rule.note}" if rule.note else "")
    return Failed(request.url, Reason.REFUSED_ADDRESS, detail, transient=False, blames_host=False)


def on_hold_reply(request: Request, hold: float) -> Failed:
    """Reply for a request to a domain that is on hold for too long."""
    detail = f"the domain is on hold for another {hold:.0f} s"
    return Failed(request.url, Reason.BUSY, detail, blames_host=False, retry_after=timedelta(seconds=hold))


def stopping_reply(request: Request) -> Failed:
    """Reply for a request that is not made because the service stops."""
    return Failed(request.url, Reason.STOPPED, "the service is stopping", blames_host=False)


def crashing_reply(request: Request, deaths: int) -> Failed:
    """Reply for a request that keeps crashing its worker."""
    detail = f"{deaths} worker processes crashed while they handled it"
    return Failed(request.url, Reason.BROKEN_PLUGIN, detail, blames_host=False)


def oversized_reply(request: Request) -> Failed:
    """Reply for a request whose real reply does not fit into a message between processes."""
    return Failed(request.url, Reason.TOO_LARGE, "its reply does not fit into a message of Kafka", blames_host=False)


def abandoned_reply(request: Request) -> Failed:
    """Reply for a hop that was refused too often by workers that did not hold its shard."""
    # For a forwarded robots.txt: the worker that needs it treats it as unreachable for a while.
    return Failed(request.url, Reason.ROBOTS_UNREACHABLE, "it was not requested in time", blames_host=False)


_ROBOTS_TIMEOUT: Final = 2.0  # seconds to wait for the core before requesting the robots.txt
_ROBOTS_BATCH: Final = 0.05


class CoreRobotsCache:
    """The robots.txt cache of the core, as a worker sees it; empty without a core."""

    def __init__(self, core: WireConnection) -> None:
        self._core = core
        self._asked: dict[str, asyncio.Future[StoredRobots | None]] = {}
        self._learnt: list[RobotsUpdate] = []

    async def get(self, origin: str) -> StoredRobots | None:
        if not self._core.is_open:
            return None
        found = self._asked.get(origin)
        if found is None:
            found = self._asked[origin] = asyncio.get_running_loop().create_future()
            self._core.send(RobotsQuery(origin))
        try:
            async with asyncio.timeout(_ROBOTS_TIMEOUT):
                return await asyncio.shield(found)
        except TimeoutError:
            self._asked.pop(origin, None)
            return None

    async def put(self, origin: str, stored: StoredRobots) -> None:
        # Delayed: the core must know the crawl delay before other workers can see these rules.
        if not self._learnt:
            asyncio.get_running_loop().call_later(_ROBOTS_BATCH, self._tell)
        self._learnt.append(RobotsUpdate(origin, stored))

    def found(self, answer: RobotsAnswer) -> None:
        """Take the core's answer."""
        waiting = self._asked.pop(answer.origin, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer.stored)

    def lose_core(self) -> None:
        """Answer all waiting requests: the core is gone."""
        for origin in tuple(self._asked):
            self.found(RobotsAnswer(origin, None))

    def _tell(self) -> None:
        for each in self._learnt:
            self._core.send(each)
        self._learnt.clear()


class ForwardedHops:
    """Hops to domains that another worker holds, forwarded through the core."""

    def __init__(self, core: WireConnection) -> None:
        self._core = core
        self._asked: dict[int, tuple[Request, asyncio.Future[Reply]]] = {}
        self._last = 0

    async def __call__(self, request: Request) -> Reply:
        if not self._core.is_open:
            return _no_core_reply(request)
        self._last += 1
        number = self._last
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._asked[number] = (request, reply)
        self._core.send(MakeHop(number, request, Priority.PERSON, is_forwarded=True))
        try:
            return await reply
        finally:
            self._asked.pop(number, None)

    def answered(self, number: int, reply: Reply) -> None:
        """Take the core's answer."""
        found = self._asked.get(number)
        if found is not None and not found[1].done():
            found[1].set_result(reply)

    def lose_core(self) -> None:
        """Answer all waiting requests: the core is gone."""
        for number, (request, _) in tuple(self._asked.items()):
            self.answered(number, _no_core_reply(request))


def _no_core_reply(request: Request) -> Reply:
    return Failed(request.url, Reason.STOPPED, "no worker may request its domain", blames_host=False)


_BUSY_RETRY: Final = 0.1  # seconds


async def fetch_directly(folder: Path, request: Request, priority: Priority = Priority.NORMAL) -> Reply:
    """Make one hop through the worker that holds the domain; if there is none, the reply says so."""
    # Ask all of them at once: one may hang.
    asking = [asyncio.ensure_future(_ask_patiently(path, request, priority)) for path in _sockets(folder)]
    try:
        for answered in asyncio.as_completed(asking):
            answer = await answered
            if isinstance(answer, HopDone):
                reply: Reply = answer.reply
                return reply
            if isinstance(answer, HopRefused) and answer.why is RefusalReason.ON_HOLD:
                return on_hold_reply(request, answer.hold)
    finally:
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    return Failed(request.url, Reason.STOPPED, "no worker process holds its domain", blames_host=False)


def _sockets(folder: Path) -> list[Path]:
    return sorted(folder.glob("fetcher-*.sock"))


async def _ask_patiently(path: Path, request: Request, priority: Priority) -> WireMessage | None:
    """Return the answer of a worker, retrying while its queue is full; ``None`` if it is gone."""
    answer = await _ask(path, request, priority)
    while isinstance(answer, HopRefused) and answer.why is RefusalReason.BUSY:
        await asyncio.sleep(_BUSY_RETRY)
        answer = await _ask(path, request, priority)
    return answer


async def _ask(path: Path, request: Request, priority: Priority) -> WireMessage | None:
    """Return the answer of a worker, or ``None`` if it is gone."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[WireMessage | None] = loop.create_future()

    def settle(message: WireMessage | None = None) -> None:
        if not answer.done():
            answer.set_result(message)

    try:
        _, frames = await loop.create_unix_connection(lambda: FrameConnection(settle, settle), str(path))
    except OSError:
        return None
    try:
        frames.send(MakeHop(1, request, priority))
        return await answer
    finally:
        frames.close()


def hold_reason(reply: Reply, hold: float, pause: float) -> str:
    """Return why a domain is on hold after a reply."""
    if hold <= pause:
        return "the delay between requests"
    if isinstance(reply, Failed):
        if reply.retry_after is not None:
            return f"the site asked to wait: {reply.reason}"
        return f"back-off after a failure: {reply.reason}"
    return "a longer delay, because the site is slow or asked for it"
