"""The messages in the topics. Each begins with a byte for its format, so that newer ones are recognised."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from scoter.errors import MadeByNewer
from scoter.live.api.records import DomainRule
from scoter.live.records import Event, Hop, Priority

FORMAT: Final = 1
TAKEN: Final = "taken by"
RETURNED: Final = "returned by"
T = TypeVar("T", bound=Struct)


class AcceptedUrl(Struct, frozen=True, array_like=True):
    """A URL of an accepted message; or one that redirects from it lead to, with ``origin`` and the hops so far."""

    message: str
    url: str
    priority: Priority
    force: bool
    callback: str
    accepted: datetime
    tries: int = 0
    origin: str = ""
    trail: tuple[Hop, ...] = ()


class FetchFrame(Struct, frozen=True, array_like=True):
    """A message of ``fetching.wire`` between a pipeline and a worker.

    ``receiver`` is empty if it is for the owner of the domain. Replies go to ``sender``, at its partition of the topic
    of replies. A large reply is ``stored`` under a name in an object store instead, and ``hop`` is the id of its hop.
    """

    receiver: str
    sender: str
    partition: int
    kind: int
    frame: bytes
    stored: str = ""
    hop: int = 0


class LearntDelay(Struct, frozen=True, array_like=True):
    """What a worker leaves to the next owner of a partition.

    With a domain: the seconds between requests to it, the wall time until which it is on hold, and for how many seconds
    that was when the message was written. With ``TAKEN`` or ``RETURNED`` in its place: ``owner`` has taken the
    partition, or has returned it and makes no more requests.
    """

    domain: str
    pause: float = 0.0
    hold_until: datetime | None = None
    owner: str = ""
    hold: float = 0.0


class DeadLetter(Struct, frozen=True):
    """A message that could not be read: where it was, and why."""

    topic: str
    partition: int
    offset: int
    why: str


class UnreadableMessage(Exception):
    """A message that this version cannot read; the text says why."""


class MessageFormat(Generic[T]):
    """Encodes and decodes the messages of one topic."""

    def __init__(self, kind: type[T]) -> None:
        self._decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(kind)
        self._encoder = msgspec.msgpack.Encoder()

    def encode(self, message: T) -> bytes:
        return bytes((FORMAT,)) + self._encoder.encode(message)

    def decode(self, data: bytes | None) -> T:
        """Return the message; raise ``UnreadableMessage``."""
        if not data:
            raise UnreadableMessage("it is empty")
        if data[0] > FORMAT:
            raise UnreadableMessage(MadeByNewer("it", data[0], FORMAT).message)
        if data[0] != FORMAT:
            raise UnreadableMessage(f"it has an unknown format {data[0]}")
        try:
            found: T = self._decoder.decode(memoryview(data)[1:])
        except msgspec.MsgspecError as error:
            raise UnreadableMessage(str(error)) from None
        return found


accepted_urls: Final = MessageFormat(AcceptedUrl)
fetch_frames: Final = MessageFormat(FetchFrame)
learnt_delays: Final = MessageFormat(LearntDelay)
rule_values: Final = MessageFormat(DomainRule)
event_values: Final = MessageFormat(Event)
