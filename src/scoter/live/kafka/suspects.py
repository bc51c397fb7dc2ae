"""Messages that may have killed several owners of their partition in a row: they are processed one by one.

Nothing is written when a message begins: that would cost every message what few need. So after a crash, all messages
that its process had received are under suspicion. Once ``offsets.ENDS`` owners in a row have ended, the messages are
processed one at a time in each partition, and the offset is stored before its message begins. If the process ends
again, the stored ones (one per partition) are processed alone in the whole process: the next end blames the right one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from scoter.live.background import VitalTasks
from scoter.live.kafka.consumer import Place

MOST_TRIALS: Final = 4
"""Times that a message is processed alone before it is given up."""
_LONGEST: Final = 60.0  # seconds after which a trial counts as passed
T = TypeVar("T")


class _Suspect(Struct, Generic[T], eq=False):
    place: Place
    offset: int
    trials: int  # in the past
    item: T
    timer: asyncio.TimerHandle | None = None


class SuspectQueue(Generic[T]):
    """Starts suspects: one per partition at a time, and those that were tried before alone."""

    def __init__(
        self,
        store: Callable[[Place, int], Coroutine[Any, Any, bool]],
        start: Callable[[T], None],
        *,
        longest: float = _LONGEST,
    ) -> None:
        """``store`` stores that a trial begins, and returns false if the partition has another owner by now."""
        self._store = store
        self._start = start
        self._longest = longest
        self._waiting: dict[Place, deque[_Suspect[T]]] = {}
        self._running: dict[Place, _Suspect[T]] = {}
        self._tasks = VitalTasks()

    def __len__(self) -> int:
        """Return how many suspects wait."""
        return sum(map(len, self._waiting.values()))

    def __repr__(self) -> str:
        return f"SuspectQueue({len(self)} waiting, {len(self._running)} running)"

    def add(self, place: Place, offset: int, trials: int, item: T) -> None:
        """Add a suspect that was tried ``trials`` times before."""
        queue = self._waiting.setdefault(place, deque())
        suspect = _Suspect(place, offset, trials, item)
        if trials:
            queue.appendleft(suspect)
        else:
            queue.append(suspect)
        self._advance()

    def done(self, place: Place, offset: int) -> None:
        """Note that a message is done, or has not killed anybody for long."""
        found = self._running.get(place)
        if found is not None and found.offset == offset:
            self._stop(self._running.pop(place))
            self._advance()

    def forget(self, places: Sequence[Place]) -> None:
        """Forget the suspects of partitions."""
        for place in places:
            self._waiting.pop(place, None)
            if (found := self._running.pop(place, None)) is not None:
                self._stop(found)
        self._advance()

    def _stop(self, suspect: _Suspect[T]) -> None:
        if suspect.timer is not None:
            suspect.timer.cancel()

    def _advance(self) -> None:
        if any(each.trials for each in self._running.values()):
            return
        repeated = next((place for place, queue in self._waiting.items() if queue[0].trials), None)
        if repeated is not None:
            if not self._running:
                self._begin(repeated)
            return
        for place in self._waiting.keys() - self._running.keys():
            self._begin(place)

    def _begin(self, place: Place) -> None:
        queue = self._waiting[place]
        suspect = self._running[place] = queue.popleft()
        if not queue:
            del self._waiting[place]
        self._tasks.spawn(self._try(suspect))

    async def _try(self, suspect: _Suspect[T]) -> None:
        is_ours = await self._store(suspect.place, suspect.offset)
        if self._running.get(suspect.place) is not suspect:
            return
        if not is_ours:
            self.forget([suspect.place])
            return
        loop = asyncio.get_running_loop()
        suspect.timer = loop.call_later(self._longest, self.done, suspect.place, suspect.offset)
        self._start(suspect.item)
