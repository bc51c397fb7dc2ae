"""What a fetcher may ask at this moment, as it knows it itself: looked at before each request."""

from __future__ import annotations

import math
from collections.abc import Iterable


class Tenure:
    """The shards that a fetcher holds, and until when it may ask them.

    Losing the core does not end a tenure. Shards change hands by the core's word alone; a dead core gives none, and a
    new one begins by making sure that every fetcher of the old one has ended. So ``orphaned`` lifts the lease: until
    this process is told to end, nobody else can hold its shards.
    """

    def __init__(self) -> None:
        self._since: dict[int, float] = {}
        self.until = -math.inf

    def __repr__(self) -> str:
        return f"Tenure({len(self._since)} shards until {self.until:.1f})"

    def __contains__(self, shard: int) -> bool:
        return shard in self._since

    def __len__(self) -> int:
        return len(self._since)

    def granted(self, shards: Iterable[int], since: float) -> None:
        """Hold shards from now on, whose domains nobody has asked after ``since``."""
        for shard in shards:
            self._since[shard] = since

    def renewed(self, until: float) -> None:
        """Ask until then."""
        self.until = max(self.until, until)

    def recalled(self, shards: Iterable[int]) -> None:
        """Hold shards no longer."""
        for shard in shards:
            self._since.pop(shard, None)

    def orphaned(self) -> None:
        """Ask what is held for as long as this process lives."""
        self.until = math.inf

    def may_ask(self, shard: int, now: float) -> bool:
        """Tell whether a request to a domain of a shard may begin now, as far as ownership goes."""
        return shard in self._since and now < self.until

    def since(self, shard: int) -> float:
        """Return after which time nobody else asked: a domain is left alone from then on as after a request."""
        return self._since.get(shard, -math.inf)
