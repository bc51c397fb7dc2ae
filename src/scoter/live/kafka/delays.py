"""What a worker leaves to the next owner of a partition: delays and holds of domains, and whether it has stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from scoter.config import Config
from scoter.live.clock import steady_now, utc_now
from scoter.live.fetching.shards import shard_of
from scoter.live.fetching.wire import DomainHold
from scoter.live.kafka.consumer import ReceivedMessage
from scoter.live.kafka.faults import FAULTS, FaultKind
from scoter.live.kafka.kafka import KafkaSender, OutgoingMessage, TopicNames, append_time, store_trouble
from scoter.live.kafka.messages import RETURNED, TAKEN, LearntDelay, UnreadableMessage, learnt_delays
from scoter.live.kafka.topic_reader import read_partition

_MOST_DELAYS: Final = 1_000_000  # learnt delays of one partition
_LONGEST_HOLD: Final = 86_400.0
_SAME_HOLD: Final = 1.0


class SharedDelays:
    """The topic of delays, as a worker reads and writes it."""

    def __init__(
        self,
        config: Config,
        sender: KafkaSender,
        name: str,
        *,
        clock: Callable[[], datetime] = utc_now,
        now: Callable[[], float] = steady_now,
    ) -> None:
        self._settings = config.kafka
        self._topic = TopicNames(config.kafka.prefix).delays
        self._delay = config.fetch.delay.total_seconds()
        self._sender = sender
        self._name = name
        self._clock = clock
        self._now = now
        self._holds: dict[str, datetime] = {}

    def learn(self, domain: str, pause: float, hold: float) -> None:
        """Leave a delay to later owners, if it is longer than the configured one."""
        until = self._clock() + timedelta(seconds=hold) if hold > max(pause, self._delay) + _SAME_HOLD else None
        known = self._holds.get(domain)
        if until is None and pause <= self._delay:
            return
        if until is not None and known is not None and until - known < timedelta(seconds=_SAME_HOLD):
            return
        if until is not None:
            self._holds[domain] = until
        delay = LearntDelay(domain, pause, until, hold=hold if until is not None else 0.0)
        self._sender.put(self._message(shard_of(domain, self._settings.partitions), delay))

    async def take(self, shard: int) -> tuple[bool, list[DomainHold]]:
        """Take a partition; return whether nobody makes requests to its domains, and their holds."""
        found = await asyncio.to_thread(read_partition, self._settings, self._topic, shard, 0, _MOST_DELAYS)
        # Read first: a newer mark may remove the older one from a compacted topic.
        return self._left_over(found, await self._mark_taken(shard))

    async def give_back(self, shards: Sequence[int]) -> None:
        """Note that this process makes no more requests to the domains of partitions."""
        await self._sender.send([self._mark(shard, RETURNED) for shard in shards])

    async def _mark_taken(self, shard: int) -> float | None:
        """Note that this process has a partition; return the time of the broker, if known."""
        loop = asyncio.get_running_loop()
        stored: asyncio.Future[float | None] = loop.create_future()

        def settle(error: Any, at: float | None) -> None:
            if stored.done():
                return
            if error is None:
                stored.set_result(at)
            else:
                stored.set_exception(store_trouble(error))

        def report(error: Any, message: Any) -> None:
            loop.call_soon_threadsafe(settle, error, append_time(message) if error is None else None)

        self._sender.put(self._mark(shard, TAKEN), report)
        return await stored

    def _left_over(self, found: Sequence[ReceivedMessage], broker_time: float | None) -> tuple[bool, list[DomainHold]]:
        latest: dict[str, LearntDelay] = {}
        ages: dict[str, float] = {}  # by the clock of the broker
        for message in found:
            try:
                each = learnt_delays.decode(message.value)
            except UnreadableMessage as error:
                FAULTS.note("kafka", FaultKind.UNREADABLE, f"unreadable delay at offset {message.offset}: {error}")
                continue
            latest.pop(each.domain, None)  # so that the order is that of the last messages
            latest[each.domain] = each
            if message.appended is not None and broker_time is not None:
                ages[each.domain] = max(0.0, broker_time - message.appended)
        order = list(latest)
        taken, returned = latest.pop(TAKEN, None), latest.pop(RETURNED, None)
        # The former owner may have returned the partition too late, when somebody else had taken it.
        is_free = taken is None or (
            returned is not None and returned.owner == taken.owner and order.index(RETURNED) > order.index(TAKEN)
        )
        wall, now = self._clock(), self._now()
        holds = []
        for each in latest.values():
            left = (each.hold_until - wall).total_seconds() if each.hold_until is not None else 0.0
            if each.hold and each.domain in ages:  # whatever the clock of the former owner says
                left = each.hold - ages[each.domain]
            # Wall clocks may differ: never wait for longer than a day.
            until = now + max(min(left, _LONGEST_HOLD), each.pause)
            holds.append(DomainHold(each.domain, until, each.pause))
        return is_free, holds

    def _mark(self, shard: int, what: str) -> OutgoingMessage:
        return self._message(shard, LearntDelay(what, owner=self._name))

    def _message(self, shard: int, delay: LearntDelay) -> OutgoingMessage:
        return OutgoingMessage(self._topic, learnt_delays.encode(delay), delay.domain.encode(), shard)
