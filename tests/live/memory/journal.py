"""Accepted messages until each of their URLs is done, and the recording of outcomes, in memory."""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from tests.live.memory.events import MemoryDeliveries, MemoryEvents
from tests.live.memory.metadata import MemoryMetadata

from scoter.config.sections.live import LiveSettings
from scoter.live.intake.journal_rules import AgedEntryShare, domain_of, failed_record, is_conflict
from scoter.live.pipeline.retries import retry_message
from scoter.live.ports import Accepted, JournalEntry, UrlOutcome
from scoter.live.records import Event, Message, Priority, UrlRecord
from scoter.live.tenants import tenant_of


class _EntryState(Struct):
    id: int
    message: Message
    url: str
    domain: str
    tries: int = 0
    reader: str | None = None
    until: float = 0.0

    @property
    def kind(self) -> tuple[str, Priority]:
        return self.domain, self.message.priority

    def entry(self) -> JournalEntry:
        return JournalEntry(
            id=self.id,
            message=self.message.id,
            url=self.url,
            priority=self.message.priority,
            force=self.message.force,
            callback=self.message.callback,
            accepted=self.message.received,
            tries=self.tries,
        )


class _AcceptedMessage(Struct):
    accepted: Accepted
    digest: bytes
    open: int
    done: datetime | None = None


class MemoryJournal:
    """The journal (``ports.Intake``) and the recorder of outcomes (``ports.OutcomeRecorder``)."""

    def __init__(
        self,
        clock: Callable[[], datetime],
        steady_clock: Callable[[], float],
        metadata: MemoryMetadata,
        events: MemoryEvents,
        deliveries: MemoryDeliveries,
        live: LiveSettings,
    ) -> None:
        self._clock = clock
        self._steady_clock = steady_clock
        self._metadata = metadata
        self._events = events
        self._deliveries = deliveries
        self._kept = live.messages_for
        self._most_messages = live.messages_most
        self._turns = AgedEntryShare(live.patience)
        self._most_tries = live.tries
        self._most_retries = live.retries_most
        self._retries: dict[str, tuple[datetime, str]] = {}
        self._last = 0
        self._messages: dict[str, _AcceptedMessage] = {}
        self._rows: dict[int, _EntryState] = {}
        self._lent: dict[int, _EntryState] = {}
        # Waiting ids by priority. An id may be leased or done by the time it is reached, and is then skipped.
        self._queues: dict[Priority, list[int]] = {priority: [] for priority in Priority}
        self._depth: Counter[Priority] = Counter()
        self._backlog: Counter[str] = Counter()
        # By domain and priority: how many wait or are leased, and the parked entries behind them.
        self._window = live.in_flight_per_domain
        self._ready: Counter[tuple[str, Priority]] = Counter()
        self._parked: dict[tuple[str, Priority], deque[_EntryState]] = {}

    async def accept(self, messages: Sequence[tuple[Message, Sequence[str]]]) -> Sequence[Accepted]:
        return [self._accept(message, dict.fromkeys(urls)) for message, urls in messages]

    def _accept(self, message: Message, urls: Mapping[str, None]) -> Accepted:
        known = self._messages.get(message.id)
        if known is not None:
            if is_conflict(message, known.digest):
                return Accepted(message=message.id, entries={}, is_new=False, is_conflict=True)
            return Accepted(message=message.id, entries=known.accepted.entries, is_new=False)
        entries = {}
        for url in urls:
            self._last += 1
            entries[url] = self._last
            row = _EntryState(self._last, message, url, domain_of(url))
            self._rows[row.id] = row
            self._backlog[row.domain] += 1
            if self._ready[row.kind] < self._window:
                self._ready[row.kind] += 1
                self._wait(row)
            else:
                self._parked.setdefault(row.kind, deque()).append(row)
        self._depth[message.priority] += len(entries)
        accepted = Accepted(message=message.id, entries=entries)
        self._messages[message.id] = _AcceptedMessage(
            accepted, message.digest, len(entries), None if entries else self._clock()
        )
        return accepted

    async def open(self, reader: str, most: int, lease: timedelta) -> Sequence[JournalEntry]:
        now = self._steady_clock()
        for row in [row for row in self._lent.values() if row.until <= now]:
            self._wait(row)
        opened = []
        for row in self._chosen(most):
            entry = row.entry()
            if entry.tries >= self._most_tries:
                self._end(row, entry, failed_record(entry, self._clock()))
                continue
            row.reader, row.until, row.tries = reader, now + lease.total_seconds(), row.tries + 1
            self._lent[row.id] = row
            opened.append(entry)
        return sorted(opened, key=lambda entry: (entry.priority, entry.id))

    def _chosen(self, most: int) -> list[_EntryState]:
        chosen: list[_EntryState] = []
        now = self._clock()
        before = now - self._turns.patience
        for _ in range(self._turns.reserved(most)):
            heads = [head for priority in (Priority.NORMAL, Priority.BULK) if (head := self._head(priority))]
            # A time in the future dates from before the clock was set back: the entry has waited since then.
            waited = [head for head in heads if not before < head.message.received <= now]
            if not waited:
                break
            chosen.append(self._take(min(waited, key=lambda row: row.id)))
        for row in self._most_urgent():
            if len(chosen) >= most:
                break
            chosen.append(self._take(row))
        return chosen

    def _most_urgent(self) -> Iterator[_EntryState]:
        for priority in Priority:
            while (head := self._head(priority)) is not None:
                yield head

    def _head(self, priority: Priority) -> _EntryState | None:
        queue = self._queues[priority]
        while queue:
            row = self._rows.get(queue[0])
            if row is not None and row.reader is None:
                return row
            heapq.heappop(queue)
        return None

    def _take(self, row: _EntryState) -> _EntryState:
        heapq.heappop(self._queues[row.message.priority])
        return row

    def _wait(self, row: _EntryState) -> None:
        row.reader = None
        self._lent.pop(row.id, None)
        heapq.heappush(self._queues[row.message.priority], row.id)

    async def renew(self, reader: str, entries: Sequence[int], lease: timedelta) -> Sequence[int]:
        held = [row for row in map(self._lent.get, entries) if row is not None and row.reader == reader]
        for row in held:
            row.until = self._steady_clock() + lease.total_seconds()
        return [row.id for row in held]

    async def abort(self, reader: str, entries: Sequence[int]) -> None:
        for row in map(self._lent.get, entries):
            if row is not None and row.reader == reader:
                row.tries -= 1
                self._wait(row)

    async def record(self, reader: str, done: Sequence[UrlOutcome]) -> Sequence[Event | None]:
        return [self._record(reader, each) for each in done]

    def _record(self, reader: str, done: UrlOutcome) -> Event | None:
        row = self._lent.get(done.entry.id)
        if row is None or row.reader != reader:
            return None
        self._metadata.keep(done.rows)
        self._retries.pop(done.entry.url, None)
        if done.record.retry_at is not None and len(self._retries) < self._most_retries:
            self._retries[done.entry.url] = done.record.retry_at, tenant_of(done.entry.message)
        return self._end(row, done.entry, done.record)

    def _end(self, row: _EntryState, entry: JournalEntry, record: UrlRecord) -> Event:
        event = self._events.add(entry, record)
        if entry.callback:
            self._deliveries.add(entry.callback, event)
        del self._rows[row.id]
        self._lent.pop(row.id, None)
        self._depth[row.message.priority] -= 1
        self._backlog[row.domain] -= 1
        if not self._backlog[row.domain]:
            del self._backlog[row.domain]
        self._unpark(row.kind)
        known = self._messages[row.message.id]
        known.open -= 1
        if not known.open:
            known.done = self._clock()
        return event

    def _unpark(self, kind: tuple[str, Priority]) -> None:
        """Replace an entry that has ended by the oldest parked one."""
        parked = self._parked.get(kind)
        if parked:
            self._wait(parked.popleft())
        else:
            self._parked.pop(kind, None)
            self._ready[kind] -= 1
            if not self._ready[kind]:
                del self._ready[kind]

    async def prune(self, most: int, *, by_age: bool = True) -> int:
        before, surplus = self._clock() - self._kept, len(self._messages) - self._most_messages
        old = [
            name
            for place, (name, known) in enumerate(self._messages.items())
            if known.done is not None and ((by_age and known.done <= before) or place < surplus)
        ]
        for name in old[:most]:
            del self._messages[name]
        return min(len(old), most)

    async def accept_retries(self, most: int) -> int:
        now = self._clock()
        due = [(url, tenant) for url, (at, tenant) in self._retries.items() if at <= now][:most]
        for url, tenant in due:
            del self._retries[url]
            self._accept(retry_message(url, tenant, now), {url: None})
        return len(due)

    def retries(self) -> int:
        return len(self._retries)

    def depth(self) -> Mapping[Priority, int]:
        return {priority: self._depth[priority] for priority in Priority}

    def waiting(self) -> int:
        return len(self._rows)

    def waiting_for(self, tenant: str) -> int:
        return sum(tenant_of(row.message.id) == tenant for row in self._rows.values())

    def waiting_of(self, domain: str) -> int:
        return self._backlog[domain]

    def oldest(self) -> timedelta | None:
        row = next(iter(self._rows.values()), None)
        return max(self._clock() - row.message.received, timedelta()) if row else None

    def is_done(self, message: str) -> bool | None:
        known = self._messages.get(message)
        return known.open == 0 if known else None
