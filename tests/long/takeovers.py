"""How long it takes until the partitions of a lost process are served again.

The time runs from the end of the former owner's possible ownership to the moment when the last of its partitions is
served: a domain of it gets a request (workers), or a URL of it an event (pipelines). A killed process owns its
partitions until the kill. A worker that is cut off may make requests until its lease ends, and owns them that long; a
pipeline can announce nothing from the moment it is cut off.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from datetime import datetime
from random import Random
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException
from tests.live.kafka.conftest import cluster_settings
from tests.live.kafka.running import Cluster, RunningRole

from scoter.config import load
from scoter.core.domain import registered_domain
from scoter.core.url import canonical
from scoter.errors import StoreUnavailable
from scoter.live.clock import utc_now
from scoter.live.fetching.shards import shard_of
from scoter.live.kafka.kafka import TopicNames, admin_client

_PATIENCE = 30.0
_STARTING = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)
"""What Kafka answers before it has loaded its groups."""
_LOOK_EVERY = 0.1


class Partitionable(Protocol):
    """Roles that can be cut off."""

    def cut_off(self, role: RunningRole, *, only_from_kafka: bool) -> bool: ...

    def heal(self, role: RunningRole) -> None: ...


class TakeOvers:
    """Takes processes away one at a time, when all is well, and measures how long others need to replace them."""

    def __init__(self, live: Cluster, ledger: Any, lease: float) -> None:
        self._live = live
        self._ledger = ledger
        self._lease = lease
        self._settings = load(overrides=cluster_settings(live.prefix)).kafka
        self._names = TopicNames(live.prefix)
        self._admin = admin_client(self._settings, "take-overs")

    def measure(self, roles: Partitionable, role: str, how: str, chance: Random) -> float:
        """Kill or cut off a process of a role; return the seconds that its take-over has taken."""
        running = self._live.of(role)
        self._wait_until_all_own(role, len(running))
        victim = chance.choice(running)
        pid = victim.worker_pid
        owned = self._owned(role)
        shards = owned[pid or 0]
        began = time.monotonic()
        if how == "kill":
            os.kill(pid or 0, signal.SIGKILL)
        else:
            roles.cut_off(victim, only_from_kafka=role == "worker")
            began += self._lease if role == "worker" else 0.0
        try:
            return self._until_served(role, shards, began)
        finally:
            roles.heal(victim)

    def _until_served(self, role: str, shards: set[int], began: float) -> float:
        time.sleep(max(0.0, began - time.monotonic()))
        wall, left = utc_now(), set(shards)
        first = self._ledger.count()
        while left and time.monotonic() < began + _PATIENCE:
            time.sleep(_LOOK_EVERY)
            left -= self._requested(first) if role == "worker" else self._announced(wall)
        return time.monotonic() - began

    def _requested(self, first: int) -> set[int]:
        return {self._shard(registered_domain(entry.host)) for entry in list(self._ledger.requests())[first:]}

    def _announced(self, since: datetime) -> set[int]:
        try:
            events = self._live.events()
        except StoreUnavailable:
            return set()
        return {self._shard(canonical(event.record.resolved).domain) for event in events if event.at > since}

    def _shard(self, domain: str) -> int:
        return shard_of(domain, self._settings.partitions)

    def _wait_until_all_own(self, role: str, many: int) -> None:
        self._wait(lambda: sum(map(bool, self._owned(role).values())) == many)
        time.sleep(self._lease + 3.0)  # until what they have just taken over is served

    def _owned(self, role: str) -> dict[int, set[int]]:
        """Return the partitions of the processes of a role, by process id; none while Kafka is starting."""
        group = self._names.pipeline_group if role == "pipeline" else self._names.worker_group
        try:
            found = self._admin.describe_consumer_groups([group])[group].result(10)
        except KafkaException as failure:
            if failure.args[0].code() not in _STARTING:
                raise
            return {}
        # The name of a member is that of its process: role, process id, random letters.
        return {
            int(member.client_id.split("-")[1]): {each.partition for each in member.assignment.topic_partitions}
            for member in found.members
        }

    def _wait(self, is_done: Callable[[], bool]) -> None:
        until = time.monotonic() + 2 * _PATIENCE
        while not is_done():
            assert time.monotonic() < until, f"partitions are not with all processes: {self._owned('worker')}"
            time.sleep(0.5)
