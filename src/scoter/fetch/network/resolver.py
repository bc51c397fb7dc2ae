"""DNS: host names to addresses that the guard has checked.

``CachingResolver`` checks and caches the answers of another resolver. If the guard refuses one address of a name, the
name is refused: a server that mixes public and private addresses wants us to use the private one. We connect to the
addresses that were checked, so an answer that changes between check and connection (DNS rebinding) has no effect.

``DnsResolver`` runs c-ares on the event loop, without a thread. c-ares reads the hosts file first, asks for A and AAAA
in parallel, follows CNAME chains, repeats truncated answers over TCP, and sorts the addresses so that reachable ones
come first. Search domains are not used: a name in a URL is complete, and ``intranet`` on a stranger's page must not
become ``intranet.our.example``.
"""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Protocol, TypeAlias

import pycares
from msgspec import Struct

from scoter.core.bounded import BoundedMap
from scoter.core.domain import is_ip
from scoter.fetch.network.guard import Guard

ENTRIES = 65_536
ADDRESSES = 16  # kept per name; all are checked
MAX_TTL = 3_600.0  # seconds
UNKNOWN_TTL = 60.0  # seconds; for names that do not exist or were refused
FAILED_TTL = 5.0  # seconds; for lookups that failed
MIN_TTL = 30.0  # seconds; a lower one would mean a lookup for nearly every page
CHANNEL_LOOKUPS = 8_192

_FLAGS = pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_EDNS
# c-ares takes a C string: it would not see what follows a NUL, which we would check.
_NAME = re.compile(r"[A-Za-z0-9._-]{1,254}")
# Asking again soon will not help.
_FINAL = frozenset(
    (
        pycares.errno.ARES_ENOTFOUND,
        pycares.errno.ARES_ENODATA,
        pycares.errno.ARES_EBADNAME,
        pycares.errno.ARES_ENONAME,
    )
)

_AresResult: TypeAlias = tuple[pycares.AddrInfoResult | None, int | None]


class Resolved(Struct, frozen=True):
    """The addresses of a name, best first, and their time to live in seconds."""

    addresses: tuple[str, ...]
    ttl: float


class NotResolved(Struct, frozen=True):
    """Why there is no address; ``refused`` if the guard refused one."""

    reason: str
    transient: bool
    refused: bool = False


Answer: TypeAlias = Resolved | NotResolved


class Resolver(Protocol):
    """Finds the addresses of a host name."""

    async def resolve(self, host: str) -> Answer: ...


class CachingResolver:
    """Checks and caches the answers of another resolver, with one lookup at a time per name.

    Callers that ask for a name that is being looked up share the answer. A lookup is cancelled with its last caller.
    """

    def __init__(
        self, inner: Resolver, guard: Guard, clock: Callable[[], float] = time.monotonic, *, entries: int = ENTRIES
    ) -> None:
        self._inner = inner
        self._guard = guard
        self._clock = clock
        self._known: BoundedMap[str, tuple[float, Answer]] = BoundedMap(entries)
        self._lookups: dict[str, _Lookup] = {}

    def __repr__(self) -> str:
        return f"CachingResolver({len(self._known)} known, {len(self._lookups)} being looked up)"

    async def resolve(self, host: str) -> Answer:
        """Return addresses that may be connected to, or why there are none."""
        name = host.lower().removesuffix(".")
        if is_ip(name):
            address = name.strip("[]")
            return self._checked(name, Resolved((address,), MAX_TTL))
        known = self._known.get(name)
        if known is not None and known[0] > self._clock():
            return known[1]
        lookup = self._lookups.get(name)
        if lookup is None:
            lookup = self._lookups[name] = _Lookup(asyncio.create_task(self._look_up(name)))
        lookup.waiting += 1
        try:
            return await asyncio.shield(lookup.task)
        finally:
            lookup.waiting -= 1
            if lookup.waiting == 0:
                lookup.task.cancel()  # no effect on one that is done
                if self._lookups.get(name) is lookup:
                    del self._lookups[name]

    async def _look_up(self, name: str) -> Answer:
        answer = self._checked(name, await self._inner.resolve(name))
        self._known.put(name, (self._clock() + _lifetime(answer), answer))
        return answer

    def _checked(self, name: str, answer: Answer) -> Answer:
        if isinstance(answer, NotResolved):
            return answer
        if refused := self._guard.check_answer(name, answer.addresses):
            address, why = refused
            return NotResolved(f"{name} resolves to {address}, which is not public: {why}", False, refused=True)
        if not answer.addresses:
            return NotResolved("the name has no address", transient=False)
        return Resolved(answer.addresses[:ADDRESSES], answer.ttl)


class _Lookup:
    """A lookup in progress and how many callers wait for it."""

    __slots__ = ("task", "waiting")

    def __init__(self, task: asyncio.Task[Answer]) -> None:
        self.task = task
        self.waiting = 0


def _lifetime(answer: Answer) -> float:
    if isinstance(answer, Resolved):
        return min(max(answer.ttl, 0.0), MAX_TTL)
    return FAILED_TTL if answer.transient else UNKNOWN_TTL


class DnsResolver:
    """Asks the system's name servers, or those given as ``address`` or ``address:port``.

    ``timeout`` and ``tries`` bound each query, ``limit`` a whole lookup, ``in_flight`` the concurrent lookups.
    """

    def __init__(
        self,
        servers: Sequence[str] = (),
        *,
        timeout: timedelta = timedelta(seconds=2),
        tries: int = 3,
        limit: timedelta = timedelta(seconds=15),
        in_flight: int = 64,  # more would overflow the buffers of a small name server
    ) -> None:
        self._servers = tuple(servers)
        self._timeout = timeout.total_seconds()
        self._tries = tries
        self._limit = limit.total_seconds()
        self._slots = asyncio.Semaphore(in_flight)
        self._channel: _Channel | None = None
        self._retired: set[_Channel] = set()

    def close(self) -> None:
        """Cancel all lookups."""
        for channel in (*self._retired, *((self._channel,) if self._channel else ())):
            channel.close()
        self._retired.clear()
        self._channel = None

    async def resolve(self, host: str) -> Answer:
        """Return the addresses of a name, or why there are none."""
        if _NAME.fullmatch(host) is None:
            return NotResolved("not a host name", transient=False)
        async with self._slots:
            channel = self._open()
            try:
                async with asyncio.timeout(self._limit):
                    result, error = await channel.ask(host)
            except TimeoutError:
                return NotResolved(f"no answer within {self._limit:g} s", transient=True)
            finally:
                self._tidy()
        return _answer(result, error)

    def _open(self) -> _Channel:
        # c-ares caches every answer for its TTL without a bound; a new channel starts with an empty cache.
        if self._channel is not None and self._channel.asked >= CHANNEL_LOOKUPS:
            self._retired.add(self._channel)
            self._channel = None
        if self._channel is None:
            self._channel = _Channel(self._servers, self._timeout, self._tries)
        return self._channel

    def _tidy(self) -> None:
        for channel in [channel for channel in self._retired if not channel.waiting]:
            channel.close()
            self._retired.discard(channel)


class _Channel:
    """A c-ares channel whose sockets and timer belong to the running loop."""

    def __init__(self, servers: Sequence[str], timeout: float, tries: int) -> None:
        self.asked = 0
        self.waiting: set[asyncio.Future[_AresResult]] = set()
        self._loop = asyncio.get_running_loop()
        self._reading: set[int] = set()
        self._writing: set[int] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._ares = pycares.Channel(
            flags=_FLAGS, timeout=timeout, tries=tries, servers=servers or None, sock_state_cb=self._watch
        )

    async def ask(self, host: str) -> _AresResult:
        """Return the result of c-ares, or its error code."""
        answer: asyncio.Future[_AresResult] = self._loop.create_future()

        def arrived(result: pycares.AddrInfoResult | None, error: int | None) -> None:
            self.waiting.discard(answer)
            if not answer.done():
                answer.set_result((result, error))

        self.asked += 1
        self.waiting.add(answer)  # until c-ares is done with it, even if nobody awaits it any more
        self._ares.getaddrinfo(host, None, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM, callback=arrived)
        self._set_timer()
        return await answer

    def close(self) -> None:
        """Cancel lookups in progress and leave the loop."""
        if self._closed:
            return
        self._ares.cancel()  # here, so that the callbacks run on this thread
        self._closed = True
        for fd in self._reading:
            self._loop.remove_reader(fd)
        for fd in self._writing:
            self._loop.remove_writer(fd)
        if self._timer is not None:
            self._timer.cancel()
        self._ares.close()

    def _watch(self, fd: int, readable: bool, writable: bool) -> None:
        if self._closed:
            return  # called by the thread that destroys the channel
        if readable and fd not in self._reading:
            self._reading.add(fd)
            self._loop.add_reader(fd, self._process, fd, pycares.ARES_SOCKET_BAD)
        elif not readable and fd in self._reading:
            self._reading.discard(fd)
            self._loop.remove_reader(fd)
        if writable and fd not in self._writing:
            self._writing.add(fd)
            self._loop.add_writer(fd, self._process, pycares.ARES_SOCKET_BAD, fd)
        elif not writable and fd in self._writing:
            self._writing.discard(fd)
            self._loop.remove_writer(fd)

    def _process(self, read: int, write: int) -> None:
        if not self._closed:
            self._ares.process_fd(read, write)
            self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.waiting and not self._closed:
            # A hundredth more: c-ares counts whole milliseconds and does nothing if woken too early.
            delay: float = self._ares.timeout() + 0.01  # type: ignore[no-untyped-call]
            self._timer = self._loop.call_later(delay, self._process, pycares.ARES_SOCKET_BAD, pycares.ARES_SOCKET_BAD)


def _answer(result: pycares.AddrInfoResult | None, error: int | None) -> Answer:
    if result is None or error is not None:
        code = pycares.errno.ARES_ENODATA if error is None else error
        return NotResolved(str(pycares.errno.strerror(code)), transient=code not in _FINAL)
    found = dict.fromkeys(node.addr[0].decode("ascii") for node in result.nodes)
    if not found:
        return NotResolved("the name has no address", transient=False)
    ttl = min([node.ttl for node in result.nodes] + [alias.ttl for alias in result.cnames])
    return Resolved(tuple(found), min(max(float(ttl), MIN_TTL), MAX_TTL))
