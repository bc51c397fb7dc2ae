"""Events in Kafka, read by number (``ports.Events``): the number of an event is its offset plus one.

Every api process reads the topic as it grows and keeps the latest events in memory; older ones are read from Kafka.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from scoter.config.sections.cluster import KafkaClusterSettings
from scoter.live.kafka.consumer import ReceivedMessage
from scoter.live.kafka.faults import FAULTS, FaultKind
from scoter.live.kafka.kafka import TopicNames
from scoter.live.kafka.messages import UnreadableMessage, event_values
from scoter.live.kafka.topic_reader import TopicTail, read_partition
from scoter.live.records import Event

_CACHED: Final = 5_000


class KafkaEvents:
    """The events of a service. ``start`` it before use."""

    def __init__(
        self, settings: KafkaClusterSettings, name: str, on_events: Callable[[Sequence[Event]], None] = lambda new: None
    ) -> None:
        """``on_events`` is called with new events, in the event loop."""
        self._settings = settings
        self._topic = TopicNames(settings.prefix).events
        self._on_events = on_events
        self._tail = TopicTail(settings, self._topic, 0, self._receive, name=f"{name}-events")
        self._cached: deque[Event] = deque(maxlen=_CACHED)
        self._complete_from = 0  # all events after this number are cached
        self.unreadable = 0

    async def start(self) -> None:
        """Begin to read new events."""
        await self._tail.start()
        self._complete_from = self._tail.next

    async def close(self) -> None:
        await self._tail.close()

    async def since(self, number: int, most: int) -> Sequence[Event]:
        """Return at most ``most`` events after a number."""
        while number < self._complete_from:
            found = await asyncio.to_thread(read_partition, self._settings, self._topic, 0, number, most)
            if not found:
                break
            if events := self._decoded(found):
                return events
            number = found[-1].offset + 1  # none of these can be read; those behind them may be
        return [event for event in self._cached if event.number > number][:most]

    def last(self) -> int:
        """Return the number of the newest event, 0 before the first."""
        return max(self._tail.next, self._cached[-1].number if self._cached else 0)

    def first(self) -> int:
        """Return the number of the oldest stored event; the next number if there is none."""
        return self._tail.first + 1

    async def prune(self, most: int, *, by_age: bool = True) -> int:
        """Return 0: Kafka removes old events by itself."""
        return 0

    def _receive(self, messages: Sequence[ReceivedMessage]) -> None:
        new = self._decoded(messages)
        for event in new:
            if len(self._cached) == _CACHED:
                self._complete_from = self._cached[0].number
            self._cached.append(event)
        self._on_events(new)

    def _decoded(self, messages: Sequence[ReceivedMessage]) -> list[Event]:
        events = []
        for message in messages:
            try:
                events.append(replace(event_values.decode(message.value), number=message.offset + 1))
            except UnreadableMessage as error:
                self.unreadable += 1
                place = f"event at offset {message.offset}"
                FAULTS.note("kafka", FaultKind.UNREADABLE, f"unreadable {place}: {error}", about=place)
        return events
