"""What is written in one go leaves in one go: a head and its body in one call of the system, not in two.

uvloop writes at once. That the other side is woken for a head, only to wait for the body, costs both of them more than
most requests do.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

_MOST: Final = 65_536  # bytes that are held back: more is written at once, lest a client that does not read goes unseen


class Joined(asyncio.Transport):
    """A transport that holds back what is written until its loop's next turn."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []
        self._size = 0

    def __repr__(self) -> str:
        return f"Joined({self._transport!r}, {self._size} bytes held back)"

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not data:
            return
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(bytes(data))
        self._size += len(data)
        if self._size > _MOST:
            self.flush()

    def flush(self) -> None:
        """Write what was held back."""
        parts = self._parts
        if not parts:
            return
        self._parts, self._size = [], 0
        if not self._transport.is_closing():  # it may be gone meanwhile, and uvloop takes that for our mistake
            self._transport.write(parts[0] if len(parts) == 1 else b"".join(parts))

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        self._parts, self._size = [], 0
        self._transport.abort()

    def get_write_buffer_size(self) -> int:
        return self._size + self._transport.get_write_buffer_size()

    # As it is

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._transport.set_protocol(protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._transport.get_protocol()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._transport.set_write_buffer_limits(high, low)

    def is_reading(self) -> bool:
        return self._transport.is_reading()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()
