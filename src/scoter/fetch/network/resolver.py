"""Names to addresses: the port, what it answers, and the cache that checks every answer.

``CachingResolver`` stands in front of any resolver. A name with a single address that the guard refuses is refused
whole, since whoever mixes public and private answers wants us to take the private one. What was checked is what is
connected to, so that an answer which changes between the check and the connection is of no use.
"""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Protocol, Self, TypeAlias

import pycares
from msgspec import Struct

from scoter.core.domain import is_ip
from scoter.fetch.network.guard import Guard

ENTRIES = 65_536
ADDRESSES = 16  # of one name that are kept; all of them are checked
LONGEST = 3_600.0  # seconds that any answer is remembered at most
UNKNOWN_FOR = 60.0  # seconds for which a name that does not exist, or that was refused, is not looked up again
FAILED_FOR = 5.0  # seconds for which a failed lookup is not tried again


class Resolved(Struct, frozen=True):
    """The addresses of a name, best first, and for how many seconds they hold."""

    addresses: tuple[str, ...]
    ttl: float


class NotResolved(Struct, frozen=True):
    """Why there is no address; ``refused`` when there are some and the guard does not let us ask them."""

    reason: str
    transient: bool
    refused: bool = False


Answer: TypeAlias = Resolved | NotResolved


class Resolver(Protocol):
    """Finds the addresses of a host name."""

    async def resolve(self, host: str) -> Answer: ...


class FakeResolver:
    """Answers from a table; a sequence gives one answer after the other and stays at its last.

    >>> resolver = FakeResolver({"example.org": ["93.184.215.14"]})
    """

    def __init__(self, table: Mapping[str, Answer | str | Sequence[Answer | str]], ttl: float = 300.0) -> None:
        self.asked: list[str] = []
        self._table = {
            name: (answers,) if isinstance(answers, str | Resolved | NotResolved) else tuple(answers)
            for name, answers in table.items()
        }
        self._ttl = ttl

    async def resolve(self, host: str) -> Answer:
        """Return the next answer of a name; a name that is not in the table does not exist."""
        looks = self.asked.count(host)
        self.asked.append(host)
        answers = self._table.get(host)
        if not answers:
            return NotResolved("no such name", transient=False)
        answer = answers[min(looks, len(answers) - 1)]
        return Resolved(tuple(answer.split()), self._ttl) if isinstance(answer, str) else answer


class CachingResolver:
    """Checks and remembers what another resolver says; one question at a time for each name.

    Those who ask for a name that is being looked up wait for the same answer. A lookup goes on as long as one of them
    waits, and ends with the last.
    """

    def __init__(
        self, inner: Resolver, guard: Guard, clock: Callable[[], float] = time.monotonic, *, entries: int = ENTRIES
    ) -> None:
        self._inner = inner
        self._guard = guard
        self._clock = clock
        self._entries = entries
        self._known: OrderedDict[str, tuple[float, Answer]] = OrderedDict()
        self._asking: dict[str, _Lookup] = {}

    def __repr__(self) -> str:
        return f"CachingResolver({len(self._known)} known, {len(self._asking)} being looked up)"

    async def resolve(self, host: str) -> Answer:
        """Return addresses that may be connected to, or why there are none."""
        name = host.lower().removesuffix(".")
        if is_ip(name):
            address = name.strip("[]")
            return self._checked(name, Resolved((address,), LONGEST))
        known = self._known.get(name)
        if known is not None and known[0] > self._clock():
            self._known.move_to_end(name)
            return known[1]
        lookup = self._asking.get(name)
        if lookup is None:
            lookup = self._asking[name] = _Lookup(asyncio.create_task(self._look_up(name)))
        lookup.waiting += 1
        try:
            return await asyncio.shield(lookup.task)
        finally:
            lookup.waiting -= 1
            if lookup.waiting == 0:
                self._forget(name, lookup)

    async def _look_up(self, name: str) -> Answer:
        answer = self._checked(name, await self._inner.resolve(name))
        self._known[name] = (self._clock() + _lifetime(answer), answer)
        self._known.move_to_end(name)
        while len(self._known) > self._entries:
            self._known.popitem(last=False)
        return answer

    def _forget(self, name: str, lookup: _Lookup) -> None:
        lookup.task.cancel()  # of no effect on one that is done
        if self._asking.get(name) is lookup:
            del self._asking[name]

    def _checked(self, name: str, answer: Answer) -> Answer:
        if isinstance(answer, NotResolved):
            return answer
        for address in answer.addresses:
            if why := self._guard.check_address(address):
                return NotResolved(f"{name} leads to {address}, which is not public: {why}", False, refused=True)
        if not answer.addresses:
            return NotResolved("the name has no address", transient=False)
        return Resolved(answer.addresses[:ADDRESSES], answer.ttl)


class _Lookup:
    """A question under way, and how many wait for its answer."""

    __slots__ = ("task", "waiting")

    def __init__(self, task: asyncio.Task[Answer]) -> None:
        self.task = task
        self.waiting = 0


def _lifetime(answer: Answer) -> float:
    if isinstance(answer, Resolved):
        return min(max(answer.ttl, 0.0), LONGEST)
    return FAILED_FOR if answer.transient else UNKNOWN_FOR


SHORTEST = 30.0  # seconds: a lower TTL would mean a question for nearly every page of a host
CHANNEL_LOOKUPS = 8_192

_FLAGS = pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_EDNS
# c-ares takes a C string: what stands behind a NUL would be checked by us and not seen by it.
_NAME = re.compile(r"[A-Za-z0-9._-]{1,254}")
# Nobody will find an address by asking again soon.
_FINAL = frozenset(
    (
        pycares.errno.ARES_ENOTFOUND,
        pycares.errno.ARES_ENODATA,
        pycares.errno.ARES_EBADNAME,
        pycares.errno.ARES_ENONAME,
    )
)

_Outcome: TypeAlias = tuple[pycares.AddrInfoResult | None, int | None]


class DnsResolver:
    """Asks the system's name servers, or those given as ``address`` or ``address:port``.

    ``timeout`` and ``tries`` bound each question, ``limit`` a whole lookup, ``in_flight`` the lookups at one time.
    """

    def __init__(
        self,
        servers: Sequence[str] = (),
        *,
        timeout: timedelta = timedelta(seconds=2),
        tries: int = 3,
        limit: timedelta = timedelta(seconds=15),
        in_flight: int = 64,  # more at once would overflow the buffers of a small name server
    ) -> None:
        self._servers = tuple(servers)
        self._timeout = timeout.total_seconds()
        self._tries = tries
        self._limit = limit.total_seconds()
        self._turns = asyncio.Semaphore(in_flight)
        self._channel: _Channel | None = None
        self._retired: set[_Channel] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all lookups; those who wait learn that they were cancelled."""
        for channel in (*self._retired, *((self._channel,) if self._channel else ())):
            channel.close()
        self._retired.clear()
        self._channel = None

    async def resolve(self, host: str) -> Answer:
        """Return the addresses of a name, or why there are none."""
        if _NAME.fullmatch(host) is None:
            return NotResolved("not a host name", transient=False)
        async with self._turns:
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
        # c-ares keeps every answer for its TTL, without a bound on their number; a new channel starts with none.
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
    """A channel of c-ares whose sockets and timer belong to the running loop."""

    def __init__(self, servers: Sequence[str], timeout: float, tries: int) -> None:
        self.asked = 0
        self.waiting: set[asyncio.Future[_Outcome]] = set()
        self._loop = asyncio.get_running_loop()
        self._reading: set[int] = set()
        self._writing: set[int] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._ares = pycares.Channel(
            flags=_FLAGS, timeout=timeout, tries=tries, servers=servers or None, sock_state_cb=self._watch
        )

    async def ask(self, host: str) -> _Outcome:
        """Return what c-ares found, or the number of its error."""
        answer: asyncio.Future[_Outcome] = self._loop.create_future()

        def arrived(result: pycares.AddrInfoResult | None, error: int | None) -> None:
            self.waiting.discard(answer)
            if not answer.done():
                answer.set_result((result, error))

        self.asked += 1
        self.waiting.add(answer)  # until c-ares is done with it, also when nobody awaits it any more
        self._ares.getaddrinfo(host, None, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM, callback=arrived)
        self._set_timer()
        return await answer

    def close(self) -> None:
        """Cancel what is under way and let go of the loop."""
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
            return  # called by the thread that takes the channel down
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
            # A hundredth more: c-ares counts in whole milliseconds, and woken too early it would only be asked again.
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
    return Resolved(tuple(found), min(max(float(ttl), SHORTEST), LONGEST))
