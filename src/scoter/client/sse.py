"""Server-Sent Events as they come off the wire, in whatever pieces (WHATWG HTML, 9.2)."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from scoter.client.errors import not_understood
from scoter.core.display import size

LIMIT: Final = 4 * 2**20
_BOM: Final = b"\xef\xbb\xbf"


class Frame(Struct, frozen=True):
    """One event of a stream; ``id`` is the last that was named, by this frame or before it."""

    event: str
    data: bytes
    id: str


class SseReader:
    """Turns bytes into frames. ``last_id`` is where the stream has got to, ``retry`` how long to stay away, if told.

    A frame that the stream broke off in is none: ``last_id`` moves only with the blank line that ends a frame.
    """

    def __init__(self, last_id: str = "", limit: int = LIMIT) -> None:
        self.last_id = last_id
        self.retry: float | None = None
        self._limit = limit
        self._rest = b""
        self._skips_newline = False
        self._is_first = True
        self._id = last_id
        self._event = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the frames that are whole now."""
        if self._skips_newline and chunk:  # a carriage return ended a line; a newline after it is part of that end
            self._skips_newline = False
            chunk = chunk.removeprefix(b"\n")
        if not chunk:
            return []
        text = self._rest + chunk
        lines = text.splitlines(keepends=True)
        self._rest = b"" if text.endswith((b"\n", b"\r")) else lines.pop()
        self._skips_newline = text.endswith(b"\r")
        frames = []
        for line in lines:
            frame = self._line(line.rstrip(b"\r\n"))
            if frame is not None:
                frames.append(frame)
        if self._size + len(self._rest) > self._limit:
            raise not_understood("", f"an event of more than {size(self._limit)}")
        return frames

    def _line(self, line: bytes) -> Frame | None:
        if self._is_first:
            self._is_first = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._end()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._size += len(value) + 1
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            self.retry = int(value[:9]) / 1000
        return None

    def _end(self) -> Frame | None:
        self.last_id = self._id
        event, data = self._event or "message", self._data
        self._event, self._data, self._size = "", [], 0
        return Frame(event, b"\n".join(data), self.last_id) if data else None
