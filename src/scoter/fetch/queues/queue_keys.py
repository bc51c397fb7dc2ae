"""Which queue a URL belongs to: that of its host, of its registered domain, or of the IP address of its host.

Where the queue depends on the address, ``KeyLookups`` holds requests while their host is resolved. It resolves several
names at a time, so that a slow name server delays only the requests of its own names. Requests of one name keep their
order.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from scoter.config import Config
from scoter.core.bounded import BoundedMap
from scoter.core.domain import is_ip
from scoter.core.reply import Failed, Reason
from scoter.core.url import Url, queue_key
from scoter.fetch.network.allowed_hosts import WEB_PORTS
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.resolver import CachingResolver, DnsResolver, NotResolved, Resolver

MAX_LOOKUPS: Final = 64
MAX_WAITING: Final = 4_096
_KNOWN_HOSTS = 65_536
_PORTS = {**WEB_PORTS, "ftp": 21}


class QueueKeys:
    """Finds the queue of a URL by ``fetch.queue_mode``."""

    def __init__(self, config: Config, guard: Guard, resolver: Resolver | None = None) -> None:
        self._mode = config.fetch.queue_mode
        self._guard = guard
        self._resolver = resolver or CachingResolver(DnsResolver(), guard)
        self._addresses: BoundedMap[str, str] = BoundedMap(_KNOWN_HOSTS)

    def of(self, url: Url) -> str | Awaitable[str | Failed]:
        """Return the key of a URL's queue, or an awaitable of it if the host must be resolved first.

        The awaitable gives ``Failed`` if the host has no usable address.
        """
        key = self.if_known(url)
        return self.look_up(url) if key is None else key

    def if_known(self, url: Url) -> str | None:
        """Return the key of a URL's queue; ``None`` if the host must be resolved first."""
        if self._mode != "ip":
            return queue_key(url, self._mode)
        if not url.host or is_ip(url.host) or url.host in self._addresses:  # a file: URL has no host
            return self.without_lookup(url)
        return None

    def without_lookup(self, url: Url) -> str:
        """Return the key without resolving the host; a host that was not resolved yet is its own key."""
        if self._mode == "ip":
            return self._addresses.peek(url.host) or url.host.strip("[]")
        return queue_key(url, self._mode)

    async def look_up(self, url: Url) -> str | Failed:
        """Resolve a URL's host and return the key of its queue, or why there is none."""
        # Resolve only once: with a new address, requests already queued would be in the wrong queue.
        known = self.if_known(url)
        if known is not None:
            return known
        override = self._guard.override(url.host, url.port or _PORTS.get(url.scheme, 0))
        if override is not None:
            address = override[0]
        else:
            answer = await self._resolver.resolve(url.host)
            if isinstance(answer, NotResolved):
                reason = Reason.REFUSED_ADDRESS if answer.refused else Reason.UNRESOLVED
                return Failed(url, reason, answer.reason, blames_host=False)
            address = answer.addresses[0]
        self._addresses.put(url.host, address)
        return address


class KeyLookups:
    """Holds requests until the key of their host is known.

    Then ``take`` is awaited with the key and each request. ``on_error`` gets the error of a failed lookup or ``take``.
    """

    def __init__(
        self,
        take: Callable[[str | Failed, bytes], Awaitable[object]],
        on_error: Callable[[BaseException], None],
        *,
        max_lookups: int = MAX_LOOKUPS,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        self._take = take
        self._on_error = on_error
        self._max_lookups = max_lookups
        self._max_waiting = max_waiting
        self._waiting: dict[str, deque[bytes]] = {}
        self._requests = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_room = asyncio.Event()

    def __repr__(self) -> str:
        return f"KeyLookups({len(self._waiting)} names, {self._requests} requests)"

    def __len__(self) -> int:
        """Return how many names are being looked up."""
        return len(self._waiting)

    def __contains__(self, name: str) -> bool:
        return name in self._waiting

    async def add(self, name: str, data: bytes, look_up: Callable[[], Awaitable[str | Failed]]) -> None:
        """Add a request, waiting while there are too many."""
        while self._requests >= self._max_waiting or (
            name not in self._waiting and len(self._waiting) >= self._max_lookups
        ):
            self._has_room.clear()
            await self._has_room.wait()
        self._requests += 1
        waiting = self._waiting.get(name)
        if waiting is not None:
            waiting.append(data)
            return
        self._waiting[name] = deque([data])
        task = asyncio.create_task(self._run(name, look_up))
        self._tasks.add(task)
        task.add_done_callback(self._on_done)

    async def join(self) -> None:
        """Return when all lookups have ended."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def cancel(self) -> list[bytes]:
        """Cancel all lookups and return the requests that waited for them."""
        for task in self._tasks:
            task.cancel()
        left = [data for waiting in self._waiting.values() for data in waiting]
        self._waiting.clear()
        self._requests = 0
        return left

    async def _run(self, name: str, look_up: Callable[[], Awaitable[str | Failed]]) -> None:
        key = await look_up()
        while waiting := self._waiting.get(name):
            await self._take(key, waiting[0])
            waiting.popleft()
            self._requests -= 1
            self._has_room.set()
        self._waiting.pop(name, None)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._has_room.set()
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._on_error(error)
