"""Events and their delivery to callbacks, in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from scoter.live.intake.journal_rules import MOST_GIVEN_UP
from scoter.live.ports import Delivery, DeliveryStatus, FailedDelivery, JournalEntry
from scoter.live.records import Event, UrlRecord
from scoter.live.tenants import announcement

MOST: Final = 100_000
KEPT: Final = timedelta(days=7)


class MemoryEvents:
    """The events (``ports.Events``); ``prune`` leaves at most ``most``, none older than ``kept``."""

    def __init__(self, clock: Callable[[], datetime], *, most: int = MOST, kept: timedelta = KEPT) -> None:
        self._clock = clock
        self._most = most
        self._kept = kept
        self._last = 0
        self._events: deque[Event] = deque()

    def add(self, entry: JournalEntry, record: UrlRecord) -> Event:
        self._last += 1
        event = announcement(self._last, entry.message, entry.url, self._clock(), record)
        self._events.append(event)
        return event

    async def since(self, number: int, most: int) -> Sequence[Event]:
        start = max(number + 1 - self.first(), 0)
        return list(islice(self._events, start, start + most))

    def last(self) -> int:
        return self._last

    def first(self) -> int:
        return self._events[0].number if self._events else self._last + 1

    async def prune(self, most: int, *, by_age: bool = True) -> int:
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
    why: str = ""


class MemoryDeliveries:
    """The deliveries (``ports.Deliveries``)."""

    def __init__(
        self,
        clock: Callable[[], datetime],
        steady_clock: Callable[[], float],
        *,
        most_given_up: int = MOST_GIVEN_UP,
    ) -> None:
        self._clock = clock
        self._steady_clock = steady_clock
        self._most_given_up = most_given_up
        self._pending: dict[str, _DeliveryState] = {}
        self._given_up: deque[FailedDelivery] = deque()

    def add(self, callback: str, event: Event) -> None:
        delivery = Delivery(id=uuid4().hex, callback=callback, event=event)
        self._pending[delivery.id] = _DeliveryState(delivery)

    async def due(self, most: int, claim: timedelta) -> Sequence[Delivery]:
        now = self._steady_clock()
        ready = sorted((each for each in self._pending.values() if each.due <= now), key=lambda each: each.due)[:most]
        taken = [each.delivery for each in ready]
        for each in ready:
            each.due = now + claim.total_seconds()
        return taken

    async def delivered(self, ids: Sequence[str]) -> None:
        for each in ids:
            self._pending.pop(each, None)

    async def failed(self, delivery: str, again_in: timedelta | None, why: str) -> None:
        found = self._pending.get(delivery)
        if found is None:
            return
        found.delivery = replace(found.delivery, tries=found.delivery.tries + 1)
        found.why = why
        if again_in is None:
            del self._pending[delivery]
            self._given_up.append(FailedDelivery(delivery=found.delivery, why=why, at=self._clock()))
        else:
            found.due = self._steady_clock() + again_in.total_seconds()

    async def unfinished(self, most: int, tenant: str | None = None) -> Sequence[DeliveryStatus]:
        now = self._steady_clock()
        pending = [
            DeliveryStatus(delivery=each.delivery, why=each.why, again_in=timedelta(seconds=max(0.0, each.due - now)))
            for each in self._pending.values()
        ]
        ended = [DeliveryStatus(delivery=each.delivery, why=each.why, given_up=each.at) for each in self._given_up]
        found = [each for each in (*pending, *ended) if tenant in (None, each.delivery.event.tenant)]
        return sorted(found, key=lambda each: -each.delivery.event.number)[:most]

    async def resend(self, delivery: str, tenant: str | None = None) -> bool:
        if delivery not in {each.delivery.id for each in await self.unfinished(MOST, tenant)}:
            return False
        for each in self._given_up:
            if each.delivery.id == delivery:
                self._given_up.remove(each)
                self._pending[delivery] = _DeliveryState(each.delivery, self._steady_clock(), each.why)
                return True
        if delivery in self._pending:
            self._pending[delivery].due = self._steady_clock()
        return delivery in self._pending

    async def put_off(self, again_in: Mapping[str, timedelta]) -> None:
        for each, pause in again_in.items():
            if (found := self._pending.get(each)) is not None:
                found.due = self._steady_clock() + pause.total_seconds()

    def given_up(self, most: int) -> Sequence[FailedDelivery]:
        return list(islice(reversed(self._given_up), most))

    def waiting(self, most: int, tenant: str | None = None) -> int:
        pending = [each.delivery.event.tenant for each in self._pending.values()]
        return min(most, len(pending) if tenant is None else pending.count(tenant))

    async def prune(self, most: int, *, by_age: bool = True) -> int:
        before, gone = self._clock() - KEPT, 0
        while (
            self._given_up
            and gone < most
            and ((by_age and self._given_up[0].at <= before) or len(self._given_up) > self._most_given_up)
        ):
            self._given_up.popleft()
            gone += 1
        return gone
