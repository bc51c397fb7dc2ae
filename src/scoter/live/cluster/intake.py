"""Accepted URLs in Kafka: how an api process writes them (``ports.Intake.accept``) and a worker reads them.

An entry's number is its topic, partition and offset. A worker holds the entries of its partitions in memory, under the
same leases, windows per domain and numbers of tries as the embedded journal. Nothing of that is stored: what a worker
has not recorded when it ends is read again by the next owner of the partition.
"""

from __future__ import annotations

import heapq
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from scoter.config.sections.live import LiveSettings
from scoter.core.bounded import BoundedMap
from scoter.errors import StoreUnavailable
from scoter.live.clock import lease_now, utc_now
from scoter.live.cluster.access import MessageIds
from scoter.live.cluster.consumer import GroupMember, Place, ReceivedMessage
from scoter.live.cluster.kafka import KafkaSender, OutgoingMessage, TopicNames
from scoter.live.cluster.messages import AcceptedUrl, DeadLetter, UnreadableMessage, accepted_urls
from scoter.live.journal_rules import AgedEntryShare, domain_of, failed_record
from scoter.live.ports import Accepted, JournalEntry, OutcomeRecorder, UrlOutcome
from scoter.live.records import Message, Priority
from scoter.live.workers.shards import shard_of

_OFFSET_BITS: Final = 40
_GENERATION_SHIFT: Final = 64
_MOST_PENDING: Final = 200_000
_LEAST_QUEUED: Final = 200  # messages of a partition that are held in memory, at least
_HELD: Final = 10  # times the concurrency
Bury: TypeAlias = Callable[[ReceivedMessage, DeadLetter], Awaitable[None]]
"""Stores a message that cannot be read."""
_log = logging.getLogger(__name__)


class EntryNumbers(Struct, frozen=True):
    """Numbers entries by priority, partition and offset."""

    partitions: int

    def number(self, priority: Priority, partition: int, offset: int) -> int:
        """Return the number of an entry.

        >>> numbers = EntryNumbers(64)
        >>> numbers.place(numbers.number(Priority.BULK, 7, 12345))
        (<Priority.BULK: 2>, 7, 12345)
        """
        return (priority * self.partitions + partition) << _OFFSET_BITS | offset

    def place(self, number: int) -> tuple[Priority, int, int]:
        """Return the priority, partition and offset of an entry."""
        priority, partition = divmod(number >> _OFFSET_BITS, self.partitions)
        return Priority(priority), partition, number & (1 << _OFFSET_BITS) - 1


def intake_message(names: TopicNames, partitions: int, value: AcceptedUrl) -> OutgoingMessage:
    """Return a URL as a message for the owner of its domain."""
    domain = domain_of(value.url)
    partition = shard_of(domain, partitions)
    return OutgoingMessage(names.intake(value.priority), accepted_urls.encode(value), domain.encode(), partition)


class KafkaIntake:
    """Accepts messages in an api process, and knows which URLs it has accepted lately."""

    def __init__(self, sender: KafkaSender, names: TopicNames, partitions: int, ids: MessageIds) -> None:
        self._sender = sender
        self._names = names
        self._partitions = partitions
        self._numbers = EntryNumbers(partitions)
        self._ids = ids
        self._pending: BoundedMap[str, bool] = BoundedMap(_MOST_PENDING)
        self.lag = 0

    async def accept(self, messages: Sequence[tuple[Message, Sequence[str]]]) -> Sequence[Accepted]:
        """Store messages with their URLs durably before returning."""
        claims = await self._ids.claim([message for message, _ in messages])
        results: dict[int, Accepted] = {}
        wanted: list[tuple[int, Message, str]] = []
        for at, ((message, urls), known) in enumerate(zip(messages, claims, strict=True)):
            if known is not None:
                results[at] = Accepted(message=message.id, entries=known, is_new=False)
            else:
                wanted += [(at, message, url) for url in dict.fromkeys(urls)]
        places = await self._sender.send([self._outgoing(message, url) for _, message, url in wanted])
        entries: dict[int, dict[str, int]] = {}
        for (at, message, url), (partition, offset) in zip(wanted, places, strict=True):
            entries.setdefault(at, {})[url] = self._numbers.number(message.priority, partition, offset)
            self._pending.put(url, message.force)
        for at, (message, _) in enumerate(messages):
            if at not in results:
                results[at] = Accepted(message=message.id, entries=entries.get(at, {}))
        named = {message.id for message, _ in messages if message.is_named}
        new = [each for each in results.values() if each.is_new and each.message in named]
        await self._ids.stored([(each.message, each.entries) for each in new])
        return [results[at] for at in range(len(messages))]

    def _outgoing(self, message: Message, url: str) -> OutgoingMessage:
        value = AcceptedUrl(message.id, url, message.priority, message.force, message.callback, message.received)
        return intake_message(self._names, self._partitions, value)

    def finished(self, url: str) -> None:
        """Note that a URL has an outcome."""
        self._pending.pop(url)

    def is_pending(self, url: str) -> bool:
        """Return whether this process has accepted a URL that has no outcome yet."""
        return url in self._pending

    def is_forced(self, url: str) -> bool:
        """Return whether this process has accepted a URL for a forced fetch that has no outcome yet."""
        return self._pending.peek(url) is True

    def waiting(self) -> int:
        """Return the number of URLs in all intake topics that are not done, as last counted."""
        return self.lag

    def waiting_of(self, domain: str) -> int:
        """Return 0: only the worker of a domain knows."""
        return 0

    def is_done(self, message: str) -> bool | None:
        """Return ``None``: ``accept`` recognises repeated messages."""
        return None


class _OpenUrl(Struct):
    number: int
    place: Place
    offset: int
    value: AcceptedUrl
    domain: str
    tries: int
    reader: str | None = None
    until: float = 0.0

    @property
    def kind(self) -> tuple[str, Priority]:
        return self.domain, self.value.priority

    def entry(self) -> JournalEntry:
        value = self.value
        return JournalEntry(
            id=self.number,
            message=value.message,
            url=value.url,
            priority=value.priority,
            force=value.force,
            callback=value.callback,
            accepted=value.accepted,
            tries=self.tries,
            origin=value.origin,
            trail=value.trail,
        )


class WorkerJournal:
    """The entries of a worker's partitions (``ports.Intake``), fed by its membership in the group of workers."""

    def __init__(
        self,
        live: LiveSettings,
        names: TopicNames,
        partitions: int,
        *,
        dead: Bury | None = None,
        spawn: Callable[[Awaitable[None]], None] = lambda work: None,
        on_news: Callable[[], None] = lambda: None,
        clock: Callable[[], datetime] = utc_now,
        lease_clock: Callable[[], float] = lease_now,
    ) -> None:
        """``dead`` stores a message that cannot be read; ``on_news`` is called when entries arrive."""
        self._live = live
        self._names = names
        self._priorities = {names.intake(priority): priority for priority in Priority}
        self._numbers = EntryNumbers(partitions)
        self._dead = dead
        self._spawn = spawn
        self.on_news = on_news
        self._clock = clock
        self._lease_clock = lease_clock
        self._turns = AgedEntryShare(live.patience)
        self._window = live.in_flight_per_domain
        self._rows: dict[int, _OpenUrl] = {}
        self._lent: dict[int, _OpenUrl] = {}
        self._queues: dict[Priority, list[tuple[datetime, int]]] = {priority: [] for priority in Priority}
        self._generation = 0
        self._ready: Counter[tuple[str, Priority]] = Counter()
        self._parked: dict[tuple[str, Priority], deque[_OpenUrl]] = {}
        self.member: GroupMember | None = None
        self.outcomes: OutcomeRecorder | None = None
        self.unreadable = 0

    # PartitionOwner

    def assigned(self, places: Sequence[Place], since: float) -> None:
        # A partition may come back while work that began before is still going on. That work has lost its entries:
        # the same messages, received again, are other entries.
        self._generation += 1
        _log.info("got %d partitions", len(places))

    async def revoked(self, places: Sequence[Place], *, is_lost: bool) -> None:
        gone = set(places)
        for row in [row for row in self._rows.values() if row.place in gone]:
            self._remove(row)

    def received(self, messages: Sequence[ReceivedMessage]) -> None:
        for message in messages:
            try:
                value = accepted_urls.decode(message.value)
            except UnreadableMessage as error:
                self._bury(message, str(error))
                continue
            priority = self._priorities[message.place[0]]
            domain = domain_of(value.url)
            number = self._numbers.number(priority, message.place[1], message.offset)
            number |= self._generation << _GENERATION_SHIFT
            if value.priority is not priority:
                value = msgspec.structs.replace(value, priority=priority)
            self._add(_OpenUrl(number, message.place, message.offset, value, domain, value.tries))
        self.on_news()

    def is_full(self, place: Place) -> bool:
        assert self.member is not None  # noqa: S101 - set before it starts
        share = _HELD * self._live.in_flight // max(1, len(list(self.member.places)))
        return self.member.open_count(place) >= max(_LEAST_QUEUED, share)

    def confirmed(self, since: float) -> None:
        pass

    def _bury(self, message: ReceivedMessage, why: str) -> None:
        self.unreadable += 1
        letter = DeadLetter(*message.place, message.offset, why)
        _log.error("unreadable message in %s, partition %d, offset %d: %s", *message.place, message.offset, why)
        if self._dead is not None:
            self._spawn(self._bury_now(self._dead, message, letter))

    async def _bury_now(
        self,
        dead: Bury,
        message: ReceivedMessage,
        letter: DeadLetter,
    ) -> None:
        try:
            await dead(message, letter)
        except StoreUnavailable as error:  # it stays in its topic, and is read again by the next owner
            _log.warning("cannot copy an unreadable message: %s", error)
            return
        assert self.member is not None  # noqa: S101
        self.member.finish(message.place, message.offset)

    # Intake

    async def accept(self, messages: Sequence[tuple[Message, Sequence[str]]]) -> Sequence[Accepted]:
        """Workers accept nothing."""
        raise StoreUnavailable("messages are accepted by api processes")

    async def open(self, reader: str, most: int, lease: timedelta) -> Sequence[JournalEntry]:
        """Lease entries to a reader; entries whose lease expires may be leased again."""
        now = self._lease_clock()
        for row in [row for row in self._lent.values() if row.until <= now]:
            self._wait(row)
        opened: list[JournalEntry] = []
        hopeless: list[JournalEntry] = []
        for row in self._chosen(most):
            entry = row.entry()
            row.reader, row.until, row.tries = reader, now + lease.total_seconds(), row.tries + 1
            self._lent[row.number] = row
            (opened if entry.tries < self._live.tries else hopeless).append(entry)
        if hopeless and self.outcomes is not None:
            at = self._clock()
            failed = [UrlOutcome(entry=entry, record=failed_record(entry, at), rows=()) for entry in hopeless]
            await self.outcomes.record(reader, failed)
        return sorted(opened, key=lambda entry: (entry.priority, entry.accepted, entry.id))

    async def renew(self, reader: str, entries: Sequence[int], lease: timedelta) -> Sequence[int]:
        """Renew leases; return the entries that the reader still holds."""
        held = [row for row in map(self._lent.get, entries) if row is not None and row.reader == reader]
        for row in held:
            row.until = self._lease_clock() + lease.total_seconds()
        return [row.number for row in held]

    async def abort(self, reader: str, entries: Sequence[int]) -> None:
        """Return entries at once; this does not count as a try."""
        for row in map(self._lent.get, entries):
            if row is not None and row.reader == reader:
                row.tries -= 1
                self._wait(row)

    def depth(self) -> Mapping[Priority, int]:
        """Return the number of entries in memory by priority."""
        counted = Counter(row.value.priority for row in self._rows.values())
        return {priority: counted[priority] for priority in Priority}

    def oldest(self) -> timedelta | None:
        """Return the age of the oldest entry in memory, if any."""
        first = min((row.value.accepted for row in self._rows.values()), default=None)
        return None if first is None else max(self._clock() - first, timedelta())

    # For the recorder of outcomes

    def held(self, reader: str, entry: int) -> tuple[Place, int] | None:
        """Return the partition and offset of an entry that a reader holds; ``None`` if it has lost it."""
        row = self._lent.get(entry)
        if row is None or row.reader != reader:
            return None
        return row.place, row.offset

    def owns(self, domain: str, priority: Priority) -> bool:
        """Return whether this worker owns the partition of a domain."""
        assert self.member is not None  # noqa: S101 - set before it starts
        return self.member.owns((self._names.intake(priority), shard_of(domain, self._numbers.partitions)))

    def close(self, entry: int) -> None:
        """Forget an entry: its outcome is recorded."""
        if (row := self._rows.get(entry)) is not None:
            self._remove(row)

    # Queues

    def _add(self, row: _OpenUrl) -> None:
        self._rows[row.number] = row
        if self._ready[row.kind] < self._window:
            self._ready[row.kind] += 1
            self._wait(row)
        else:
            self._parked.setdefault(row.kind, deque()).append(row)

    def _remove(self, row: _OpenUrl) -> None:
        del self._rows[row.number]
        self._lent.pop(row.number, None)
        parked = self._parked.get(row.kind)
        if parked and row in parked:
            parked.remove(row)
        elif parked:
            self._wait(parked.popleft())
        else:
            self._ready[row.kind] -= 1
            if not self._ready[row.kind]:
                del self._ready[row.kind]
        if parked is not None and not parked:
            del self._parked[row.kind]

    def _wait(self, row: _OpenUrl) -> None:
        row.reader = None
        self._lent.pop(row.number, None)
        heapq.heappush(self._queues[row.value.priority], (row.value.accepted, row.number))

    def _chosen(self, most: int) -> list[_OpenUrl]:
        chosen: list[_OpenUrl] = []
        before = self._clock() - self._turns.patience
        for _ in range(self._turns.reserved(most)):
            heads = [head for priority in (Priority.NORMAL, Priority.BULK) if (head := self._head(priority))]
            waited = [head for head in heads if head.value.accepted <= before]
            if not waited:
                break
            chosen.append(self._take(min(waited, key=lambda row: row.value.accepted)))
        for row in self._most_urgent():
            if len(chosen) >= most:
                break
            chosen.append(self._take(row))
        return chosen

    def _most_urgent(self) -> Iterator[_OpenUrl]:
        for priority in Priority:
            while (head := self._head(priority)) is not None:
                yield head

    def _head(self, priority: Priority) -> _OpenUrl | None:
        queue = self._queues[priority]
        while queue:
            row = self._rows.get(queue[0][1])
            if row is not None and row.reader is None:
                return row
            heapq.heappop(queue)
        return None

    def _take(self, row: _OpenUrl) -> _OpenUrl:
        heapq.heappop(self._queues[row.value.priority])
        row.reader = ""  # so that the queue passes over it
        return row
