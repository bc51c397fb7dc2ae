"""Events and their deliveries, in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from scoter.live.journal_rules import MOST_GIVEN_UP
from scoter.live.ports import Delivery, FailedDelivery, JournalEntry
from scoter.live.records import Event, UrlRecord

MOST: Final = 100_000
KEPT: Final = timedelta(days=7)


class MemoryEvents:
    """Announcements in their order; at most ``most`` of them, none for longer than ``kept`` when it is pruned."""

    def __init__(self, clock: Callable[[], datetime], *, most: int = MOST, kept: timedelta = KEPT) -> None:
        self._clock = clock
        self._most = most
        self._kept = kept
        self._last = 0
        self._events: deque[Event] = deque()

    def add(self, entry: JournalEntry, record: UrlRecord) -> Event:
        """Announce an outcome."""
        self._last += 1
        event = Event(number=self._last, message=entry.message, url=entry.url, at=self._clock(), record=record)
        self._events.append(event)
        return event

    def since(self, number: int, most: int) -> Sequence[Event]:
        """Return the next events after a number."""
        start = max(number + 1 - self.first(), 0)
        return list(islice(self._events, start, start + most))

    def last(self) -> int:
        """Return the number of the newest event, 0 before the first."""
        return self._last

    def first(self) -> int:
        """Return the oldest number that is still kept; the next one that will be given where none is."""
        return self._events[0].number if self._events else self._last + 1

    async def prune(self, most: int, *, by_age: bool = True) -> int:
        """Forget at most so many events that are too many or, if ``by_age``, too old; return how many."""
        before, gone = self._clock() - self._kept, 0
        while self._events and gone < most:
            oldest = self._events[0]
            if oldest.number > self._last - self._most and not (by_age and oldest.at <= before):
                break
            self._events.popleft()
            gone += 1
        return gone


class _DeliveryState(Struct):
    delivery: Delivery
    due: float = 0.0


class MemoryDeliveries:
    """Callbacks that are due, kept until they were received or given up; those given up are shown for ``kept``."""

    def __init__(
        self,
        clock: Callable[[], datetime],
        lease_clock: Callable[[], float],
        *,
        kept: timedelta = KEPT,
        most_given_up: int = MOST_GIVEN_UP,
    ) -> None:
        self._clock = clock
        self._lease_clock = lease_clock
        self._kept = kept
        self._most_given_up = most_given_up
        self._pending: dict[str, _DeliveryState] = {}
        self._given_up: deque[FailedDelivery] = deque()

    def add(self, callback: str, event: Event) -> None:
        """Have an event delivered."""
        delivery = Delivery(id=uuid4().hex, callback=callback, event=event)
        self._pending[delivery.id] = _DeliveryState(delivery)

    async def due(self, most: int, lease: timedelta) -> Sequence[Delivery]:
        """Take deliveries whose time has come, longest due first."""
        now = self._lease_clock()
        ready = sorted((each for each in self._pending.values() if each.due <= now), key=lambda each: each.due)[:most]
        taken = [each.delivery for each in ready]
        for each in ready:
            each.due = now + lease.total_seconds()
        return taken

    async def delivered(self, ids: Sequence[str]) -> None:
        """Forget what was received."""
        for each in ids:
            self._pending.pop(each, None)

    async def failed(self, delivery: str, again_in: timedelta | None, why: str) -> None:
        """Try again later; none gives up."""
        found = self._pending.get(delivery)
        if found is None:
            return
        found.delivery = replace(found.delivery, tries=found.delivery.tries + 1)
        if again_in is None:
            del self._pending[delivery]
            self._given_up.append(FailedDelivery(delivery=found.delivery, why=why, at=self._clock()))
        else:
            found.due = self._lease_clock() + again_in.total_seconds()

    async def put_off(self, again_in: Mapping[str, timedelta]) -> None:
        """Give deliveries back that were not tried."""
        for each, pause in again_in.items():
            if (found := self._pending.get(each)) is not None:
                found.due = self._lease_clock() + pause.total_seconds()

    def given_up(self, most: int) -> Sequence[FailedDelivery]:
        """Return those that were given up last, the newest first."""
        return list(islice(reversed(self._given_up), most))

    def waiting(self, most: int) -> int:
        """Return how many were neither received nor given up; of more than ``most``, that."""
        return min(most, len(self._pending))

    async def prune(self, most: int, *, by_age: bool = True) -> int:
        """Forget at most so many that were given up before too many others or, if ``by_age``, long ago."""
        before, gone = self._clock() - self._kept, 0
        while (
            self._given_up
            and gone < most
            and ((by_age and self._given_up[0].at <= before) or len(self._given_up) > self._most_given_up)
        ):
            self._given_up.popleft()
            gone += 1
        return gone
