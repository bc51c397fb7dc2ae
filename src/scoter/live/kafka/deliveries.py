"""Deliveries to callbacks in a cluster (``ports.Deliveries``): one api process at a time delivers, by a consumer group.

The topic of events has one partition, so the group of webhooks has one active member. It stores a delivery in
Cassandra for each event with a callback, before it commits its position, and delivers what is due. When it ends,
another api process takes over. Times until the next try begin anew then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import NAMESPACE_URL, uuid5

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from scoter.config.sections.cluster import KafkaClusterSettings
from scoter.errors import ScoterError
from scoter.live.background import VitalTasks
from scoter.live.clock import steady_now, utc_now
from scoter.live.intake.journal_rules import MOST_GIVEN_UP
from scoter.live.kafka.cassandra import CassandraSession
from scoter.live.kafka.consumer import GroupMember, Place, ReceivedMessage
from scoter.live.kafka.faults import FAULTS, FaultKind
from scoter.live.kafka.kafka import TopicNames
from scoter.live.kafka.messages import UnreadableMessage, event_values
from scoter.live.ports import Delivery, DeliveryStatus, FailedDelivery

CALLBACK: Final = "callback"
"""The header of an event whose message has a callback."""
_PART: Final = 0
_PUT: Final = "INSERT INTO deliveries (part, id, value) VALUES (?, ?, ?) USING TTL ?"
_ALL: Final = "SELECT id, value FROM deliveries WHERE part = ?"
_DELETE: Final = "DELETE FROM deliveries WHERE part = ? AND id = ?"
_KEPT: Final = 8 * 86_400  # seconds: retried for a day, and listed for a week after they were given up
_GIVEN_UP_FOR: Final = timedelta(days=7)
_MOST_OPEN: Final = 5_000
_RETRY: Final = 1.0
_log = logging.getLogger(__name__)


class StoredDelivery(Struct, frozen=True, kw_only=True):
    """A delivery as stored: ``ended`` if it was given up, and why it failed last."""

    delivery: Delivery
    why: str = ""
    ended: datetime | None = None


_decoder: Final = msgspec.json.Decoder(StoredDelivery)


class _Waiting(Struct):
    stored: StoredDelivery
    due: float
    is_lent: bool = False


class CassandraDeliveries:
    """The deliveries of a service. Only the process that is ``load``\\ ed delivers them."""

    def __init__(
        self,
        session: CassandraSession,
        *,
        clock: Callable[[], datetime] = utc_now,
        steady_clock: Callable[[], float] = steady_now,
        most_given_up: int = MOST_GIVEN_UP,
    ) -> None:
        self._session = session
        self._clock = clock
        self._steady_clock = steady_clock
        self._most_given_up = most_given_up
        self._rows: dict[str, _Waiting] = {}

    async def load(self) -> None:
        """Begin to deliver: read what is stored."""
        now = self._steady_clock()
        for stored in await self._stored():
            self._rows.setdefault(stored.delivery.id, _Waiting(stored, now))

    def unload(self) -> None:
        """Stop delivering: another process does it now."""
        self._rows.clear()

    async def add(self, deliveries: Sequence[Delivery]) -> None:
        """Store new deliveries, which are due at once."""
        new = [StoredDelivery(delivery=each) for each in deliveries if each.id not in self._rows]
        await self._session.run_all(_PUT, [_row(each) for each in new])
        now = self._steady_clock()
        self._rows |= {each.delivery.id: _Waiting(each, now) for each in new}

    async def due(self, most: int, claim: timedelta) -> Sequence[Delivery]:
        """Claim due deliveries, longest due first; those that are not finished in time are due again."""
        now = self._steady_clock()
        ready = [row for row in self._rows.values() if row.stored.ended is None and row.due <= now]
        chosen = sorted(ready, key=lambda row: row.due)[:most]
        for row in chosen:
            row.due, row.is_lent = now + claim.total_seconds(), True
        return [row.stored.delivery for row in chosen]

    async def delivered(self, ids: Sequence[str]) -> None:
        """Remove deliveries that were received."""
        known = [each for each in ids if each in self._rows]
        await self._session.run_all(_DELETE, [(_PART, each) for each in known])
        for each in known:
            self._rows.pop(each, None)

    async def failed(self, delivery: str, again_in: timedelta | None, why: str) -> None:
        """Schedule a retry; give up if ``again_in`` is ``None``."""
        row = self._rows.get(delivery)
        if row is None or row.stored.ended is not None:
            return
        again = replace(row.stored.delivery, tries=row.stored.delivery.tries + 1)
        ended = self._clock() if again_in is None else None
        row.stored, row.is_lent = StoredDelivery(delivery=again, why=why, ended=ended), False
        row.due = self._steady_clock() + (again_in or timedelta()).total_seconds()
        await self._session.run(_PUT, *_row(row.stored))

    async def put_off(self, again_in: Mapping[str, timedelta]) -> None:
        """Reschedule deliveries that were not attempted."""
        now = self._steady_clock()
        for each, pause in again_in.items():
            if (row := self._rows.get(each)) is not None and row.stored.ended is None:
                row.due, row.is_lent = now + pause.total_seconds(), False

    async def unfinished(self, most: int, tenant: str | None = None) -> Sequence[DeliveryStatus]:
        """Return deliveries that are pending or were given up, newest first; from any process."""
        now, found = self._steady_clock(), []
        stored = {each.delivery.id: each for each in await self._stored() if _is_of(each, tenant)}
        for each in sorted(stored.values(), key=lambda each: -each.delivery.event.number)[:most]:
            row = self._rows.get(each.delivery.id)
            again = None if each.ended else timedelta(seconds=max(0.0, row.due - now) if row else 0.0)
            found.append(DeliveryStatus(delivery=each.delivery, why=each.why, again_in=again, given_up=each.ended))
        return found

    async def resend(self, delivery: str, tenant: str | None = None) -> bool:
        """Make a delivery due now, even one that was given up, unless it is under way."""
        found = [each for each in await self._stored() if each.delivery.id == delivery and _is_of(each, tenant)]
        if not found:
            return False
        row = self._rows.get(delivery)
        if row is None or not row.is_lent:
            again = replace(found[0], ended=None)
            await self._session.run(_PUT, *_row(again))
            self._rows[delivery] = _Waiting(again, self._steady_clock())
        return True

    def given_up(self, most: int) -> Sequence[FailedDelivery]:
        """Return the deliveries given up last, newest first."""
        ended = [
            FailedDelivery(delivery=row.stored.delivery, why=row.stored.why, at=row.stored.ended)
            for row in self._rows.values()
            if row.stored.ended is not None
        ]
        return sorted(ended, key=lambda each: each.at, reverse=True)[:most]

    def waiting(self, most: int, tenant: str | None = None) -> int:
        """Return how many deliveries are pending, of one tenant or of all, counting up to ``most``."""
        pending = (row.stored for row in self._rows.values() if row.stored.ended is None)
        return min(most, sum(_is_of(each, tenant) for each in pending))

    async def prune(self, most: int, *, by_age: bool = True) -> int:
        """Remove at most ``most`` given-up deliveries beyond the limit or, if ``by_age``, too old."""
        ended = self.given_up(len(self._rows))
        before = self._clock() - _GIVEN_UP_FOR
        old = [each for at, each in enumerate(ended) if at >= self._most_given_up or (by_age and each.at <= before)]
        gone = old[::-1][:most]
        await self.delivered([each.delivery.id for each in gone])
        return len(gone)

    async def _stored(self) -> list[StoredDelivery]:
        rows = await self._session.run(_ALL, _PART)
        return [found for name, value in rows if (found := _decoded(name, value)) is not None]


def _decoded(name: str, value: bytes) -> StoredDelivery | None:
    try:
        return _decoder.decode(value)
    except msgspec.MsgspecError as error:
        detail = f"the delivery {name} is unreadable, perhaps written by a newer Scoter: {error}"
        FAULTS.note("cassandra", FaultKind.UNREADABLE, detail, about=f"delivery {name}")
        return None


def _is_of(stored: StoredDelivery, tenant: str | None) -> bool:
    return tenant in (None, stored.delivery.event.tenant)


def _row(stored: StoredDelivery) -> tuple[int, str, bytes, int]:
    return _PART, stored.delivery.id, msgspec.json.encode(stored), _KEPT


def delivery_of(message: ReceivedMessage) -> Delivery | None:
    """Return the delivery of an event, ``None`` if its message has no callback or it cannot be read."""
    callback = dict(message.headers).get(CALLBACK)
    if callback is None:
        return None
    try:
        event = replace(event_values.decode(message.value), number=message.offset + 1)
        target = callback.decode()
    except (UnreadableMessage, UnicodeDecodeError) as error:
        place = f"event at offset {message.offset}"
        FAULTS.note("kafka", FaultKind.UNREADABLE, f"unreadable {place}: {error}", about=place)
        return None
    # The same id each time, should the event be read again.
    name = uuid5(NAMESPACE_URL, f"{message.place[0]}/{message.offset}")
    return Delivery(id=name.hex, callback=target, event=event)


class DeliveryFeed:
    """Turns events with callbacks into deliveries, in one api process at a time (``consumer.PartitionOwner``)."""

    def __init__(
        self, settings: KafkaClusterSettings, deliveries: CassandraDeliveries, wake: Callable[[], None], *, name: str
    ) -> None:
        names = TopicNames(settings.prefix)
        self._deliveries = deliveries
        self._wake = wake
        self._tasks = VitalTasks()
        self._member = GroupMember(settings, names.webhooks, [names.events], self, name=f"{name}-webhooks", commits=1.0)

    def start(self) -> None:
        self._member.start()

    async def close(self) -> None:
        await self._member.close()
        await self._tasks.close()

    def assigned(self, places: Sequence[Place], since: float) -> None:
        if places:
            self._tasks.spawn(self._load())

    async def revoked(self, places: Sequence[Place], *, is_lost: bool) -> None:
        if places:
            self._deliveries.unload()

    def received(self, messages: Sequence[ReceivedMessage]) -> None:
        self._tasks.spawn(self._store(messages))

    def is_full(self, place: Place) -> bool:
        return self._member.open_count(place) >= _MOST_OPEN

    def confirmed(self, since: float) -> None:
        pass

    async def _load(self) -> None:
        while True:
            try:
                await self._deliveries.load()
            except ScoterError as error:
                _log.warning("cannot read deliveries: %s", error)
                await asyncio.sleep(_RETRY)
            else:
                self._wake()
                return

    async def _store(self, messages: Sequence[ReceivedMessage]) -> None:
        new = [found for message in messages if (found := delivery_of(message)) is not None]
        while new:
            try:
                await self._deliveries.add(new)
                self._wake()
                break
            except ScoterError as error:
                _log.warning("cannot store deliveries: %s", error)
                await asyncio.sleep(_RETRY)
        for message in messages:
            self._member.finish(message.place, message.offset)
