"""Accepted URLs in Kafka, as an api process writes them. An entry's number is its topic, partition and offset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from scoter.core.bounded import BoundedMap
from scoter.live.cluster.access import MessageIds
from scoter.live.cluster.kafka import KafkaSender, OutgoingMessage, TopicNames
from scoter.live.cluster.messages import AcceptedUrl, accepted_urls
from scoter.live.journal_rules import domain_of
from scoter.live.ports import Accepted
from scoter.live.records import Message, Priority
from scoter.live.workers.shards import shard_of

_OFFSET_BITS: Final = 40
_MOST_PENDING: Final = 200_000


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
        first = {message.id: at for at, (message, _) in reversed(list(enumerate(messages)))}
        several = sorted(first.values())  # each id once
        claims = await self._ids.claim([messages[at][0] for at in several])
        results: dict[int, Accepted] = {}
        wanted: list[tuple[int, Message, str]] = []
        for at, known in zip(several, claims, strict=True):
            message, urls = messages[at]
            if known is not None:
                results[at] = Accepted(message=message.id, entries=known, is_new=False)
            else:
                wanted += [(at, message, url) for url in dict.fromkeys(urls)]
        places = await self._sender.send([self._outgoing(message, url) for _, message, url in wanted])
        entries: dict[int, dict[str, int]] = {}
        for (at, message, url), (partition, offset) in zip(wanted, places, strict=True):
            entries.setdefault(at, {})[url] = self._numbers.number(message.priority, partition, offset)
            self._pending.put(url, message.force)
        for at in several:
            if at not in results:
                results[at] = Accepted(message=messages[at][0].id, entries=entries.get(at, {}))
        named = {message.id for message, _ in messages if message.is_named}
        new = [each for each in results.values() if each.is_new and each.message in named]
        await self._ids.stored([(each.message, each.entries) for each in new])
        for at, (message, _) in enumerate(messages):
            if at not in results:
                results[at] = Accepted(message=message.id, entries=results[first[message.id]].entries, is_new=False)
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
