"""What the roles of a cluster have in common: names, connections, the dead-letter topic, and their tasks."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final

import msgspec

from scoter.config import Config
from scoter.errors import StoreUnavailable
from scoter.live.background import DEFECT
from scoter.live.kafka.cassandra import CassandraSession
from scoter.live.kafka.clocks import ClusterClock
from scoter.live.kafka.consumer import GroupMember, Place, ReceivedMessage
from scoter.live.kafka.faults import FAULTS, FaultKind
from scoter.live.kafka.kafka import (
    KafkaSender,
    OutgoingMessage,
    TopicNames,
    admin_client,
    create_topics,
    delete_before,
    require_packages,
)
from scoter.live.kafka.messages import DeadLetter
from scoter.live.kafka.rules import KafkaRules
from scoter.live.service.plan import ServicePlan
from scoter.live.service.process import SupervisorLink, Work

_RETRY: Final = 2.0
_TRIM_EVERY: Final = 60.0
_log = logging.getLogger(__name__)


def process_name(role: str) -> str:
    """Return a name that no other process has or had."""
    return f"{role}-{os.getpid()}-{secrets.token_hex(6)}"


async def until_available(what: str, connect: Any) -> None:
    """Call ``connect`` until it succeeds; a server may start later than this process."""
    while True:
        try:
            await connect()
        except StoreUnavailable as error:
            FAULTS.note(what.lower(), FaultKind.UNREACHABLE, error.message)
            await asyncio.sleep(_RETRY)
        else:
            return


class ClusterParts:
    """The connections of a role."""

    def __init__(self, config: Config, name: str) -> None:
        require_packages()
        self.config = config
        self.name = name
        self.names = TopicNames(config.kafka.prefix)
        self.sender = KafkaSender(config.kafka, name)
        self.rules = KafkaRules(config.kafka, name, self.sender)
        self.session = CassandraSession(config.cassandra)
        self.clock = ClusterClock(self.session)

    async def open_kafka(self, stack: AsyncExitStack) -> None:
        """Create missing topics, and read the rules."""
        config = self.config
        stack.callback(self.sender.close)
        await until_available("Kafka", lambda: asyncio.to_thread(create_topics, config.kafka, config.live))
        stack.push_async_callback(self.rules.close)
        await until_available("Kafka", self.rules.start)

    async def open_cassandra(self, stack: AsyncExitStack) -> None:
        """Connect to Cassandra, create missing tables, and compare the clocks."""
        stack.push_async_callback(self.session.close)
        await until_available("Cassandra", self.session.open)
        await until_available("Cassandra", self.clock.measure)

    async def bury(self, message: ReceivedMessage, letter: DeadLetter) -> None:
        """Copy a message that cannot be read to the dead-letter topic."""
        headers = (("letter", msgspec.json.encode(letter)),)
        await self.sender.send([OutgoingMessage(self.names.dead, message.value, message.key, 0, headers)])


async def trim(parts: ClusterParts, member: GroupMember, every: float = _TRIM_EVERY) -> None:
    """Delete the messages of this member's partitions that are done, from time to time."""
    from confluent_kafka import KafkaException

    admin = admin_client(parts.config.kafka, f"{parts.name}-trim")
    deleted: dict[Place, int] = {}
    while True:
        await asyncio.sleep(every)
        done = member.finished_before()
        deleted = {place: offset for place, offset in deleted.items() if place in done}
        more = {place: offset for place, offset in done.items() if offset > deleted.get(place, 0)}
        try:
            await asyncio.to_thread(delete_before, admin, more)
        except (KafkaException, TimeoutError) as error:  # they are deleted next time
            _log.info("cannot delete finished messages: %s", error)
        else:
            deleted |= more


def stopped_early(work: Work) -> Work:
    """Return work that ends at once if it is told to stop while it waits for a server."""

    async def run(plan: ServicePlan, link: SupervisorLink) -> int:
        working = asyncio.ensure_future(work(plan, link))
        stopping = asyncio.create_task(link.stopping.wait())
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not working.done() and not link.is_ready:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            return 0
        return await working

    return run


async def run_until(link: SupervisorLink, work: Sequence[tuple[str, Coroutine[Any, Any, Any]]]) -> int:
    """Run tasks until told to stop; if one ends by itself, the process ends too. Return the exit code."""
    tasks = [asyncio.create_task(each, name=name) for name, each in work]
    stopping = asyncio.create_task(link.stopping.wait())
    await asyncio.wait((stopping, *tasks), return_when=asyncio.FIRST_COMPLETED)
    failed = [task for task in tasks if task.done()]
    for task in failed:
        error = None if task.cancelled() else task.exception()
        _log.critical("the process ends because its task %r ended", task.get_name(), exc_info=error)
    link.stop()
    for task in (stopping, *tasks):
        task.cancel()
    await asyncio.gather(stopping, *tasks, return_exceptions=True)
    return DEFECT if failed else 0
