"""Which shard a domain belongs to, and which fetcher holds a shard: a state machine that is told the time.

The life of a shard: *free* (nobody asks its domains), *held*, *recalled* (its holder is to give it back, so that all
hold about the same number), and free again, when it was returned, or its holder has died. A fetcher that is silent is
*doomed*: it is killed and its lease not renewed, and its shards are free when it is dead or, should its death not be
seen, when the lease is over. In either case a time is known after which it asked nothing: ``Grant.since``.

Times are seconds of a clock that all processes of the machine share and that never goes back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import xxhash
from msgspec import Struct

_MOST_RECALLED = 8  # shards that change hands at a time: what is queued of them waits meanwhile


def shard_of(domain: str, shards: int) -> int:
    """Return the shard of a registered domain: the same in every process, of every version.

    >>> shard_of("example.org", 64), shard_of("example.org", 1)
    (5, 0)
    """
    return xxhash.xxh3_64_intdigest(domain.encode()) % shards


class Grant(Struct, frozen=True):
    """A fetcher holds shards from now on; nobody has asked their domains after ``since``."""

    fetcher: int
    shards: tuple[int, ...]
    since: float


class Renew(Struct, frozen=True):
    """A fetcher may ask until then."""

    fetcher: int
    until: float


class Recall(Struct, frozen=True):
    """A fetcher is to give shards back as soon as nothing of them is under way."""

    fetcher: int
    shards: tuple[int, ...]


class Kill(Struct, frozen=True):
    """A fetcher is silent, and must not come back."""

    fetcher: int


Order: TypeAlias = Grant | Renew | Recall | Kill


class _WorkerState:
    __slots__ = ("heard", "is_doomed", "until")

    def __init__(self, now: float) -> None:
        self.heard = now
        self.until = now
        self.is_doomed = False


class ShardAssignment:
    """Who holds what. Call ``tick`` several times within a lease, and do what it says."""

    def __init__(self, shards: int, *, lease: float, silence: float, since: float = 0.0) -> None:
        """A fetcher not heard for ``silence`` seconds is killed; before ``since`` others may have asked."""
        self._lease = lease
        self._silence = silence
        self._workers: dict[int, _WorkerState] = {}
        self._holder: list[int | None] = [None] * shards
        self._since = [since] * shards
        self._recalled: set[int] = set()
        self._ticked: float | None = None

    def __repr__(self) -> str:
        free = sum(1 for holder in self._holder if holder is None)
        return f"ShardAssignment({len(self._workers)} fetchers, {len(self._holder)} shards, {free} free)"

    def owner(self, shard: int) -> int | None:
        """Return whom to send a shard's requests to; nobody while it is free, on its way, or its holder doomed."""
        holder = None if shard in self._recalled else self._holder[shard]
        return holder if holder is not None and not self._workers[holder].is_doomed else None

    def held(self, fetcher: int) -> tuple[int, ...]:
        """Return the shards of a fetcher."""
        return tuple(shard for shard, holder in enumerate(self._holder) if holder == fetcher)

    def join(self, fetcher: int, now: float) -> None:
        """Count on a fetcher that is ready."""
        self._workers[fetcher] = _WorkerState(now)

    def heard(self, fetcher: int, now: float) -> None:
        """Note a sign of life."""
        worker = self._workers.get(fetcher)
        if worker is not None:
            worker.heard = now

    def returned(self, fetcher: int, since: Mapping[int, float]) -> None:
        """Take shards back that a fetcher no longer asks, nor has after these times."""
        for shard, last in since.items():
            if self._holder[shard] == fetcher and shard in self._recalled:
                self._free(shard, last)

    def died(self, fetcher: int, now: float) -> None:
        """Take all of a fetcher that is dead: it has asked nothing after this moment."""
        self._workers.pop(fetcher, None)
        for shard in self.held(fetcher):
            self._free(shard, now)

    def tick(self, now: float) -> list[Order]:
        """Return what is to be done now."""
        if self._ticked is not None and now - self._ticked > self._silence / 2:
            # It was the core that was away, paused or starved: it cannot say who was silent meanwhile.
            for worker in self._workers.values():
                worker.heard = now
        self._ticked = now
        orders: list[Order] = []
        for fetcher, worker in self._workers.items():
            if worker.is_doomed:
                if now >= worker.until:
                    for shard in self.held(fetcher):
                        self._free(shard, worker.until)
            elif now - worker.heard > self._silence:
                worker.is_doomed = True
                orders.append(Kill(fetcher))
            else:
                worker.until = now + self._lease
                orders.append(Renew(fetcher, worker.until))
        return orders + self._hand_out() + self._level()

    def _free(self, shard: int, since: float) -> None:
        self._holder[shard] = None
        self._recalled.discard(shard)
        self._since[shard] = max(self._since[shard], since)

    def _loads(self) -> dict[int, int]:
        loads = {fetcher: 0 for fetcher, worker in self._workers.items() if not worker.is_doomed}
        for holder in self._holder:
            if holder is not None and holder in loads:
                loads[holder] += 1
        return loads

    def _hand_out(self) -> list[Order]:
        loads = self._loads()
        given: dict[tuple[int, float], list[int]] = {}
        for shard, holder in enumerate(self._holder):
            if holder is None and loads:
                least = min(loads, key=lambda fetcher: (loads[fetcher], fetcher))
                loads[least] += 1
                self._holder[shard] = least
                given.setdefault((least, self._since[shard]), []).append(shard)
        return [Grant(fetcher, tuple(shards), since) for (fetcher, since), shards in given.items()]

    def _level(self) -> list[Order]:
        loads = self._loads()
        if len(loads) < 2 or self._recalled:
            return []
        most = max(loads, key=lambda fetcher: (loads[fetcher], fetcher))
        spare = (loads[most] - min(loads.values())) // 2
        shards = self.held(most)[: min(spare, _MOST_RECALLED)]
        if not shards:
            return []
        self._recalled.update(shards)
        return [Recall(most, shards)]
