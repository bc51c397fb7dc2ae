"""Recording of outcomes in a cluster: the records in Cassandra first, then one Kafka transaction.

The transaction contains the events and the new positions of their partitions, and is tied to the worker's membership
in its group. If a partition has another owner by now, Kafka refuses it as a whole, and nobody sees its events.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from scoter.config.sections.cluster import KafkaClusterSettings
from scoter.live.clock import utc_now
from scoter.live.cluster.consumer import GroupMember, Place
from scoter.live.cluster.deliveries import CALLBACK
from scoter.live.cluster.intake import WorkerJournal
from scoter.live.cluster.kafka import LoggedErrors, client_options, quiet_logger, store_trouble
from scoter.live.cluster.messages import event_values
from scoter.live.ports import MetadataStore, UrlOutcome
from scoter.live.records import Event
from scoter.live.threaded_calls import BatchThread, ThreadedCall

_MOST_WAITING: Final = 10_000
_TOGETHER: Final = 1_000
_APART: Final = 0.02  # seconds between transactions: each costs some requests, however many outcomes it has
_ATTEMPTS: Final = 4
_log = logging.getLogger(__name__)


class FinishedUrl(Struct, frozen=True):
    """An event to announce, and the message of the intake that it ends."""

    event: Event
    callback: str
    place: Place
    offset: int


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
        self._last = 0.0
        self.count = 0
        self.aborted = 0
        self._thread.start()

    async def finish(self, done: FinishedUrl) -> Event | None:
        """Announce an event; return it with its number, or ``None`` if its partition has another owner."""
        found: Event | None = await self._call(done)
        return found

    def _carry_out(self, batch: Sequence[ThreadedCall]) -> None:
        time.sleep(max(0.0, self._last + _APART - time.monotonic()))
        error: BaseException | None = None
        for attempt in range(_ATTEMPTS):
            try:
                self._commit(batch)
            except Exception as raised:
                error = raised
                self._abort(raised)
                time.sleep(_APART * 2**attempt)
            else:
                break
        else:
            for call in batch:
                call.error = store_trouble(error)
        self._last = time.monotonic()

    def _commit(self, batch: Sequence[ThreadedCall]) -> None:
        producer = self._opened()
        held = self._member.in_loop(lambda: set(self._member.places))
        own = [call for call in batch if call.work.place in held]
        if not own:
            return
        numbers: dict[int, int] = {}

        def reporter(at: int) -> Callable[[Any, Any], None]:
            def report(error: Any, message: Any) -> None:
                if error is None:
                    numbers[at] = message.offset() + 1

            return report

        done: dict[Place, list[int]] = {}
        for call in own:
            done.setdefault(call.work.place, []).append(call.work.offset)
        producer.begin_transaction()
        for at, call in enumerate(own):
            work: FinishedUrl = call.work
            headers = [(CALLBACK, work.callback.encode())] if work.callback else None
            producer.produce(
                self._topic, event_values.encode(work.event), partition=0, headers=headers, on_delivery=reporter(at)
            )
        positions = self._member.in_loop(lambda: self._member.positions_with(done))
        producer.send_offsets_to_transaction(positions, self._member.membership(), self._seconds)
        producer.commit_transaction(self._seconds)
        producer.poll(0)
        self.count += 1
        for at, call in enumerate(own):
            call.result = replace(call.work.event, number=numbers.get(at, 0))
        self._member.in_loop(lambda: self._member.finish_all(done))

    def _opened(self) -> Any:
        import confluent_kafka

        if self._producer is None:
            producer = confluent_kafka.Producer(
                {
                    **client_options(self._settings),
                    "client.id": self._name,
                    "transactional.id": f"{self._settings.prefix}.{self._name}",
                    "transaction.timeout.ms": round(self._seconds * 1000),
                    "linger.ms": 1,
                    "compression.type": "lz4",
                    "error_cb": LoggedErrors(self._name),
                },
                logger=quiet_logger(),
            )
            producer.init_transactions(self._seconds)
            self._producer = producer
        return self._producer

    def _abort(self, raised: Exception) -> None:
        """End a transaction that failed, so that the next one can begin."""
        self.aborted += 1
        _log.warning("transaction aborted: %s", store_trouble(raised).message)
        if self._producer is None:
            return
        reason: Any = raised.args[0] if raised.args else None
        try:
            if hasattr(reason, "fatal") and reason.fatal():
                raise raised
            self._producer.abort_transaction(self._seconds)
        except Exception:
            self._producer = None  # a new one ends what this one has left (transactional.id)

    def _finish(self) -> None:
        self._producer = None


class ClusterOutcomes:
    """Records outcomes in Cassandra and Kafka (``ports.OutcomeRecorder``)."""

    def __init__(
        self,
        journal: WorkerJournal,
        metadata: MetadataStore,
        transactions: OutcomeTransactions,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._journal = journal
        self._metadata = metadata
        self._transactions = transactions
        self._clock = clock

    async def record(self, reader: str, done: Sequence[UrlOutcome]) -> Sequence[Event | None]:
        """Store, announce and close; for an entry that the reader has lost, store nothing and return ``None``."""
        return await asyncio.gather(*(self._record(reader, each) for each in done))

    async def _record(self, reader: str, done: UrlOutcome) -> Event | None:
        entry = done.entry
        held = self._journal.held(reader, entry.id)
        if held is None:
            return None
        # Before the transaction: once the event is announced, the record can be read.
        await self._metadata.put(done.rows)
        if self._journal.held(reader, entry.id) is None:
            return None
        event = Event(number=0, message=entry.message, url=entry.url, at=self._clock(), record=done.record)
        announced = await self._transactions.finish(FinishedUrl(event, entry.callback, *held))
        if announced is not None:
            self._journal.close(entry.id)
        return announced
