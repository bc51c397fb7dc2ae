"""Messages over a socket: four bytes of length, one of kind, then msgpack. A message is handled as soon as it is whole.

Whoever writes more than the other side reads is told to wait (``drained``); a frame longer than the limit, or one that
cannot be read, ends the connection: the other side is not what it should be.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from struct import Struct as Layout
from typing import Final, cast

import msgspec

from scoter.live.fetching.messages import Message, decoded, encoded

LIMIT: Final = 64 * 2**20  # bytes of one frame; a body is far smaller, by fetch.content_limit
_HEAD: Final = Layout("!IB")
_HIGH_WATER: Final = 4 * 2**20

_log = logging.getLogger(__name__)


class Frames(asyncio.Protocol):
    """One end of a connection: hands what arrives to ``on_message``, and tells ``on_end`` once when it is over."""

    def __init__(
        self, on_message: Callable[[Message], None], on_end: Callable[[], None] = lambda: None, limit: int = LIMIT
    ) -> None:
        self._on_message = on_message
        self._on_end = on_end
        self._limit = limit
        self._transport: asyncio.Transport | None = None
        self._begun = bytearray()  # a frame of which only a part has come
        self._needed = 0
        self._flowing: asyncio.Future[None] | None = None
        self._is_unwanted = False
        self.is_open = False

    def __repr__(self) -> str:
        return f"Frames({'open' if self.is_open else 'closed'}, {len(self._begun)} bytes of a frame)"

    @property
    def has_room(self) -> bool:
        """Whether the other side keeps up with what is written."""
        return self._flowing is None

    def send(self, message: Message) -> None:
        """Write a message; to a closed connection it is written in vain, and ``on_end`` has said so."""
        if self._transport is not None and self.is_open:
            kind, data = encoded(message)
            self._transport.write(_HEAD.pack(len(data), kind) + data)

    async def drained(self) -> None:
        """Wait until the other side has read most of what was written."""
        if self._flowing is not None:
            await asyncio.shield(self._flowing)

    def close(self) -> None:
        """End the connection once everything is written, or as soon as there is one."""
        self._is_unwanted = True
        if self._transport is not None:
            self._transport.close()

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)
        transport.set_write_buffer_limits(high=_HIGH_WATER)
        self._transport = transport
        self.is_open = True
        if self._is_unwanted:
            transport.close()

    def data_received(self, data: bytes) -> None:
        if self._begun:
            self._begun += data
            if len(self._begun) < self._needed:
                return
            data = bytes(self._begun)
            self._begun.clear()
        try:
            self._read(data)
        except (msgspec.DecodeError, ValueError) as error:
            _log.error("a connection is given up: %s", error)
            if self._transport is not None:
                self._transport.abort()

    def _read(self, data: bytes) -> None:
        view, at = memoryview(data), 0
        while len(data) - at >= _HEAD.size:
            length, kind = _HEAD.unpack_from(data, at)
            if length > self._limit:
                raise ValueError(f"a frame of {length} bytes is longer than {self._limit}")
            start = at + _HEAD.size
            if len(data) < start + length:
                self._needed = _HEAD.size + length
                break
            at = start + length
            self._on_message(decoded(kind, view[start:at]))
        else:
            self._needed = _HEAD.size
        self._begun += view[at:]

    def pause_writing(self) -> None:
        if self._flowing is None:
            self._flowing = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self._flowing is not None:
            self._flowing.set_result(None)
            self._flowing = None

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        self.resume_writing()
        self._on_end()


async def over(
    sock: socket.socket, on_message: Callable[[Message], None], on_end: Callable[[], None], limit: int = LIMIT
) -> Frames:
    """Return the frames of a connected socket, which is theirs from now on."""
    loop = asyncio.get_running_loop()
    _, frames = await loop.create_unix_connection(lambda: Frames(on_message, on_end, limit), sock=sock)
    return frames
