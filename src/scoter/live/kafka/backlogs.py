"""How far the consumer groups of a service are behind: messages and ages by topic."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from scoter.config.sections.cluster import KafkaClusterSettings
from scoter.live.kafka.consumer import Place
from scoter.live.kafka.kafka import TopicNames, store_trouble
from scoter.live.kafka.topic_reader import plain_consumer, watermarks

_MOST_SAMPLES: Final = 120
_APART: Final = 5.0  # seconds between two samples of a partition, at least
_DOUBTFUL: Final = 15.0  # seconds after which it is checked that there is a message, not only the mark of a transaction
_CHECK: Final = 1.0  # seconds for this


class TopicBacklog(Struct, frozen=True):
    """The messages of a topic that its group has not finished, and the age of the oldest in seconds."""

    messages: int = 0
    oldest: float = 0.0


class PartitionAge:
    """How long the first unfinished message of a partition has been there, as far as this process has seen.

    It remembers when it saw which end of the partition. A message that was there when the process started counts from
    then on.
    """

    def __init__(self) -> None:
        self._seen: list[tuple[int, float]] = []
        self._apart = _APART

    def note(self, position: int, end: int, now: float) -> float:
        """Note the position of the group and the end of the partition; return the age in seconds."""
        seen = self._seen
        while seen and seen[0][0] <= position:
            del seen[0]
        if not seen:
            self._apart = _APART
        if end > position and (not seen or (end > seen[-1][0] and now - seen[-1][1] >= self._apart)):
            if len(seen) >= _MOST_SAMPLES:
                del seen[1::2]
                self._apart *= 2
            seen.append((end, now))
        return now - seen[0][1] if seen else 0.0


class GroupBacklog:
    """Counts the messages of topics that a consumer group has not finished; its methods block."""

    def __init__(
        self,
        settings: KafkaClusterSettings,
        group: str,
        topics: Sequence[str],
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._consumer = plain_consumer(settings, f"{group}-backlog", group)
        self._places = [(topic, partition) for topic in topics for partition in range(settings.partitions)]
        self._dead = (TopicNames(settings.prefix).dead, 0)
        self._within = settings.timeout.total_seconds()
        self._timer = timer
        self._ages = {place: PartitionAge() for place in self._places}
        self._checked: dict[Place, tuple[int, int, bool]] = {}

    def dead_letters(self) -> int:
        """Return how many messages of the last two weeks nobody could read."""
        first, end = watermarks(self._consumer, self._dead, self._within)
        return end - first

    def count(self) -> Mapping[str, TopicBacklog]:
        """Return how many messages come after the positions of the group, and since when, by topic.

        Those behind the first unfinished one count too, and so do the marks of transactions.
        """
        import confluent_kafka

        try:
            positions = self._consumer.committed(
                [confluent_kafka.TopicPartition(*place) for place in self._places], timeout=self._within
            )
            ends = self._consumer.offsets_for_times(
                [confluent_kafka.TopicPartition(*place, confluent_kafka.OFFSET_END) for place in self._places],
                timeout=self._within,
            )
        except confluent_kafka.KafkaException as error:
            raise store_trouble(error) from None
        last = {(each.topic, each.partition): each.offset for each in ends}
        counted: Counter[str] = Counter()
        oldest = {topic: 0.0 for topic, _ in self._places}
        now = self._timer()
        for each in positions:
            position, end = max(each.offset, 0), last.get((each.topic, each.partition), 0)
            counted[each.topic] += max(0, end - position)
            age = self._ages[each.topic, each.partition].note(position, end, now)
            if age > oldest[each.topic] and (
                age < _DOUBTFUL or self._has_message((each.topic, each.partition), position, end)
            ):
                oldest[each.topic] = age
        return {topic: TopicBacklog(counted[topic], age) for topic, age in oldest.items()}

    def _has_message(self, place: Place, position: int, end: int) -> bool:
        """Return whether there is a message from a position on: a group never gets past the mark of a transaction."""
        import confluent_kafka

        known_position, known_end, found = self._checked.get(place, (-1, -1, True))
        if known_position == position and (found or known_end == end):
            return found
        try:
            self._consumer.assign([confluent_kafka.TopicPartition(*place, position)])
            message = self._consumer.poll(_CHECK)
            reached = self._consumer.position(self._consumer.assignment())[0].offset
            self._consumer.unassign()
        except confluent_kafka.KafkaException as error:
            raise store_trouble(error) from None
        found = message is not None and message.error() is None
        if not found and reached < end:
            return True  # Kafka has not answered in time
        self._checked[place] = (position, end, found)
        return found

    def close(self) -> None:
        self._consumer.close()


class ServiceBacklog:
    """What an api process last counted: the accepted URLs, the requests, and the dead letters of a service."""

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self.topics: Mapping[str, TopicBacklog] = {}
        self.dead_letters = 0

    def note(self, *counted: Mapping[str, TopicBacklog]) -> None:
        """Note what was counted of some topics."""
        for each in counted:
            self.topics = {**self.topics, **each}

    @property
    def accepted(self) -> int:
        """The URLs that are accepted and not done."""
        return sum(self.topics[topic].messages for topic in self._names.intakes if topic in self.topics)

    @property
    def oldest(self) -> float:
        """The age of the oldest of these, in seconds."""
        return max((self.topics[topic].oldest for topic in self._names.intakes if topic in self.topics), default=0.0)

    def lag(self) -> Mapping[str, float]:
        """Return the unfinished messages by topic, without the prefix."""
        return {self._short(topic): float(each.messages) for topic, each in self.topics.items()}

    def ages(self) -> Mapping[str, float]:
        """Return the age of the oldest unfinished message by topic."""
        return {self._short(topic): each.oldest for topic, each in self.topics.items()}

    def _short(self, topic: str) -> str:
        return topic.removeprefix(f"{self._names.prefix}.")
