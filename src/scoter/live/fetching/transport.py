"""The transport of a worker: checks the lease immediately before each request."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from scoter.core.reply import Reply, Request
from scoter.core.url import queue_key
from scoter.fetch.filters import untimed
from scoter.fetch.protocols.dispatch import Protocols
from scoter.fetch.queues.hostqueue import LONGEST_BACKOFF
from scoter.live.fetching.lease import ShardLease
from scoter.live.fetching.shards import shard_of
from scoter.plugins import FetchProtocol

_SETTLED: Final = LONGEST_BACKOFF  # seconds after which the previous holder of a shard does not matter


class LeasedTransport(Protocols):
    """The transport of a worker, which holds only some shards.

    Without a valid lease a request waits here for the next one. Requests to shards of another process (the target of a
    redirected robots.txt, or a shard that was just recalled) go to ``forward``.
    """

    def __init__(
        self,
        chain: Sequence[tuple[str, FetchProtocol]],
        *,
        lease: ShardLease,
        shards: int,
        now: Callable[[], float],
        pause_of: Callable[[str], float],
        forward: Callable[[Request], Awaitable[Reply]],
        on_idle: Callable[[], None],
        delegated: Callable[[], AbstractContextManager[None]] = nullcontext,
        begin_late: Callable[[str], float] = lambda domain: 0.0,
        refusal: Callable[[Request, str], Reply | None] = lambda request, domain: None,
    ) -> None:
        """``refusal`` returns the reply for a blocked domain."""
        super().__init__(chain)
        self._lease = lease
        self._shards = shards
        self._now = now
        self._pause_of = pause_of
        self._forward = forward
        self._on_idle = on_idle
        self._delegated = delegated
        self._begin_late = begin_late
        self._refusal = refusal
        self._active: Counter[int] = Counter()
        self._last: dict[int, float] = {}
        self._changed: asyncio.Future[None] | None = None
        self.began: dict[bytes, float] = {}

    def __repr__(self) -> str:
        return f"LeasedTransport({self._active.total()} under way, {self._lease!r})"

    async def __call__(self, request: Request) -> Reply:
        domain = queue_key(request.url, "domain")
        refused = self._refusal(request, domain)
        if refused is not None:
            return refused
        shard = shard_of(domain, self._shards)
        if not self._is_ready(shard, domain):
            with untimed():  # this time is not spent waiting for the server
                while not await self._admits(shard, domain):
                    reply = await self._ask_forward(request, shard)
                    if reply is not None:
                        return reply
        self._active[shard] += 1
        if request.context in self.began:
            self.began[request.context] = self._now()
        try:
            return await super().__call__(request)
        finally:
            self._active[shard] -= 1
            self._last[shard] = self._now()
            if not self._active[shard]:
                del self._active[shard]
                if shard not in self._lease:
                    self._on_idle()

    @property
    def under_way(self) -> int:
        """The number of requests under way."""
        return self._active.total()

    def is_idle(self, shard: int) -> bool:
        """Return whether no request of a shard is under way."""
        return shard not in self._active

    def asked_last(self, shard: int) -> float:
        """Return when the last request to a shard's domains ended here; 0 if there was none."""
        return self._last.get(shard, 0.0)

    def look(self) -> None:
        """Wake waiting requests: the lease or a rule has changed."""
        if self._changed is not None:
            self._changed.set_result(None)
            self._changed = None

    def _hold_left(self, shard: int, domain: str, now: float) -> float:
        """Return the seconds until a domain's delay after the last request of another process is over."""
        since = self._lease.since(shard)
        return since + self._pause_of(domain) - now if now - since < _SETTLED else 0.0

    def _is_ready(self, shard: int, domain: str) -> bool:
        now = self._now()
        return self._lease.may_ask(shard, now) and self._hold_left(shard, domain, now) <= 0

    async def _admits(self, shard: int, domain: str) -> bool:
        has_waited = False
        while shard in self._lease:
            now = self._now()
            hold = self._hold_left(shard, domain, now)
            if hold > 0:
                has_waited = True
                await asyncio.wait([self._change()], timeout=hold)  # a rule may shorten it
            elif not self._lease.may_ask(shard, now):
                has_waited = True
                await asyncio.wait([self._change()])
            elif has_waited and (later := self._begin_late(domain)) > 0:
                has_waited = False  # other requests of the domain waited too: spread them
                await asyncio.sleep(later)
            else:
                return True
        return False

    async def _ask_forward(self, request: Request, shard: int) -> Reply | None:
        """Return the reply from another process; ``None`` if this process gets the shard meanwhile.

        In that case the forwarded request would come back here, and wait for the slot that it occupies itself.
        """
        asking = asyncio.ensure_future(self._forward(request))
        try:
            with self._delegated():
                while not asking.done():
                    if shard in self._lease:
                        return None
                    either: list[asyncio.Future[Any]] = [asking, self._change()]
                    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            return asking.result()
        finally:
            asking.cancel()

    def _change(self) -> asyncio.Future[None]:
        if self._changed is None:
            self._changed = asyncio.get_running_loop().create_future()
        return self._changed
