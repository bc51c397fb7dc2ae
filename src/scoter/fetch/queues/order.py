"""The order in which hosts get slots: ready queues first come, first served; others in a heap by their next slot.

A queue whose first item belongs to work in progress (which has its robots.txt by now, say) goes before queues with new
work only. Otherwise all hosts would start before any finished, and no connection would live to be reused.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import Final, Generic, TypeVar

from scoter.fetch.queues.hostqueue import HostQueue, QueueState

T = TypeVar("T")

_SLACK: Final = 1_000  # stale entries that are not worth a rebuild


class HostOrder(Generic[T]):
    """Holds only queues that have items and a free thread.

    A queue that is put on hold stays where it is, and is looked at again when its time comes. A queue that leaves early
    leaves a stale entry behind, which is skipped.
    """

    def __init__(self) -> None:
        self._ready: deque[tuple[int, HostQueue[T]]] = deque()
        self._urgent: deque[tuple[int, HostQueue[T]]] = deque()
        self._heap: list[tuple[float, int, HostQueue[T]]] = []
        self._entries = 0
        self.waiting = 0
        self.ready = 0

    def enter(self, queue: HostQueue[T], now: float) -> None:
        """Add an idle queue."""
        if queue.next <= now:
            self.promote(now)  # queues that became ready earlier come first
            self.ready += 1
            self._append(queue)
        else:
            queue.state = QueueState.WAITING
            self.waiting += 1
            self._entries += 1
            queue.entry = self._entries
            heapq.heappush(self._heap, (queue.next, self._entries, queue))

    def pop(self, now: float) -> HostQueue[T] | None:
        """Remove and return the queue that has been ready longest."""
        if self._heap:
            self.promote(now)
        while self.ready:
            queue = self._first()
            self.ready -= 1
            queue.state = QueueState.IDLE
            if queue.in_progress and not queue.has_free_thread:  # slowed since; it comes back when a slot ends
                continue
            if queue.next > now:  # on hold since
                self.enter(queue, now)
                continue
            return queue
        return None

    def promote(self, now: float) -> None:
        """Make every queue ready whose time has come, the earliest first, and make the top of the heap valid."""
        heap = self._heap
        while heap:
            due, number, queue = heap[0]
            if number != queue.entry:
                heapq.heappop(heap)
            elif queue.next > due:  # on hold since
                heapq.heapreplace(heap, (queue.next, number, queue))
            elif due <= now:
                heapq.heappop(heap)
                self.waiting -= 1
                self.ready += 1
                self._append(queue)
            else:
                return

    def next_time(self, now: float) -> float | None:
        """Return when ``pop`` may next return a queue."""
        self.promote(now)
        if self.ready:
            return now
        return self._heap[0][0] if self._heap else None

    def first_waiting(self, count: int) -> list[str]:
        """Return the hosts on hold whose slots come next; takes time proportional to their number."""
        waiting = ((queue.next, queue.key) for _, number, queue in self._heap if number == queue.entry)
        return [key for _, key in heapq.nsmallest(count, waiting)]

    def leave(self, queue: HostQueue[T]) -> None:
        """Remove a queue, wherever it is."""
        queue.entry = 0
        if queue.state is QueueState.READY:
            self.ready -= 1
        elif queue.state is QueueState.WAITING:
            self.waiting -= 1
            if len(self._heap) > 2 * self.waiting + _SLACK:
                self._heap = [entry for entry in self._heap if entry[1] == entry[2].entry]
                heapq.heapify(self._heap)
        queue.state = QueueState.IDLE

    def expedite(self, queue: HostQueue[T]) -> None:
        """Move a ready queue before the others: its first item now belongs to work in progress."""
        is_first = queue.started == 1 or (queue.guests is not None and len(queue.guests) == 1)
        if queue.state is QueueState.READY and is_first and queue.is_urgent:
            self._append(queue)

    def clear(self) -> None:
        """Remove every queue."""
        entries = (*self._urgent, *self._ready, *((number, queue) for _, number, queue in self._heap))
        for number, queue in entries:
            if number == queue.entry:
                queue.state = QueueState.IDLE
                queue.entry = 0
        self._ready.clear()
        self._urgent.clear()
        self._heap.clear()
        self.ready = self.waiting = 0

    def _append(self, queue: HostQueue[T]) -> None:
        queue.state = QueueState.READY
        self._entries += 1
        queue.entry = self._entries
        (self._urgent if queue.is_urgent else self._ready).append((self._entries, queue))

    def _first(self) -> HostQueue[T]:
        """Remove and return the first ready queue; there must be one."""
        while True:
            number, queue = (self._urgent or self._ready).popleft()
            if number == queue.entry:
                queue.entry = 0
                return queue
