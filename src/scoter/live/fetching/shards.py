"""Assigns domains to shards and shards to workers: a state machine without a clock of its own.

A shard is *free* (nobody requests its domains), *held*, or *recalled* (its holder must return it, to balance the
workers). It becomes free again when it is returned or its holder dies. A silent worker is *doomed*: it is killed, and
its lease is not renewed. Its shards become free when it is dead or, if its death is not seen, when the lease expires.
Either way the time after which it made no requests is known: ``Grant.since``.

Times are seconds of ``clock.steady_now``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import xxhash
from msgspec import Struct

_MOST_RECALLED = 8  # shards that move at a time; their requests wait meanwhile


def shard_of(domain: str, shards: int) -> int:
    """Return the shard of a registered domain, the same in every process and version.

    >>> shard_of("example.org", 64), shard_of("example.org", 1)
    (5, 0)
    """
    return xxhash.xxh3_64_intdigest(domain.encode()) % shards


class Grant(Struct, frozen=True):
    """A worker gets shards; nobody has requested their domains after ``since``."""

    worker: int
    shards: tuple[int, ...]
    since: float


class Renew(Struct, frozen=True):
    """A worker's lease is extended."""

    worker: int
    until: float


class Recall(Struct, frozen=True):
    """A worker must return shards as soon as none of their requests are under way."""

    worker: int
    shards: tuple[int, ...]


class Kill(Struct, frozen=True):
    """A worker is silent and must be killed."""

    worker: int


Order: TypeAlias = Grant | Renew | Recall | Kill


class _WorkerState(Struct):
    heard: float
    until: float
    is_doomed: bool = False


class ShardAssignment:
    """Who holds which shard. Call ``tick`` several times per lease, and execute its orders."""

    def __init__(self, shards: int, *, lease: float, silence: float, since: float = 0.0) -> None:
        """Kill workers that are silent for ``silence`` seconds; others may have made requests until ``since``."""
        self._lease = lease
        self._silence = silence
        self._workers: dict[int, _WorkerState] = {}
        self._holder: list[int | None] = [None] * shards
        self._since = [since] * shards
        self._recalled: set[int] = set()
        self._ticked: float | None = None

    def __repr__(self) -> str:
        free = sum(1 for holder in self._holder if holder is None)
        return f"ShardAssignment({len(self._workers)} workers, {len(self._holder)} shards, {free} free)"

    def owner(self, shard: int) -> int | None:
        """Return the holder of a shard, or ``None`` if it is free, recalled, or its holder is doomed."""
        holder = None if shard in self._recalled else self._holder[shard]
        return holder if holder is not None and not self._workers[holder].is_doomed else None

    def held(self, worker: int) -> tuple[int, ...]:
        """Return the shards of a worker."""
        return tuple(shard for shard, holder in enumerate(self._holder) if holder == worker)

    def join(self, worker: int, now: float) -> None:
        """Add a worker that is ready."""
        self._workers[worker] = _WorkerState(now, now)

    def heard(self, worker: int, now: float) -> None:
        """Note that a worker is alive."""
        state = self._workers.get(worker)
        if state is not None:
            state.heard = now

    def returned(self, worker: int, since: Mapping[int, float]) -> None:
        """Take back recalled shards; the worker has made no requests to them after these times."""
        for shard, last in since.items():
            if self._holder[shard] == worker and shard in self._recalled:
                self._free(shard, last)

    def died(self, worker: int, now: float) -> None:
        """Remove a dead worker and free its shards; it makes no requests after ``now``."""
        self._workers.pop(worker, None)
        for shard in self.held(worker):
            self._free(shard, now)

    def tick(self, now: float) -> list[Order]:
        """Return the orders to execute now."""
        if self._ticked is not None and now - self._ticked > self._silence / 2:
            # The core itself was paused or starved, so it cannot tell which workers were silent.
            for state in self._workers.values():
                state.heard = now
        self._ticked = now
        orders: list[Order] = []
        for worker, state in self._workers.items():
            if state.is_doomed:
                if now >= state.until:
                    for shard in self.held(worker):
                        self._free(shard, state.until)
            elif now - state.heard > self._silence:
                state.is_doomed = True
                orders.append(Kill(worker))
            else:
                state.until = now + self._lease
                orders.append(Renew(worker, state.until))
        return orders + self._hand_out() + self._level()

    def _free(self, shard: int, since: float) -> None:
        self._holder[shard] = None
        self._recalled.discard(shard)
        self._since[shard] = max(self._since[shard], since)

    def _loads(self) -> dict[int, int]:
        loads = {worker: 0 for worker, state in self._workers.items() if not state.is_doomed}
        for holder in self._holder:
            if holder is not None and holder in loads:
                loads[holder] += 1
        return loads

    def _hand_out(self) -> list[Order]:
        loads = self._loads()
        given: dict[tuple[int, float], list[int]] = {}
        for shard, holder in enumerate(self._holder):
            if holder is None and loads:
                least = min(loads, key=lambda worker: (loads[worker], worker))
                loads[least] += 1
                self._holder[shard] = least
                given.setdefault((least, self._since[shard]), []).append(shard)
        return [Grant(worker, tuple(shards), since) for (worker, since), shards in given.items()]

    def _level(self) -> list[Order]:
        loads = self._loads()
        if len(loads) < 2 or self._recalled:
            return []
        most = max(loads, key=lambda worker: (loads[worker], worker))
        spare = (loads[most] - min(loads.values())) // 2
        shards = self.held(most)[: min(spare, _MOST_RECALLED)]
        if not shards:
            return []
        self._recalled.update(shards)
        return [Recall(most, shards)]
