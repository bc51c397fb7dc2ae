"""Recording of outcomes in a cluster: the records in Cassandra first, then one Kafka transaction.

The transaction contains the events and the new positions of their partitions, and is tied to the pipeline's membership
in its group. If a partition has another owner by now, Kafka refuses it as a whole, and nobody sees its events.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from scoter.config.sections.cluster import KafkaClusterSettings
from scoter.core.url import Url
from scoter.errors import StoreUnavailable
from scoter.live.clock import utc_now
from scoter.live.kafka.consumer import GroupMember, Place
from scoter.live.kafka.deliveries import CALLBACK
from scoter.live.kafka.faults import FAULTS, FaultKind
from scoter.live.kafka.journal import PipelineJournal
from scoter.live.kafka.kafka import (
    OutgoingMessage,
    client_options,
    is_fatal,
    is_too_large,
    note_error,
    quiet_logger,
    store_trouble,
    within_time,
)
from scoter.live.kafka.messages import AcceptedUrl, event_values
from scoter.live.pipeline.outcome import PASSING_STATES, REDIRECTS
from scoter.live.ports import MetadataStore, RedirectHandover, StoredRecord, UrlOutcome
from scoter.live.records import Event, Priority, State, UrlRecord
from scoter.live.tenants import announcement
from scoter.live.threaded_calls import BatchThread, ThreadedCall

_MOST_WAITING: Final = 10_000
_TOGETHER: Final = 1_000
_APART: Final = 0.2  # seconds between transactions: each costs milliseconds of CPU time, however many outcomes it has
_LONGEST: Final = 3.0  # seconds; a pipeline that is lost in a transaction delays all readers of events that long
_ATTEMPTS: Final = 5
_PAUSE: Final = 0.1  # seconds before the second attempt; the next ones wait twice as long each
_HANGS: Final = 3  # times the timeout, after which a call of librdkafka counts as hanging
_decode_record = msgspec.json.Decoder(UrlRecord).decode
_log = logging.getLogger(__name__)


class FinishedUrl(Struct, frozen=True):
    """A message of the intake that ends, and the event to announce or the message that continues it elsewhere."""

    event: Event | None
    callback: str
    place: Place
    offset: int
    onward: OutgoingMessage | None = None


class _OwnerNotes(Struct, frozen=True):
    """Partitions whose positions are stored although nothing is done, for the notes that they contain."""

    places: tuple[Place, ...]


class _Claim(Struct, frozen=True):
    """The calls of a transaction, their messages, the positions after these, and the membership in the group."""

    calls: list[ThreadedCall]
    done: dict[Place, list[int]]
    positions: list[Any]
    membership: Any


class OutcomeTransactions(BatchThread):
    """Announces events and finishes their messages, many in one transaction, in a thread."""

    def __init__(self, settings: KafkaClusterSettings, topic: str, member: GroupMember, name: str) -> None:
        super().__init__("transactions", most_waiting=_MOST_WAITING, together=_TOGETHER)
        self._settings = settings
        self._topic = topic
        self._member = member
        self._name = name
        self._seconds = settings.timeout.total_seconds()
        self._producer: Any = None
        self._is_reduced = False  # an event of the batch is too large for its topic
        self._last = 0.0
        self.count = 0
        self.aborted = 0
        self._thread.start()

    async def finish(self, done: FinishedUrl) -> FinishedUrl | None:
        """End a message; return it, with the number of its event, or ``None`` if its partition has another owner."""
        found: FinishedUrl | None = await self._call(done)
        return found

    async def note(self, places: Sequence[Place]) -> bool:
        """Store the positions of partitions with what else is known of them; return whether this process owns any."""
        return await self._call(_OwnerNotes(tuple(places))) is not None

    def _carry_out(self, batch: Sequence[ThreadedCall]) -> None:
        time.sleep(max(0.0, self._last + _APART - time.monotonic()))
        self._is_reduced = False
        error: BaseException | None = None
        for attempt in range(_ATTEMPTS):
            try:
                self._within_time(partial(self._commit, batch, is_repeated=attempt > 0))
            except Exception as raised:
                error = raised
                self._is_reduced = self._is_reduced or is_too_large(raised)
                self._abort(raised)
                time.sleep(_PAUSE * 2**attempt)
            else:
                break
        else:
            for call in batch:
                call.error = store_trouble(error)
        self._last = time.monotonic()

    def _within_time(self, work: Callable[[], None]) -> None:
        """Run something in a thread that is given up if it hangs, as librdkafka may after a broker was restarted."""
        try:
            within_time(work, _HANGS * self._seconds)
        except TimeoutError:
            # A new producer with the same transactional.id fences this one: whatever it does later has no effect.
            self._producer = None
            raise StoreUnavailable("Kafka: no answer in time") from None

    def _claim(self, batch: Sequence[ThreadedCall]) -> _Claim:
        """Return what a transaction can contain now; in the event loop, so that all of it belongs to one moment.

        A partition gets a new owner only after this member's epoch has changed, and Kafka refuses the transaction of an
        older epoch.
        """
        left = [call for call in batch if call.result is None]
        urls = (call for call in reversed(left) if isinstance(call.work, FinishedUrl))
        first = {(call.work.place, call.work.offset): call for call in urls}
        own = [call for place, call in reversed(first.items()) if self._member.is_unfinished(*place)]
        done: dict[Place, list[int]] = {}
        for call in own:
            done.setdefault(call.work.place, []).append(call.work.offset)
        for call in left:
            if isinstance(call.work, _OwnerNotes) and (places := list(filter(self._member.owns, call.work.places))):
                own.append(call)
                for place in places:
                    done.setdefault(place, [])
        return _Claim(own, done, self._member.positions_with(done), self._member.membership)

    def _note_done(self, batch: Sequence[ThreadedCall]) -> None:
        """Set the results of calls that an earlier attempt has finished, although it seemed to fail."""
        left = [call for call in batch if call.result is None and isinstance(call.work, FinishedUrl)]
        committed = self._member.committed({call.work.place for call in left}, self._seconds)
        for call in left:
            position, done = committed.get(call.work.place, (0, set()))
            if call.work.offset < position or call.work.offset in done:
                call.result = call.work
                self._member.in_loop(partial(self._member.finish, call.work.place, call.work.offset))

    def _commit(self, batch: Sequence[ThreadedCall], *, is_repeated: bool) -> None:
        producer = self._opened()
        if is_repeated:
            self._note_done(batch)
        claim = self._member.in_loop(lambda: self._claim(batch))
        own = claim.calls
        if not own:
            return
        if claim.membership is None:
            raise StoreUnavailable("Kafka: not a member of the group yet")
        numbers: dict[int, int] = {}

        def reporter(at: int) -> Callable[[Any, Any], None]:
            def report(error: Any, message: Any) -> None:
                if error is None:
                    numbers[at] = message.offset() + 1
                elif is_too_large(error):  # the topic allows less than the settings
                    self._is_reduced = True

            return report

        producer.begin_transaction()
        for at, call in enumerate(own):
            work: FinishedUrl | _OwnerNotes = call.work
            if isinstance(work, _OwnerNotes):
                continue
            if work.event is None:
                to = work.onward
                assert to is not None  # noqa: S101 - there is one or the other
                producer.produce(to.topic, to.value, to.key, partition=to.partition)
                continue
            headers = [(CALLBACK, work.callback.encode())] if work.callback else None
            value = self._event_value(work.event)
            producer.produce(self._topic, value, partition=0, headers=headers, on_delivery=reporter(at))
        producer.send_offsets_to_transaction(claim.positions, claim.membership, self._seconds)
        producer.commit_transaction(self._seconds)
        producer.poll(0)
        self.count += 1
        for at, call in enumerate(own):
            finished: FinishedUrl | _OwnerNotes = call.work
            if isinstance(finished, FinishedUrl) and finished.event is not None:
                finished = replace(finished, event=replace(finished.event, number=numbers.get(at, 0)))
            call.result = finished
        self._member.in_loop(lambda: self._member.finish_all(claim.done))

    def _event_value(self, event: Event) -> bytes:
        """Return an event as a message. One that is too large is announced without what its page says."""
        value = event_values.encode(event)
        if len(value) < self._settings.body_limit and not self._is_reduced:
            return value
        record, detail = event.record, "the record is too large for an event; look it up"
        if not self._is_reduced:
            FAULTS.note("kafka", FaultKind.TOO_LARGE, f"the event of {event.url!r} is too large", about=event.url)
        small = replace(record, metadata=None, related=None, hops=(), detail=record.detail or detail)
        return event_values.encode(replace(event, record=small))

    def _opened(self) -> Any:
        import confluent_kafka

        if self._producer is None:
            producer = confluent_kafka.Producer(
                {
                    **client_options(self._settings),
                    "client.id": self._name,
                    "transactional.id": f"{self._settings.prefix}.{self._name}",
                    "transaction.timeout.ms": round(min(self._seconds, _LONGEST) * 1000),
                    "linger.ms": 1,
                    "compression.type": "lz4",
                    "error_cb": note_error,
                },
                logger=quiet_logger(),
            )
            producer.init_transactions(self._seconds)
            self._producer = producer
        return self._producer

    def _abort(self, raised: Exception) -> None:
        """End a transaction that failed, so that the next one can begin."""
        self.aborted += 1
        self._member.renew_membership()
        _log.warning("transaction aborted: %s", store_trouble(raised).message)
        if self._producer is None:
            return
        producer = self._producer
        try:
            if is_fatal(raised):
                raise raised
            within_time(lambda: producer.abort_transaction(self._seconds), _HANGS * self._seconds)
        except Exception:
            self._producer = None  # a new one ends what this one has left (transactional.id)

    def _finish(self) -> None:
        self._producer = None


class ClusterOutcomes:
    """Records outcomes in Cassandra and Kafka (``ports.OutcomeRecorder``), and passes redirects on."""

    def __init__(
        self,
        journal: PipelineJournal,
        metadata: MetadataStore,
        transactions: OutcomeTransactions,
        continued: Callable[[AcceptedUrl], OutgoingMessage],
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """``continued`` returns the message for the owner of a URL's domain."""
        self._journal = journal
        self._metadata = metadata
        self._transactions = transactions
        self._continued = continued
        self._clock = clock

    async def record(self, reader: str, done: Sequence[UrlOutcome]) -> Sequence[Event | None]:
        """Store, announce and close; for an entry that the reader has lost, store nothing and return ``None``."""
        first = {each.entry.id: at for at, each in reversed(list(enumerate(done)))}
        own = [at for at in sorted(first.values()) if self._journal.held(reader, done[at].entry.id) is not None]
        whole = [await self._with_trail(done[at]) if done[at].entry.trail else done[at] for at in own]
        # Before the transaction: once the event is announced, the record can be read.
        await self._metadata.put([row for each in whole for row in each.rows])
        events = dict(zip(own, await asyncio.gather(*(self._announce(reader, each) for each in whole)), strict=True))
        return [events.get(at) for at in range(len(done))]

    async def _announce(self, reader: str, done: UrlOutcome) -> Event | None:
        entry = done.entry
        held = self._journal.held(reader, entry.id)
        if held is None:
            return None
        url = entry.origin or entry.url
        event = announcement(0, entry.message, url, self._clock(), done.record)
        finished = await self._transactions.finish(FinishedUrl(event, entry.callback, *held))
        if finished is None:
            return None
        self._journal.close(entry.id)
        return finished.event

    async def _with_trail(self, done: UrlOutcome) -> UrlOutcome:
        """Return an outcome for the accepted URL and every hop that another pipeline has made."""
        trail, record = done.entry.trail, done.record
        whole = (*trail, *record.hops)
        # A chain that is too long says nothing about its later hops: from there it is shorter.
        own = trail[:1] if record.reason == REDIRECTS else trail
        found = [replace(record, url=hop.url, hops=whole[at:]) for at, hop in enumerate(own)]
        if record.state in PASSING_STATES:  # the last good record of a URL outlives a failure
            found = [each for each in found if not await self._has_good(each.url)]
        rows = [
            StoredRecord(
                url=each.url,
                value=msgspec.json.encode(each),
                fetched_at=each.attempted_at,
                expires_at=each.expires_at,
            )
            for each in found
        ]
        return UrlOutcome(
            entry=done.entry,
            record=replace(record, url=done.entry.origin, hops=whole),
            rows=(*done.rows, *rows),
        )

    async def _has_good(self, url: str) -> bool:
        found = await self._metadata.last(url)
        if found is None:
            return False
        try:
            return _decode_record(found.value).state is State.OK
        except msgspec.MsgspecError:  # written by another version
            return False

    # RedirectHandovers

    def is_elsewhere(self, url: Url, priority: Priority) -> bool:
        """Return whether another pipeline owns the partition of a URL's domain."""
        return not self._journal.owns(url.domain, priority)

    async def hand_over(self, reader: str, handover: RedirectHandover) -> bool:
        """Send an entry to the owner of the domain that its redirects lead to, and close it here."""
        entry = handover.entry
        held = self._journal.held(reader, entry.id)
        if held is None:
            return False
        onward = AcceptedUrl(
            entry.message,
            handover.target.text,
            entry.priority,
            entry.force,
            entry.callback,
            entry.accepted,
            origin=entry.origin or entry.url,
            trail=(*entry.trail, *handover.hops),
        )
        finished = await self._transactions.finish(FinishedUrl(None, "", *held, self._continued(onward)))
        if finished is not None:
            self._journal.close(entry.id)
        return finished is not None
