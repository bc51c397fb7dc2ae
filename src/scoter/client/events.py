"""Event streams: parse Server-Sent Events and resume a stream after its connection broke, without a socket."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from scoter.client.calls import ApiAnswer, decoded, problem_of
from scoter.client.errors import ClientError, not_understood
from scoter.core.display import size
from scoter.http.records import Gap
from scoter.live.records import Event

LARGEST_FRAME: Final = 4 * 2**20
SILENCE: Final = 45.0
"""Seconds without a byte after which a stream is given up: the service sends a heartbeat every fifteen."""
STREAM_ENDED: Final = "the event stream ended"
_BOM: Final = b"\xef\xbb\xbf"
_DEFAULT_PAUSE: Final = 2.0
_SHORTEST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 30.0
_PATH: Final = "/v1/events"
_KINDS: Final[Mapping[str, type[Any]]] = {"url": Event, "gap": Gap}


class SseFrame(Struct, frozen=True):
    """One event of a stream; ``id`` is the latest ID, from this frame or an earlier one."""

    event: str
    data: bytes
    id: str


class SseReader:
    """Turns bytes into frames (WHATWG HTML, 9.2). ``last_id`` is the position; ``retry`` the pause the server asks for.

    An incomplete frame does not count: ``last_id`` only advances with the blank line that ends a frame.
    """

    def __init__(self, last_id: str = "", limit: int = LARGEST_FRAME) -> None:
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

    def feed(self, chunk: bytes) -> list[SseFrame]:
        """Return the frames that are now complete."""
        if self._skips_newline and chunk:  # a carriage return ended a line; a newline after it is part of that end
            self._skips_newline = False
            chunk = chunk.removeprefix(b"\n")
        if not chunk:
            return []
        text = self._rest + chunk
        lines = text.splitlines(keepends=True)
        self._rest = b"" if text.endswith((b"\n", b"\r")) else lines.pop()
        self._skips_newline = text.endswith(b"\r")
        frames = [frame for line in lines if (frame := self._line(line.rstrip(b"\r\n"))) is not None]
        if self._size + len(self._rest) > self._limit:
            raise not_understood("", f"an event of more than {size(self._limit)}")
        return frames

    def _line(self, line: bytes) -> SseFrame | None:
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

    def _end(self) -> SseFrame | None:
        self.last_id = self._id
        event, data = self._event or "message", self._data
        self._event, self._data, self._size = "", [], 0
        return SseFrame(event, b"\n".join(data), self.last_id) if data else None


class EventSubscription:
    """Follows events after a number, over as many connections as needed.

    A refusal of the first connection is final. Later, only a refusal that retrying cannot fix is final, or ``patience``
    seconds in a row without a stream.
    """

    def __init__(
        self,
        since: int | None = None,
        patience: float = float("inf"),
        chance: Callable[[], float] = random.random,
        *,
        path: str = _PATH,
        kinds: Mapping[str, type[Any]] = _KINDS,
    ) -> None:
        """``kinds`` are the types of the events of the stream at ``path``, by name."""
        self._path = path
        self._kinds = kinds
        self._since = since
        self._patience = patience
        self._chance = chance
        self._last_id = ""
        self._reader = SseReader()
        self._was_open = False
        self._failures = 0
        self._without = 0.0

    @property
    def target(self) -> str:
        is_new = self._since is None or self._last_id
        return self._path if is_new else f"{self._path}?after={self._since}"

    @property
    def headers(self) -> Mapping[str, str]:
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        return {**headers, "Last-Event-ID": self._last_id} if self._last_id else headers

    def refused(self, answer: ApiAnswer) -> ClientError:
        """Return the error for an answer that is not a stream."""
        if answer.status == 200:
            return not_understood(self._path, "it is not an event stream")
        return ClientError(problem_of(answer))

    def opened(self) -> None:
        """Start reading a new connection; an event that the old one left incomplete is sent again."""
        self._reader = SseReader(self._last_id)

    def feed(self, chunk: bytes) -> list[Any]:
        """Return the events that are now complete."""
        self._was_open = True
        self._failures, self._without = 0, 0.0
        found: list[Any] = []
        for frame in self._reader.feed(chunk):
            kind = self._kinds.get(frame.event)
            if kind is not None:
                found.append(decoded(frame.data, kind, self._path))
        if self._reader.last_id.isascii() and self._reader.last_id.isdigit():
            self._last_id = self._reader.last_id
        return found

    def lost(self, error: ClientError) -> float:
        """Return the seconds to wait before reconnecting, or raise the error if it is final."""
        if not self._was_open or not error.is_transient:
            raise error
        asked = self._reader.retry
        pause = min(
            _LONGEST_PAUSE, max(_SHORTEST_PAUSE, _DEFAULT_PAUSE if asked is None else asked) * float(2**self._failures)
        )
        # Jitter: clients that lost the service at the same time should not all reconnect at the same time.
        pause = max(pause * (0.5 + self._chance() / 2), error.problem.retry_after or 0.0)
        self._failures = min(self._failures + 1, 20)
        self._without += pause
        if self._without > self._patience:
            raise error
        return pause
