"""The way of outcomes to the sink, and how much is on it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from scoter.core.reply import Reply, Request

MOST = 64
"""Replies that a sink may have before it, however few requests are made at a time: some sinks gather them."""

Sink: TypeAlias = Callable[[Request, Reply], Awaitable[None] | None]


class Delivery:
    """Hands replies to a sink, which may take its time over them, and counts those that it has not done with."""

    def __init__(self, most: int, most_bytes: int, make_room: Callable[[], None]) -> None:
        """``make_room`` is called when the sink is done with one."""
        self.sink: Sink = lambda request, reply: None
        self._most, self._most_bytes = most, most_bytes
        self._make_room = make_room
        self._count = self._bytes = 0

    def __len__(self) -> int:
        """Return how many replies the sink has not done with."""
        return self._count

    def has_room(self) -> bool:
        """Tell whether the sink keeps up: otherwise bodies would pile up before it."""
        return self._count < self._most and self._bytes < self._most_bytes

    def hand(self, request: Request, reply: Reply) -> Awaitable[None] | None:
        """Hand a reply to the sink; what comes back, if anything, is to be awaited."""
        taken = self.sink(request, reply)
        return None if taken is None else self._until(taken, reply)

    async def _until(self, taken: Awaitable[None], reply: Reply) -> None:
        size = len(reply.exchange.body) if reply.exchange is not None else 0
        self._count += 1
        self._bytes += size
        try:
            await taken
        finally:
            self._count -= 1
            self._bytes -= size
            self._make_room()
