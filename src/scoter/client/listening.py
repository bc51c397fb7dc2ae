"""A stream of events that goes on after it broke: where it has got to, and when to come again; without a socket."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import msgspec

from scoter.client.calls import Answer, problem_of
from scoter.client.errors import ClientError, Unreachable, not_understood
from scoter.client.records import Gap
from scoter.client.sse import SseReader
from scoter.live.records import Event

SILENCE: Final = 45.0
"""Seconds without a byte after which a stream is given up: the service gives a sign of life every fifteen."""

_PAUSE: Final = 2.0
_SHORTEST: Final = 0.1
_LONGEST: Final = 30.0
_SHOWN: Final = 200
T = TypeVar("T")


class Listening:
    """Follows events from a number on, over as many connections as it takes.

    Before it was ever let in, any refusal is final; later only one that waiting cannot mend, or ``patience`` seconds
    in a row without a stream.
    """

    def __init__(
        self, since: int | None = None, patience: float = float("inf"), chance: Callable[[], float] = random.random
    ) -> None:
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
        return "/v1/events" if is_new else f"/v1/events?after={self._since}"

    @property
    def headers(self) -> Mapping[str, str]:
        told = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        return {**told, "Last-Event-ID": self._last_id} if self._last_id else told

    def refused(self, answer: Answer) -> ClientError:
        """Return what an answer that is no stream stands for."""
        if answer.status == 200:
            return not_understood("/v1/events", "it is no stream of events")
        return ClientError(problem_of(answer))

    def opened(self) -> None:
        """Begin with a new connection; what the old one left unfinished comes again."""
        self._reader = SseReader(self._last_id)

    def feed(self, chunk: bytes) -> list[Event | Gap]:
        """Return the events that are whole now."""
        self._was_open = True
        self._failures, self._without = 0, 0.0
        found: list[Event | Gap] = []
        for frame in self._reader.feed(chunk):
            if frame.event == "url":
                found.append(_decoded(frame.data, Event))
            elif frame.event == "gap":
                found.append(_decoded(frame.data, Gap))
        if self._reader.last_id.isascii() and self._reader.last_id.isdigit():
            self._last_id = self._reader.last_id
        return found

    def lost(self, error: ClientError) -> float:
        """Return how long to stay away, or raise the error when it is final."""
        if not self._was_open or not error.is_transient:
            raise error
        told = self._reader.retry
        pause = min(_LONGEST, max(_SHORTEST, _PAUSE if told is None else told) * float(2**self._failures))
        # Those who lost the same service at the same time should not all come back at the same time.
        pause = max(pause * (0.5 + self._chance() / 2), error.problem.retry_after or 0.0)
        self._failures = min(self._failures + 1, 20)
        self._without += pause
        if self._without > self._patience:
            raise error
        return pause


def ended(url: str) -> Unreachable:
    """Return why a stream is lost that came to its end."""
    return Unreachable(url, "the stream of events has ended")


def _decoded(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise not_understood("/v1/events", str(error)[:_SHOWN]) from None
