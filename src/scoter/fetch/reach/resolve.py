"""Names to addresses: the port, what it answers, and the cache that checks every answer.

``CachingResolver`` stands in front of any resolver. A name with a single address that the guard refuses is refused
whole, since whoever mixes public and private answers wants us to take the private one. What was checked is what is
connected to, so that an answer which changes between the check and the connection is of no use.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from scoter.core.domain import is_ip
from scoter.fetch.reach.guard import Guard

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
