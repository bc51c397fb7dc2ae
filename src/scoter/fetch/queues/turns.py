"""The order of turns: ready queues first come, first served; resting ones in a heap by the time their rest is over."""

from __future__ import annotations

import heapq
from collections import deque
from typing import Final, Generic, TypeVar

from scoter.fetch.queues.hostqueue import HostQueue, Place

T = TypeVar("T")

_SLACK: Final = 1_000  # stale entries that are not worth a rebuild


class Turns(Generic[T]):
    """Knows only queues that have items and a free thread.

    A queue that is put off stays where it is and is looked at again when its time comes; only one that leaves the heap
    early leaves a stale entry behind.
    """

    def __init__(self) -> None:
        self._ready: deque[HostQueue[T]] = deque()
        self._heap: list[tuple[float, int, HostQueue[T]]] = []
        self._entries = 0
        self.waiting = 0

    @property
    def ready(self) -> int:
        return len(self._ready)

    def enter(self, queue: HostQueue[T], now: float) -> None:
        """Let an idle queue wait for its time, or for those that have been ready longer."""
        if queue.next <= now:
            self.promote(now)  # whoever has waited longer comes first
            queue.place = Place.READY
            self._ready.append(queue)
        else:
            queue.place = Place.WAITING
            self.waiting += 1
            self._entries += 1
            queue.entry = self._entries
            heapq.heappush(self._heap, (queue.next, self._entries, queue))

    def pop(self, now: float) -> HostQueue[T] | None:
        """Return the queue that has been ready longest, now idle, or nothing."""
        if self._heap:
            self.promote(now)
        ready = self._ready
        while ready:
            queue = ready.popleft()
            queue.place = Place.IDLE
            if not queue.has_free_thread:  # slowed since; it comes again when a turn ends
                continue
            if queue.next > now:  # deferred since
                self.enter(queue, now)
                continue
            return queue
        return None

    def promote(self, now: float) -> None:
        """Make ready every queue whose rest is over, the earliest first, and see that the heap's top is valid."""
        heap = self._heap
        while heap:
            due, number, queue = heap[0]
            if number != queue.entry:
                heapq.heappop(heap)
            elif queue.next > due:  # deferred since
                heapq.heapreplace(heap, (queue.next, number, queue))
            elif due <= now:
                heapq.heappop(heap)
                self.waiting -= 1
                queue.place = Place.READY
                self._ready.append(queue)
            else:
                return

    def next_time(self, now: float) -> float | None:
        """Return when ``pop`` may next find something."""
        self.promote(now)
        if self._ready:
            return now
        return self._heap[0][0] if self._heap else None

    def leave(self, queue: HostQueue[T]) -> None:
        """Make a queue idle, wherever it is."""
        if queue.place is Place.READY:
            self._ready.remove(queue)
        elif queue.place is Place.WAITING:
            self.waiting -= 1
            queue.entry = 0
            if len(self._heap) > 2 * self.waiting + _SLACK:
                self._heap = [entry for entry in self._heap if entry[1] == entry[2].entry]
                heapq.heapify(self._heap)
        queue.place = Place.IDLE

    def clear(self) -> None:
        """Make every queue idle."""
        for queue in self._ready:
            queue.place = Place.IDLE
        for _, _, queue in self._heap:
            queue.place = Place.IDLE
            queue.entry = 0
        self._ready.clear()
        self._heap.clear()
        self.waiting = 0
