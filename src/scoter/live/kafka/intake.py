"""Accepted URLs in Kafka, as an api process writes them. An entry's number is its topic, partition and offset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from scoter.core.bounded import BoundedMap
from scoter.live.fetching.shards import shard_of
from scoter.live.intake.journal_rules import domain_of, is_conflict
from scoter.live.kafka.access import MessageIds
from scoter.live.kafka.kafka import KafkaSender, OutgoingMessage, TopicNames
from scoter.live.kafka.messages import AcceptedUrl, accepted_urls
from scoter.live.ports import Accepted
from scoter.live.records import Event, Message, Priority
from scoter.live.tenants import scoped_id, tenant_of

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


class OpenMessages:
    """Counts the URLs without an outcome that this process has accepted, by message and by tenant."""

    def __init__(self, most: int = _MOST_PENDING) -> None:
        """Beyond ``most`` messages, the oldest are no longer counted."""
        self._most = most
        self._messages: dict[str, int] = {}
        self._tenants: Counter[str] = Counter()

    def add(self, messages: Iterable[str]) -> None:
        """Count a URL for each of these ids."""
        for message in messages:
            self._messages[message] = self._messages.get(message, 0) + 1
            self._tenants[tenant_of(message)] += 1
        while len(self._messages) > self._most:
            oldest = next(iter(self._messages))
            self._remove(oldest, self._messages[oldest])

    def finished(self, message: str) -> None:
        """Note an outcome; those of messages that another process has accepted do not count here."""
        if message in self._messages:
            self._remove(message, 1)

    def of_tenant(self, tenant: str) -> int:
        return self._tenants[tenant]

    def _remove(self, message: str, count: int) -> None:
        tenant = tenant_of(message)
        for counted, name in ((self._messages, message), (self._tenants, tenant)):
            counted[name] -= count
            if not counted[name]:
                del counted[name]


def _repeated(message: Message, first: Message, accepted: Accepted) -> Accepted:
    """Return the answer to a message whose id occurs in the same call before."""
    if accepted.is_conflict or is_conflict(message, first.digest):
        return Accepted(message=message.id, entries={}, is_new=False, is_conflict=True)
    return Accepted(message=message.id, entries=accepted.entries, is_new=False)


class KafkaIntake:
    """Accepts messages in an api process, and knows which URLs it has accepted lately."""

    def __init__(self, sender: KafkaSender, names: TopicNames, partitions: int, ids: MessageIds) -> None:
        self._sender = sender
        self._names = names
        self._partitions = partitions
        self._numbers = EntryNumbers(partitions)
        self._ids = ids
        self._pending: BoundedMap[str, bool] = BoundedMap(_MOST_PENDING)
        self._open = OpenMessages()
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
                results[at] = known
            else:
                wanted += [(at, message, url) for url in dict.fromkeys(urls)]
        self._open.add(message.id for _, message, _ in wanted)  # before they are sent: outcomes may come soon
        try:
            places = await self._sender.send([self._outgoing(message, url) for _, message, url in wanted])
        except BaseException:
            for _, message, _ in wanted:
                self._open.finished(message.id)
            raise
        entries: dict[int, dict[str, int]] = {}
        for (at, message, url), (partition, offset) in zip(wanted, places, strict=True):
            entries.setdefault(at, {})[url] = self._numbers.number(message.priority, partition, offset)
            self._pending.put(url, message.force)
        for at in several:
            if at not in results:
                results[at] = Accepted(message=messages[at][0].id, entries=entries.get(at, {}))
        new = [(messages[at][0], each) for at, each in results.items() if each.is_new]
        await self._ids.stored([(message, each.entries) for message, each in new if message.is_named])
        for at, (message, _) in enumerate(messages):
            if at not in results:
                results[at] = _repeated(message, messages[first[message.id]][0], results[first[message.id]])
        return [results[at] for at in range(len(messages))]

    def _outgoing(self, message: Message, url: str) -> OutgoingMessage:
        value = AcceptedUrl(message.id, url, message.priority, message.force, message.callback, message.received)
        return intake_message(self._names, self._partitions, value)

    def finished(self, event: Event) -> None:
        """Note that a URL has an outcome."""
        self._pending.pop(event.url)
        self._open.finished(scoped_id(event.tenant, event.message))

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
        """Return 0: only the pipeline of a domain knows."""
        return 0

    def waiting_for(self, tenant: str) -> int:
        """Return the number of a tenant's URLs that this process has accepted and that have no outcome yet."""
        # An outcome that was never announced must not count for ever.
        return min(self._open.of_tenant(tenant), self.lag)

    def is_done(self, message: str) -> bool | None:
        """Return ``None``: ``accept`` recognises repeated messages."""
        return None
