"""How responses leave: in few system calls, and not for ever to a client that does not read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

_PROGRESS: Final = 65_536  # bytes: a client that reads as much within the stall time is slow, not stalled
_MAX_BUFFERED: Final = 65_536  # bytes: more is written at once, so that back-pressure works


class BufferedTransport(asyncio.Transport):
    """A transport that sends everything written within one iteration of the event loop in one system call.

    uvloop writes at once. Waking the other side for a head, only to wait for the body, costs more than most requests.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []
        self._size = 0

    def __repr__(self) -> str:
        return f"BufferedTransport({self._transport!r}, {self._size} bytes buffered)"

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not data:
            return
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(bytes(data))
        self._size += len(data)
        if self._size > _MAX_BUFFERED:
            self.flush()

    def flush(self) -> None:
        """Write what is buffered."""
        parts, size = self._parts, self._size
        if not parts:
            return
        self._parts, self._size = [], 0
        if self._transport.is_closing():  # uvloop logs a warning for a write after close
            return
        if size > _MAX_BUFFERED:
            self._transport.writelines(parts)  # without a copy of them all
        else:
            self._transport.write(parts[0] if len(parts) == 1 else b"".join(parts))

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        self._parts, self._size = [], 0
        self._transport.abort()

    def get_write_buffer_size(self) -> int:
        return self._size + self._transport.get_write_buffer_size()

    # Delegated

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()


class StallWatch:
    """Aborts a connection whose client reads next to nothing for ``patience`` seconds; then calls ``on_stall``."""

    def __init__(
        self,
        transport: asyncio.WriteTransport,
        loop: asyncio.AbstractEventLoop,
        patience: float,
        on_stall: Callable[[], None],
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._patience = patience
        self._on_stall = on_stall
        self._timer: asyncio.TimerHandle | None = None
        self._unread = 0  # bytes, when the timer started

    def begin(self) -> None:
        """Give the client time to read what was written, unless it was given before."""
        if self._timer is None:
            self._unread = self._transport.get_write_buffer_size()
            self._timer = self._loop.call_later(self._patience, self._abort)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _abort(self) -> None:
        self._timer = None
        if self._unread - self._transport.get_write_buffer_size() >= _PROGRESS:
            self.begin()  # a long response over a slow connection
            return
        self._on_stall()
        self._transport.abort()
