"""Reads partitions from their beginning or end, without a consumer group."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from scoter.config.sections.cluster import KafkaClusterSettings
from scoter.errors import StoreUnavailable
from scoter.live.background import VitalThread
from scoter.live.kafka.consumer import Place, ReceivedMessage
from scoter.live.kafka.faults import FAULTS, FaultKind
from scoter.live.kafka.kafka import (
    append_time,
    client_options,
    is_fatal,
    note_error,
    quiet_logger,
    store_trouble,
)

_BATCH: Final = 500
_POLL: Final = 0.1
_TAIL_POLL: Final = 0.5  # seconds; a message ends the wait
_APART: Final = 0.02  # seconds between batches: each wakes threads, however many messages it has
_RETRY: Final = 0.1
_WAIT: Final = 1.0  # seconds between attempts to reach Kafka
_WATERMARKS: Final = 5.0  # seconds between looks at the oldest offset
_log = logging.getLogger(__name__)


def plain_consumer(settings: KafkaClusterSettings, name: str, group: str = "") -> Any:
    """Return a consumer that is no member of a group, but may read the positions of one."""
    import confluent_kafka

    return confluent_kafka.Consumer(
        {
            **client_options(settings),
            "client.id": name,
            "group.id": group or f"{settings.prefix}.none",  # librdkafka wants one
            "enable.auto.commit": False,
            "enable.partition.eof": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 100,
            "error_cb": note_error,
        },
        logger=quiet_logger(),
    )


def watermarks(consumer: Any, place: Place, within: float) -> tuple[int, int]:
    """Return the first and the next offset of a partition; blocks. A new partition may take a moment."""
    import confluent_kafka

    until = time.monotonic() + within
    while True:
        try:
            consumer.list_topics(place[0], timeout=within)  # a new client does not know the partitions
            found: tuple[int, int] | None = consumer.get_watermark_offsets(
                confluent_kafka.TopicPartition(*place), timeout=within
            )
        except confluent_kafka.KafkaException as error:
            if time.monotonic() > until:
                raise store_trouble(error) from None
            time.sleep(_RETRY)
        else:
            if found is None:
                raise StoreUnavailable("Kafka: no answer in time")
            return found


class TopicTail:
    """Passes the messages of one partition to a function in the event loop, as they come."""

    def __init__(
        self,
        settings: KafkaClusterSettings,
        topic: str,
        partition: int,
        receive: Callable[[Sequence[ReceivedMessage]], None],
        *,
        name: str,
        from_start: bool = False,
    ) -> None:
        self._settings = settings
        self._place = (topic, partition)
        self._receive = receive
        self._from_start = from_start
        self._name = name
        self._consumer: Any = None
        self._loop = asyncio.get_running_loop()
        self._is_closed = threading.Event()
        self._thread = VitalThread(self._run, f"{name}-tail")
        self.first = 0  # the oldest offset
        self._known_end = 0
        self.next = 0  # the offset after the newest message that was read

    async def start(self) -> None:
        """Begin to read as soon as Kafka answers; with ``from_start``, return when everything there was received."""
        if self._consumer is None:
            self._consumer = plain_consumer(self._settings, self._name)
        while True:
            try:
                low, high = await asyncio.to_thread(self._watermarks)
                break
            except StoreUnavailable as error:
                FAULTS.note("kafka", FaultKind.UNREACHABLE, error.message)
                await asyncio.sleep(_WAIT)
        self.first, self.next, self._known_end = low, low if self._from_start else high, high
        await asyncio.to_thread(self._assign, self.next)
        self._thread.start()
        if self._from_start:
            while self.next < high:  # noqa: ASYNC110 - the thread has no event
                await asyncio.sleep(0.02)

    async def close(self) -> None:
        """Stop reading."""
        self._is_closed.set()
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join)
        if self._consumer is not None:
            await asyncio.to_thread(self._consumer.close)

    def _watermarks(self) -> tuple[int, int]:
        return watermarks(self._consumer, self._place, self._settings.timeout.total_seconds())

    def _assign(self, offset: int) -> None:
        import confluent_kafka

        self._consumer.assign([confluent_kafka.TopicPartition(*self._place, offset)])

    def _run(self) -> None:
        looked = time.monotonic()
        while not self._is_closed.is_set():
            try:
                # Not ``consume`` alone: it would wait for the whole time unless there is a full batch.
                first = self._consumer.poll(_TAIL_POLL)
                found = [] if first is None else [first, *self._consumer.consume(_BATCH, timeout=0)]
                messages = [_received(self._place, each) for each in found if each.error() is None]
                if messages or self.next < self._known_end:
                    self._loop.call_soon_threadsafe(self._pass_on, messages, self._position(messages))
                    if len(found) <= _BATCH:
                        time.sleep(_APART)
                if time.monotonic() - looked > _WATERMARKS:
                    looked = time.monotonic()
                    self.first, self._known_end = self._watermarks()
            except StoreUnavailable:
                pass
            except Exception as error:
                if self._is_closed.is_set() or self._loop.is_closed():
                    return
                if is_fatal(error):
                    raise
                _log.warning("cannot read %s: %s", self._place[0], error, exc_info=True)
                time.sleep(_RETRY)

    def _position(self, messages: Sequence[ReceivedMessage]) -> int:
        """Return the next offset. Behind the last message there may be offsets of transactions."""
        import confluent_kafka

        known = messages[-1].offset + 1 if messages else self.next
        with suppress(confluent_kafka.KafkaException, IndexError):  # next time
            known = max(known, self._consumer.position(self._consumer.assignment())[0].offset)
        return known

    def _pass_on(self, messages: Sequence[ReceivedMessage], position: int) -> None:
        if messages:
            try:
                self._receive(messages)
            except Exception:
                _log.exception("cannot handle messages of %s", self._place[0])
        self.next = max(self.next, position)


def _received(place: Place, message: Any) -> ReceivedMessage:
    headers = tuple(message.headers() or ())
    return ReceivedMessage(place, message.offset(), message.value(), message.key(), headers, append_time(message))


def read_partition(
    settings: KafkaClusterSettings, topic: str, partition: int, start: int, most: int
) -> list[ReceivedMessage]:
    """Return at most ``most`` messages from an offset on, up to the current end; blocks."""
    import confluent_kafka

    consumer = plain_consumer(settings, "reader")
    within = settings.timeout.total_seconds()
    found: list[ReceivedMessage] = []
    try:
        low, end = watermarks(consumer, (topic, partition), within)
        at = max(start, low)
        if at >= end:
            return []
        consumer.assign([confluent_kafka.TopicPartition(topic, partition, at)])
        idle = 0
        while at < end and len(found) < most and idle * _POLL < within:
            got = consumer.consume(min(most - len(found), _BATCH), timeout=_POLL)
            found += [_received((topic, partition), each) for each in got if each.error() is None]
            position = consumer.position(consumer.assignment())[0].offset
            idle = 0 if got or position > at else idle + 1
            at = max(at, position)
        if at < end and len(found) < most:
            raise StoreUnavailable("Kafka: no answer in time")
        return found
    except confluent_kafka.KafkaException as error:
        raise store_trouble(error) from None
    finally:
        consumer.close()
