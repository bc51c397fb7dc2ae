"""Accepted URLs in Kafka, as a pipeline reads them (``ports.Intake``).

A pipeline holds the entries of its partitions in memory, under the same leases, windows per domain and numbers of tries
as the embedded journal. Nothing of that is stored: what a pipeline has not recorded when it ends, the next owner of the
partition reads again. Only that a pipeline owns a partition is stored, before it begins with the first entry.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from scoter.config.sections.live import LiveSettings
from scoter.errors import StoreUnavailable
from scoter.http.logs import logging_about
from scoter.live.clock import steady_now, utc_now
from scoter.live.fetching.shards import shard_of
from scoter.live.intake.journal_rules import AgedEntryShare, domain_of, failed_record
from scoter.live.kafka.consumer import GroupMember, Place, ReceivedMessage
from scoter.live.kafka.faults import FAULTS, FaultKind
from scoter.live.kafka.intake import EntryNumbers
from scoter.live.kafka.kafka import TopicNames
from scoter.live.kafka.messages import AcceptedUrl, DeadLetter, UnreadableMessage, accepted_urls
from scoter.live.kafka.offsets import ENDS
from scoter.live.kafka.repeats import RepeatedUrls
from scoter.live.kafka.suspects import MOST_TRIALS, SuspectQueue
from scoter.live.ports import Accepted, JournalEntry, OutcomeRecorder, UrlOutcome
from scoter.live.records import Message, Priority
from scoter.live.tenants import split_id

_GENERATION_SHIFT: Final = 64
_LEAST_QUEUED: Final = 200  # messages of a partition that are held in memory, at least
_HELD: Final = 10  # times the concurrency
_RETRY: Final = 0.5
_RETURN_WITHIN: Final = 5.0
Bury: TypeAlias = Callable[[ReceivedMessage, DeadLetter], Awaitable[None]]
"""Stores a message that cannot be read."""
Note: TypeAlias = Callable[[Sequence[Place]], Awaitable[bool]]
"""Stores what this process knows of its partitions; false if it owns none of them."""
_log = logging.getLogger(__name__)


class _OpenUrl(Struct):
    number: int
    place: Place
    offset: int
    value: AcceptedUrl
    domain: str
    tries: int
    crashes: int = 0  # of processes that handled it alone
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


class PipelineJournal:
    """The entries of a pipeline's partitions (``ports.Intake``), fed by its membership in the group of pipelines."""

    def __init__(
        self,
        live: LiveSettings,
        names: TopicNames,
        partitions: int,
        *,
        dead: Bury | None = None,
        spawn: Callable[[Coroutine[Any, Any, None]], object] = lambda work: None,
        on_news: Callable[[], None] = lambda: None,
        clock: Callable[[], datetime] = utc_now,
        steady_clock: Callable[[], float] = steady_now,
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
        self._steady_clock = steady_clock
        self._turns = AgedEntryShare(live.patience)
        self._window = live.in_flight_per_domain
        self._rows: dict[int, _OpenUrl] = {}
        self._lent: dict[int, _OpenUrl] = {}
        self._queues: dict[Priority, list[tuple[datetime, int]]] = {priority: [] for priority in Priority}
        self._generation = 0
        self._ready: Counter[tuple[str, Priority]] = Counter()
        self._parked: dict[tuple[str, Priority], deque[_OpenUrl]] = {}
        self._noted: set[Place] = set()
        self._repeats = RepeatedUrls(live.messages_for)
        self._early: dict[Place, list[_OpenUrl]] = {}  # entries of partitions whose ownership is not stored yet
        self._suspects: SuspectQueue[_OpenUrl] = SuspectQueue(self._begin_trial, self._start_suspect)
        self.member: GroupMember | None = None
        self.outcomes: OutcomeRecorder | None = None
        self.note: Note | None = None
        self.unreadable = 0
        self.given_up = 0

    # PartitionOwner

    def assigned(self, places: Sequence[Place], since: float) -> None:
        # A partition may come back while work that began before is still going on. That work has lost its entries:
        # the same messages, received again, are other entries.
        self._generation += 1
        _log.info("got %d partitions", len(places))

    async def revoked(self, places: Sequence[Place], *, is_lost: bool) -> None:
        gone = set(places)
        self._suspects.forget(places)
        for row in [row for row in self._rows.values() if row.place in gone]:
            self._remove(row)
        for place in places:
            self._early.pop(place, None)
        noted = self._noted & gone
        self._noted -= gone
        if is_lost or self.note is None or not noted:
            return
        assert self.member is not None  # noqa: S101 - set before it starts
        self.member.give_back(noted)
        try:
            async with asyncio.timeout(_RETURN_WITHIN):
                await self.note(list(noted))
        except (TimeoutError, StoreUnavailable) as error:  # the next owner believes that this process was killed
            _log.info("cannot note that partitions are returned: %s", error)

    def received(self, messages: Sequence[ReceivedMessage]) -> None:
        for message in messages:
            try:
                value = accepted_urls.decode(message.value)
            except UnreadableMessage as error:
                self._bury(message, str(error))
                continue
            if self._repeats.is_repeated(value, message.place, message.offset):
                assert self.member is not None  # noqa: S101 - set before it starts
                self.member.finish(message.place, message.offset)
                continue
            priority = self._priorities[message.place[0]]
            domain = domain_of(value.url)
            number = self._numbers.number(priority, message.place[1], message.offset)
            number |= self._generation << _GENERATION_SHIFT
            if value.priority is not priority:
                value = msgspec.structs.replace(value, priority=priority)
            self._admit(_OpenUrl(number, message.place, message.offset, value, domain, value.tries))
        self.on_news()

    def _admit(self, row: _OpenUrl) -> None:
        """Add an entry, once it is stored that this process owns its partition."""
        if self.note is None or row.place in self._noted:
            self._sort_in(row)
        elif row.place in self._early:
            self._early[row.place].append(row)
        else:
            self._early[row.place] = [row]
            self._spawn(self._note_owner(row.place))

    async def _note_owner(self, place: Place) -> None:
        if await self._stored(place):
            self._noted.add(place)
            for row in self._early.pop(place, ()):
                self._sort_in(row)
            self.on_news()

    async def _stored(self, place: Place) -> bool:
        """Store what is known of a partition, however long that takes; return whether this process owns it."""
        assert self.member is not None  # noqa: S101 - set before it starts
        while self.note is not None and self.member.owns(place):
            try:
                return await self.note([place])
            except StoreUnavailable as error:
                _log.info("cannot note the owner of a partition: %s", error)
                await asyncio.sleep(_RETRY)
        return False

    # Suspects

    def _sort_in(self, row: _OpenUrl) -> None:
        """Queue an entry; one that may have killed several processes waits until it can be processed alone."""
        assert self.member is not None  # noqa: S101 - set before it starts
        if self.note is None or self.member.ends_of(row.place, row.offset) < ENDS:
            self._add(row)
            return
        trials = self.member.trials_of(row.place, row.offset)
        if trials >= MOST_TRIALS:
            row.crashes = trials
            with logging_about(message_id=split_id(row.value.message)[1], url=row.value.url, domain=row.domain):
                _log.error("giving up a URL: %d processes ended while they handled it alone: %r", trials, row.value.url)
            self.given_up += 1
            self._add(row)
        else:
            self._suspects.add(row.place, row.offset, trials, row)

    async def _begin_trial(self, place: Place, offset: int) -> bool:
        assert self.member is not None  # noqa: S101 - set before it starts
        self.member.begin_trial(place, offset)
        return await self._stored(place)

    def _start_suspect(self, row: _OpenUrl) -> None:
        with logging_about(message_id=split_id(row.value.message)[1], url=row.value.url, domain=row.domain):
            _log.warning("processing a URL alone that may have killed its process: %r", row.value.url)
        self._add(row)
        self.on_news()

    def is_full(self, place: Place) -> bool:
        assert self.member is not None  # noqa: S101 - set before it starts
        share = _HELD * self._live.in_flight // max(1, len(list(self.member.places)))
        return self.member.open_count(place) >= max(_LEAST_QUEUED, share)

    def confirmed(self, since: float) -> None:
        pass

    def _bury(self, message: ReceivedMessage, why: str) -> None:
        self.unreadable += 1
        FAULTS.count("kafka", FaultKind.UNREADABLE)
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
        assert self.member is not None  # noqa: S101 - set before it starts
        while self.member.owns(message.place):
            try:
                await dead(message, letter)
            except StoreUnavailable as error:
                _log.warning("cannot copy an unreadable message yet: %s", error)
                await asyncio.sleep(_RETRY)
            else:
                self.member.finish(message.place, message.offset)
                return

    # Intake

    async def accept(self, messages: Sequence[tuple[Message, Sequence[str]]]) -> Sequence[Accepted]:
        """Pipelines accept nothing."""
        raise StoreUnavailable("messages are accepted by api processes")

    async def open(self, reader: str, most: int, lease: timedelta) -> Sequence[JournalEntry]:
        """Lease entries to a reader; entries whose lease expires may be leased again."""
        now = self._steady_clock()
        for row in [row for row in self._lent.values() if row.until <= now]:
            self._wait(row)
        opened: list[JournalEntry] = []
        hopeless: list[UrlOutcome] = []
        for row in self._chosen(most):
            entry = row.entry()
            row.reader, row.until, row.tries = reader, now + lease.total_seconds(), row.tries + 1
            self._lent[row.number] = row
            if row.crashes or entry.tries >= self._live.tries:
                record = failed_record(entry, self._clock(), crashes=row.crashes)
                hopeless.append(UrlOutcome(entry=entry, record=record, rows=()))
            else:
                opened.append(entry)
        if hopeless and self.outcomes is not None:
            await self.outcomes.record(reader, hopeless)
        return sorted(opened, key=lambda entry: (entry.priority, entry.accepted, entry.id))

    async def renew(self, reader: str, entries: Sequence[int], lease: timedelta) -> Sequence[int]:
        """Renew leases; return the entries that the reader still holds."""
        held = [row for row in map(self._lent.get, entries) if row is not None and row.reader == reader]
        for row in held:
            row.until = self._steady_clock() + lease.total_seconds()
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

    def oldest_domains(self, most: int) -> Mapping[str, timedelta]:
        """Return the domains with the oldest entries in memory, and the ages of these."""
        first: dict[str, datetime] = {}
        for row in self._rows.values():
            accepted = first.get(row.domain)
            if accepted is None or row.value.accepted < accepted:
                first[row.domain] = row.value.accepted
        now = self._clock()
        return {
            domain: max(now - first[domain], timedelta()) for domain in heapq.nsmallest(most, first, first.__getitem__)
        }

    # For the recorder of outcomes

    def held(self, reader: str, entry: int) -> tuple[Place, int] | None:
        """Return the partition and offset of an entry that a reader holds; ``None`` if it has lost it."""
        row = self._lent.get(entry)
        if row is None or row.reader != reader:
            return None
        return row.place, row.offset

    def owns(self, domain: str, priority: Priority) -> bool:
        """Return whether this pipeline owns the partition of a domain."""
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
        self._suspects.done(row.place, row.offset)
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
