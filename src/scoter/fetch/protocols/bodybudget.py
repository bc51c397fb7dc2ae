"""How many bytes of bodies may be in memory at once, over all transfers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol


class Pausable(Protocol):
    """A transfer that can wait."""

    charged: int
    paused: bool

    def resume(self) -> None: ...


class BodyBudget:
    """Bounds the bytes of all bodies in flight; transfers beyond it pause until others are done.

    One of the paused always goes on, so that all of them cannot wait for each other: the budget may be exceeded by one
    body.
    """

    def __init__(self, limit: int, soon: Callable[..., object]) -> None:
        self._limit = limit
        self._soon = soon
        self._held = 0
        self._paused: deque[Pausable] = deque()
        self._going: Pausable | None = None

    def __repr__(self) -> str:
        return f"{self._held:,} of {self._limit:,} body bytes, {len(self._paused)} paused"

    def take(self, handle: Pausable, size: int) -> bool:
        """Charge a transfer for more bytes; false when it has to pause first."""
        if self._held + size > self._limit:
            if self._going is None:
                self._going = handle
            if self._going is not handle:
                self._paused.append(handle)
                return False
        self._held += size
        handle.charged += size
        return True

    def release(self, handle: Pausable) -> None:
        """Give back what a transfer was charged, and let others go on."""
        self._held -= handle.charged
        handle.charged = 0
        if self._going is handle:
            self._going = None
        while self._paused and (self._going is None or self._held < self._limit):
            waiting = self._paused.popleft()
            if waiting.paused:
                if self._going is None and self._held >= self._limit:
                    self._going = waiting
                waiting.paused = False
                self._soon(waiting.resume)
            if self._going is not None and self._held >= self._limit:
                break
