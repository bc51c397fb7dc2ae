"""The order of turns: ready queues first come, first served; resting ones in a heap by the time their rest is over.

A queue whose first item belongs to work that has begun, and has its robots.txt by now, comes before those that have
only queued work. Otherwise all hosts would begin before any ended, and no connection would live to be used again.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import Final, Generic, TypeVar

from scoter.fetch.queues.hostqueue import HostQueue, Place

T = TypeVar("T")

_SLACK: Final = 1_000  # stale entries that are not worth a rebuild


class Turns(Generic[T]):
    """Knows only queues that have items and a free thread.

    A queue that is put off stays where it is and is looked at again when its time comes. One that leaves early leaves a
    stale entry behind, which is passed over.
    """

    def __init__(self) -> None:
        self._ready: deque[tuple[int, HostQueue[T]]] = deque()
        self._urgent: deque[tuple[int, HostQueue[T]]] = deque()
        self._heap: list[tuple[float, int, HostQueue[T]]] = []
        self._entries = 0
        self.waiting = 0
        self.ready = 0

    def enter(self, queue: HostQueue[T], now: float) -> None:
        """Let an idle queue wait for its time, or for those that have been ready longer."""
        if queue.next <= now:
            self.promote(now)  # whoever has waited longer comes first
            self.ready += 1
            self._line_up(queue)
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
        while self.ready:
            queue = self._first()
            self.ready -= 1
            queue.place = Place.IDLE
            if queue.in_progress and not queue.has_free_thread:  # slowed since; it comes again when a turn ends
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
                self.ready += 1
                self._line_up(queue)
            else:
                return

    def next_time(self, now: float) -> float | None:
        """Return when ``pop`` may next find something."""
        self.promote(now)
        if self.ready:
            return now
        return self._heap[0][0] if self._heap else None

    def leave(self, queue: HostQueue[T]) -> None:
        """Make a queue idle, wherever it is."""
        queue.entry = 0
        if queue.place is Place.READY:
            self.ready -= 1
        elif queue.place is Place.WAITING:
            self.waiting -= 1
            if len(self._heap) > 2 * self.waiting + _SLACK:
                self._heap = [entry for entry in self._heap if entry[1] == entry[2].entry]
                heapq.heapify(self._heap)
        queue.place = Place.IDLE

    def hurry(self, queue: HostQueue[T]) -> None:
        """Let a ready queue go before the others: its first item now belongs to work that has begun."""
        if queue.place is Place.READY and queue.begun == 1:
            self._line_up(queue)

    def clear(self) -> None:
        """Make every queue idle."""
        entries = (*self._urgent, *self._ready, *((number, queue) for _, number, queue in self._heap))
        for number, queue in entries:
            if number == queue.entry:
                queue.place = Place.IDLE
                queue.entry = 0
        self._ready.clear()
        self._urgent.clear()
        self._heap.clear()
        self.ready = self.waiting = 0

    def _line_up(self, queue: HostQueue[T]) -> None:
        queue.place = Place.READY
        self._entries += 1
        queue.entry = self._entries
        (self._urgent if queue.begun else self._ready).append((self._entries, queue))

    def _first(self) -> HostQueue[T]:
        """Return the queue that comes first of those that are ready; there must be one."""
        while True:
            number, queue = (self._urgent or self._ready).popleft()
            if number == queue.entry:
                queue.entry = 0
                return queue
