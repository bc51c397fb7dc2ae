"""Shares of what is limited: one key, or one address without a key, cannot use all of it and shut out the others."""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import lru_cache

from msgspec import Struct

from scoter.config.sections.live import WebSettings
from scoter.errors import UserError


class ShareExceeded(UserError):
    """A caller uses its share; ``retry_after`` is in seconds."""

    def __init__(self, message: str, retry_after: float = 5.0) -> None:
        super().__init__(message, hint="Wait until others of your own have ended (web.share).")
        self.retry_after = retry_after


class Shares:
    """Counts what each caller uses of something, and refuses more than its share, which is at least one."""

    def __init__(self, what: str, most: int, share: float) -> None:
        """``what`` is the plural of what is limited to ``most`` in all."""
        self._what = what
        self.most = max(1, int(most * share))
        self._used: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._used.total()

    def check(self, caller: str) -> None:
        """Raise ``ShareExceeded`` if a caller has used up its share."""
        self.compare(self._used[caller])

    def compare(self, used: int) -> None:
        """Raise ``ShareExceeded`` if ``used`` is already a whole share."""
        if used >= self.most:
            raise ShareExceeded(f"you have {used} {self._what} under way, which is your share")

    @contextmanager
    def use(self, caller: str) -> Iterator[None]:
        """Use one until the block ends; raise ``ShareExceeded`` if the caller uses its share."""
        self.check(caller)
        self._used[caller] += 1
        try:
            yield
        finally:
            self._used[caller] -= 1
            if not self._used[caller]:
                del self._used[caller]


class FairSlots:
    """Slots for which callers wait in turn: each gets one before any gets a second."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}  # the caller whose turn is next comes first

    @asynccontextmanager
    async def slot(self, caller: str) -> AsyncIterator[None]:
        """Hold a slot until the block ends."""
        await self._acquire(caller)
        try:
            yield
        finally:
            self._release()

    async def _acquire(self, caller: str) -> None:
        if self._free and not self._queues:
            self._free -= 1
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(caller, deque()).append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():  # it got a slot at the same moment
                self._release()
            raise

    def _release(self) -> None:
        self._free += 1
        while self._free and self._queues:
            caller = next(iter(self._queues))
            queue = self._queues.pop(caller)
            waiting = queue.popleft()
            if queue:
                self._queues[caller] = queue  # behind the others
            if not waiting.done():  # not cancelled
                waiting.set_result(None)
                self._free -= 1


class ApiShares(Struct, frozen=True):
    """The shares of the live service's API."""

    streams: Shares
    waiting: Shares
    fetches: Shares

    @classmethod
    def of(cls, web: WebSettings) -> ApiShares:
        return cls(
            streams=Shares("event streams", web.streams, web.share),
            waiting=Shares("waiting lookups", web.waiting, web.share),
            fetches=Shares("fetches", web.fetches, web.share),
        )


@lru_cache(maxsize=1_024)
def address_name(address: str) -> str:
    """Return the name under which a client without a key is counted: its address, or the network of an IPv6 address.

    >>> address_name("192.0.2.7"), address_name("2001:db8::1:2"), address_name("")
    ('192.0.2.7', '2001:db8::/64', '')
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 4:
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))  # one household has at least that many addresses
