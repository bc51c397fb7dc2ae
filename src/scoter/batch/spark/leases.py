"""Which executor owns each fetch list.

An owner renews its lease every second. It makes no request once its lease has ended, and an executor that asks for the
list gets it only a grace period later: servers may still be busy with the last requests, and hosts have delays that
nobody has reported. Times are those of one clock, the driver's.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from enum import Enum

from msgspec import Struct

from scoter.batch.crawldir.directory import StopRequest
from scoter.batch.crawldir.segment import Segment


class ListState(Enum):
    """How far a list is."""

    FREE = "free"
    OWNED = "owned"
    ENDED = "ended"


class ListClaim(Struct, frozen=True):
    """The answer to an executor that asks for a list: a token, or the seconds to wait; neither if there is no work."""

    token: str = ""
    wait: float = 0.0


class _FetchList(Struct):
    state: ListState = ListState.FREE
    token: str = ""
    ends: float = 0.0
    owners: int = 0


class ListLeases:
    """The leases of all lists of a segment."""

    def __init__(self, lists: int, *, lease: float, grace: float) -> None:
        self._lists = [_FetchList() for _ in range(lists)]
        self._lease = lease
        self._grace = grace

    def __repr__(self) -> str:
        return f"ListLeases({len(self._lists)} lists, {self.open_count} open)"

    @property
    def open_count(self) -> int:
        """The number of lists that have not ended."""
        return sum(each.state is not ListState.ENDED for each in self._lists)

    @property
    def is_any_owned(self) -> bool:
        """Whether an executor may still be making requests."""
        return any(each.state is ListState.OWNED for each in self._lists)

    def owners(self, number: int) -> int:
        """Return how many owners a list has had."""
        return self._lists[number].owners

    def claim(self, number: int, now: float) -> ListClaim:
        """Give a list to an executor, unless another may own it."""
        found = self._lists[number]
        if found.state is ListState.ENDED:
            return ListClaim()
        if found.state is ListState.OWNED and now < found.ends + self._grace:
            return ListClaim(wait=found.ends + self._grace - now)
        found.state, found.token, found.ends = ListState.OWNED, secrets.token_hex(16), now + self._lease
        found.owners += 1
        return ListClaim(token=found.token)

    def renew(self, number: int, token: str, now: float) -> bool:
        """Prolong a lease; return whether the list still belongs to its holder.

        A lease that has ended is prolonged too if nobody else has got the list.
        """
        if not self.owns(number, token):
            return False
        self._lists[number].ends = now + self._lease
        return True

    def owns(self, number: int, token: str) -> bool:
        """Return whether a token is that of the current owner of a list."""
        found = self._lists[number]
        return found.state is ListState.OWNED and found.token == token

    def end(self, number: int, token: str) -> bool:
        """Note that the owner has ended its work; return whether it was the owner."""
        found = self._lists[number]
        if found.state is ListState.ENDED and found.token == token:
            return True  # it says so again, because it did not hear our answer
        if not self.owns(number, token):
            return False
        found.state = ListState.ENDED
        return True

    def abandoned(self, now: float) -> list[int]:
        """Return the lists whose owner has been silent until somebody else could take over, and nobody did."""
        return [
            number
            for number, each in enumerate(self._lists)
            if each.state is ListState.OWNED and now >= each.ends + self._grace + self._lease
        ]


def wait_for_executors(segment: Segment, on_message: Callable[[str], None], stopping: StopRequest) -> bool:
    """Wait until executors of a killed fetch make no more requests; return false if asked to stop before."""
    if silence := segment.executors_silence():
        on_message(f"Waiting {silence:g} seconds, because executors of an earlier fetch may still be making requests.")
        until = time.monotonic() + silence
        while (left := until - time.monotonic()) > 0:
            if stopping:
                return False
            time.sleep(min(left, 0.2))
        segment.forget_executors()
    return True
