"""A member of a consumer group: the partitions that it owns, their messages, and which of these are done.

A thread polls Kafka and makes all other calls of its client too: the client is locked while it is polled, so that calls
of another thread may wait for long. Everything else happens in the event loop, where the owner of the member handles
messages. A partition is returned only after its owner has stopped using it (``PartitionOwner.revoked``).
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, Protocol, TypeAlias

from msgspec import Struct

from scoter.config.sections.cluster import KafkaClusterSettings
from scoter.live.background import VitalThread, call_in_loop, end_process
from scoter.live.clock import steady_now
from scoter.live.kafka.faults import FAULTS, kafka_fault
from scoter.live.kafka.kafka import client_options, is_fatal, note_error, quiet_logger, store_trouble
from scoter.live.kafka.offsets import PartitionOffsets, decoded_offsets

_BATCH: Final = 500
_POLL: Final = 0.25  # seconds; a message ends the wait
_POLL_PAUSED: Final = 0.05  # while partitions are paused, which may have room again
_APART: Final = 0.02  # seconds between batches, which cost some work, however many messages they have
_LONGEST_STOP: Final = 45.0
_LONGEST_START: Final = 60.0  # seconds without an answer from Kafka
_ASKS: Final = 10.0  # seconds that a question to Kafka may take
_PAUSE: Final = 0.5
_MOST_UNCONFIRMED: Final = 100  # commits
_HANGS: Final = 15.0  # seconds after which a commit counts as hanging
_log = logging.getLogger(__name__)

Place: TypeAlias = tuple[str, int]
"""A topic and the number of one of its partitions."""


class ReceivedMessage(Struct, frozen=True):
    """A message of a partition; ``appended`` is the time of the broker in seconds, if the topic has it."""

    place: Place
    offset: int
    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    appended: float | None = None


class PartitionOwner(Protocol):
    """Handles the messages of a group's member, in the event loop."""

    def assigned(self, places: Sequence[Place], since: float) -> None:
        """Start with partitions; the assignment was learnt at ``since``, a time of ``steady_now``."""

    async def revoked(self, places: Sequence[Place], *, is_lost: bool) -> None:
        """Stop using partitions. If they are lost, another process may have them already."""

    def received(self, messages: Sequence[ReceivedMessage]) -> None:
        """Take messages that are not done yet."""

    def is_full(self, place: Place) -> bool:
        """Return whether a partition should be paused."""

    def confirmed(self, since: float) -> None:
        """Note that the group knew this member at or after ``since``, a time of ``steady_now``."""


class GroupMember:
    """A dynamic member of a consumer group (KIP-848)."""

    def __init__(
        self,
        settings: KafkaClusterSettings,
        group: str,
        topics: Sequence[str],
        owner: PartitionOwner,
        *,
        name: str,
        commits: float = 0.0,
        is_vital: bool = False,
    ) -> None:
        """Commit every ``commits`` seconds; 0 if the owner commits by itself, in transactions.

        With ``is_vital``, the process ends if commits hang: it can do nothing without them.
        """
        self._is_vital = is_vital
        import confluent_kafka

        self._kafka = confluent_kafka
        self._topics = list(topics)
        self._owner = owner
        self._commits = commits
        self._offsets: dict[Place, PartitionOffsets] = {}
        self._paused: set[Place] = set()
        self._membership: Any = None
        self._is_outdated = True
        self._loop = asyncio.get_running_loop()
        self._is_closed = threading.Event()
        self._consumer = confluent_kafka.Consumer(
            {
                **client_options(settings),
                "client.id": name,
                "group.id": group,
                "group.protocol": "consumer",
                "group.remote.assignor": "range",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 500,  # a message ends the wait
                "queued.max.messages.kbytes": 16_384,
                "error_cb": note_error,
                "on_commit": self._on_commit,
            },
            logger=quiet_logger(),
        )
        self._thread = VitalThread(self._poll_all, f"{name}-poll")
        self._asked: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        self._unconfirmed: deque[float] = deque()  # when commits began that have no answer yet
        self._due = 0.0

    def __repr__(self) -> str:
        return f"GroupMember({len(self._offsets)} partitions, {len(self._paused)} paused)"

    def start(self) -> None:
        """Join the group."""
        self._consumer.subscribe(
            self._topics, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )
        self._thread.start()

    async def close(self) -> None:
        """Leave the group."""
        self._is_closed.set()
        await asyncio.to_thread(self._thread.join)
        await asyncio.to_thread(self._consumer.close)

    # In the event loop

    @property
    def places(self) -> Iterable[Place]:
        """The partitions that this member owns."""
        return self._offsets.keys()

    def owns(self, place: Place) -> bool:
        return place in self._offsets

    def is_unfinished(self, place: Place, offset: int) -> bool:
        """Return whether this member owns a message that was received and is not done."""
        offsets = self._offsets.get(place)
        return offsets is not None and offset in offsets

    def finish(self, place: Place, offset: int) -> None:
        """Note that a message is done."""
        if (offsets := self._offsets.get(place)) is not None:
            offsets.finish(offset)

    def finish_all(self, done: Mapping[Place, Sequence[int]]) -> None:
        """Note that messages are done."""
        for place, offsets in done.items():
            for offset in offsets:
                self.finish(place, offset)

    def positions_with(self, done: Mapping[Place, Sequence[int]]) -> list[Any]:
        """Return the positions of partitions as they are once these messages are done, for a transaction."""
        return [
            self._position(place, *self._offsets[place].without(offsets))
            for place, offsets in done.items()
            if place in self._offsets
        ]

    def finished_before(self) -> dict[Place, int]:
        """Return the first offset of each partition that is not done."""
        return {place: offsets.position for place, offsets in self._offsets.items()}

    def open_count(self, place: Place) -> int:
        """Return how many messages of a partition are not done."""
        offsets = self._offsets.get(place)
        return 0 if offsets is None else len(offsets)

    def committed(self, places: Iterable[Place], within: float) -> dict[Place, tuple[int, set[int]]]:
        """Return the committed position of partitions, and what is done after it; blocks."""
        asked = [self._kafka.TopicPartition(*place) for place in places]
        done: Future[Any] = Future()
        self._asked.put((lambda: self._consumer.committed(asked, timeout=within), done))
        found = done.result(within + _LONGEST_STOP)
        return {
            (each.topic, each.partition): (
                each.offset,
                {each.offset + distance for distance in decoded_offsets(each.metadata or "")},
            )
            for each in found
        }

    @property
    def membership(self) -> Any:
        """This member's identity, for a transaction; ``None`` at first.

        An outdated one is safe: Kafka refuses its transactions. Then call ``renew_membership``.
        """
        return self._membership

    def renew_membership(self) -> None:
        """Ask for this member's identity again."""
        self._is_outdated = True

    def ends_of(self, place: Place, offset: int) -> int:
        """Return how many owners in a row have ended that may have seen a message."""
        offsets = self._offsets.get(place)
        return 0 if offsets is None else offsets.ends_of(offset)

    def trials_of(self, place: Place, offset: int) -> int:
        """Return how often a message that is suspect was processed alone."""
        offsets = self._offsets.get(place)
        return 0 if offsets is None else offsets.trials_of(offset)

    def begin_trial(self, place: Place, offset: int) -> None:
        """Note that a suspect is going to be processed alone; the next position of the partition stores it."""
        if (offsets := self._offsets.get(place)) is not None:
            offsets.begin_trial(offset)

    def give_back(self, places: Iterable[Place]) -> None:
        """Note that partitions are returned in order; the next position of each stores it."""
        for place in places:
            if (offsets := self._offsets.get(place)) is not None:
                offsets.give_back()

    def _position(self, place: Place, offset: int, text: str) -> Any:
        return self._kafka.TopicPartition(place[0], place[1], offset, text)

    # In the threads

    def in_loop(self, work: Callable[[], Any]) -> Any:
        """Call something in the event loop; return its result."""
        return call_in_loop(self._loop, work, _LONGEST_STOP)

    def _poll_all(self) -> None:
        """Poll until closed. Whatever else goes wrong ends the process: messages that were taken must not be lost."""
        while not self._is_closed.is_set():
            try:
                found = self._found()
                self._look_at_membership()
                self._pause(self.in_loop(partial(self._receive, found)))
                self._answer()
                self._commit()
                if found:
                    time.sleep(_APART)
            except TimeoutError:
                _log.warning("the event loop is too busy")  # it does later what it was asked for
            except RuntimeError:
                if self._is_closed.is_set() or self._loop.is_closed():
                    return
                raise

    def _found(self) -> list[Any]:
        """Return the next messages; wait for the first."""
        found: list[Any] = []
        try:
            # Not ``consume`` alone: it would wait for the whole time unless there is a full batch.
            if (first := self._consumer.poll(self._patience())) is not None:
                found.append(first)
                found += self._consumer.consume(_BATCH, timeout=0)
        except self._kafka.KafkaException as error:
            if is_fatal(error):
                end_process("its consumer is broken", error)
            _log.warning("cannot read from Kafka: %s", error)
            time.sleep(_PAUSE)
        return found

    def _look_at_membership(self) -> None:
        if self._is_outdated and not self._commits:
            with suppress(self._kafka.KafkaException):  # transactions fail, and ask for it again
                self._is_outdated = False
                self._membership = self._consumer.consumer_group_metadata()

    def _patience(self) -> float:
        """Return how long to wait for a message."""
        longest = _POLL_PAUSED if self._paused else _POLL
        return max(0.0, min(longest, self._due - steady_now())) if self._commits else longest

    def _answer(self) -> None:
        """Make the calls that other threads have asked for."""
        while not self._asked.empty():
            work, done = self._asked.get_nowait()
            try:
                done.set_result(work())
            except Exception as error:
                done.set_exception(error)

    def _receive(self, found: Sequence[Any]) -> set[Place]:
        """Pass messages to the owner; return the partitions that are full."""
        messages = []
        for each in found:
            if each.error() is not None:
                continue  # reported by ``error_cb``
            place, offset = (each.topic(), each.partition()), each.offset()
            offsets = self._offsets.get(place)
            if offsets is not None and offsets.receive(offset):
                messages.append(ReceivedMessage(place, offset, each.value(), each.key(), tuple(each.headers() or ())))
        if messages:
            self._owner.received(messages)
        return {place for place in self._offsets if self._owner.is_full(place)}

    def _pause(self, full: set[Place]) -> None:
        """Read from no partition that is full."""
        for places, change in (
            (full - self._paused, self._consumer.pause),
            (self._paused - full, self._consumer.resume),
        ):
            for place in places:
                with suppress(self._kafka.KafkaException):  # the partition was just taken away
                    change([self._kafka.TopicPartition(*place)])
        self._paused = full

    @contextmanager
    def _in_callback(self) -> Iterator[None]:
        """End the process if a callback fails: it would neither use partitions nor leave them to others.

        Errors must not reach librdkafka's caller: some are no exceptions, and end its thread whatever it catches.
        """
        try:
            yield
        except Exception as error:
            end_process("it cannot take or return partitions", error)

    def _starts(self, consumer: Any, partitions: Sequence[Any]) -> dict[Place, PartitionOffsets]:
        """Return where to begin with partitions; try again while Kafka does not answer."""
        until = steady_now() + _LONGEST_START
        while True:
            try:
                return dict(self._start(consumer, each) for each in consumer.committed(list(partitions), timeout=_ASKS))
            except self._kafka.KafkaException as error:
                if steady_now() > until:
                    raise
                FAULTS.note("kafka", kafka_fault(error.args[0]), f"cannot read positions: {store_trouble(error)}")
                time.sleep(_PAUSE)

    def _start(self, consumer: Any, committed: Any) -> tuple[Place, PartitionOffsets]:
        first, end = committed.offset, 0
        if first < 0:
            first = self._watermarks(consumer, committed)[0]
        offsets = PartitionOffsets(first, committed.metadata or "")
        if offsets.was_abandoned:
            end = self._watermarks(consumer, committed)[1]
        offsets.take(end)
        return (committed.topic, committed.partition), offsets

    def _watermarks(self, consumer: Any, partition: Any) -> tuple[int, int]:
        found: tuple[int, int] | None = consumer.get_watermark_offsets(partition, timeout=_ASKS)
        if found is None:
            raise self._kafka.KafkaException(self._kafka.KafkaError(self._kafka.KafkaError._TIMED_OUT))
        return found

    def _on_assign(self, consumer: Any, partitions: Sequence[Any]) -> None:
        with self._in_callback():
            self._take(consumer, partitions)

    def _take(self, consumer: Any, partitions: Sequence[Any]) -> None:
        since = steady_now()
        starts = self._starts(consumer, partitions)
        consumer.incremental_assign(
            [self._kafka.TopicPartition(*place, offsets.position) for place, offsets in starts.items()]
        )

        self._is_outdated = True

        def assigned() -> None:
            self._offsets.update(starts)
            self._owner.assigned(list(starts), since)

        self.in_loop(assigned)

    def _on_revoke(self, consumer: Any, partitions: Sequence[Any]) -> None:
        with self._in_callback():
            self._give_back(consumer, partitions, is_lost=False)

    def _on_lost(self, consumer: Any, partitions: Sequence[Any]) -> None:
        _log.warning("Kafka has given %d partitions to others", len(partitions))
        with self._in_callback():
            self._give_back(consumer, partitions, is_lost=True)

    def _give_back(self, consumer: Any, partitions: Sequence[Any], *, is_lost: bool) -> None:
        places = [(each.topic, each.partition) for each in partitions]
        stopping = asyncio.run_coroutine_threadsafe(self._owner.revoked(places, is_lost=is_lost), self._loop)
        try:
            stopping.result(_LONGEST_STOP)
        except Exception:
            _log.exception("cannot return partitions in order")

        def let_go() -> list[Any]:
            self.give_back(places)
            gone = [(place, self._offsets.pop(place, None)) for place in places]
            return [self._position(place, *offsets.committed()) for place, offsets in gone if offsets is not None]

        last = self.in_loop(let_go)
        if self._commits and last and not is_lost:
            with suppress(self._kafka.KafkaException):  # the next owner repeats some work
                consumer.commit(offsets=last, asynchronous=False)
        consumer.incremental_unassign(list(partitions))
        self._is_outdated = True

    def _commit(self) -> None:
        """Send the positions of all partitions, if it is time."""
        began = steady_now()
        if not self._commits or began < self._due:
            return
        self._due = began + self._commits
        if self._unconfirmed and began - self._unconfirmed[0] > _HANGS:
            if self._is_vital:
                # The client may not recover from this. The supervisor starts a new process with a new client.
                end_process("its commits hang")
            _log.info("cannot commit: no answer in time")
            self._unconfirmed.clear()
        positions = self.in_loop(
            lambda: [self._position(place, *each.committed()) for place, each in self._offsets.items()]
        )
        if positions and len(self._unconfirmed) < _MOST_UNCONFIRMED:
            try:
                self._consumer.commit(offsets=positions, asynchronous=True)
                self._unconfirmed.append(began)
            except self._kafka.KafkaException as error:
                _log.info("cannot commit: %s", error)

    def _on_commit(self, error: Any, partitions: Sequence[Any]) -> None:
        """Note the answer to a commit, while polling."""
        # Answers come in the order of the commits. Should one be missing, later ones count for earlier times: the owner
        # believes less than it could, never more.
        began = self._unconfirmed.popleft() if self._unconfirmed else None
        failed = error or next((each.error for each in partitions if each.error is not None), None)
        if failed is not None:
            _log.info("cannot commit: %s", failed)
        elif began is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._owner.confirmed, began)
