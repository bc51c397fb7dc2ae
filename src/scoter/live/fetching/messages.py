"""What the core and its fetchers say to each other. A message is a record; ``KINDS`` gives each its number on the wire.

down: Begin, Ask, Lease, Own, GiveBack, Rule, RobotsFound, Elsewhere's answer (a Done), Stop
up:   Hello, Done, Refused, Beat, Paused, RobotsWanted, RobotsLearnt, Ask (of what belongs to another), Returned, Report

The socket for direct requests takes Ask, and answers Done or Refused.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from scoter.api import DomainRule
from scoter.core.reply import Failed, Fetched, Gone, Moved, NotModified, Request
from scoter.core.robots_cache import StoredRobots
from scoter.fetch.progress import Snapshot
from scoter.live.records import Priority, Read

VERSION: Final = 1

R = TypeVar("R")


class Begin(Struct, frozen=True, array_like=True):
    """The first message: the configuration, pickled, and what the fetcher needs to know beside it.

    At most ``deepest`` requests wait in one queue, none for longer than ``patience`` seconds for a domain that wants to
    be left alone; without a core the fetcher stays for ``alone_for`` seconds after the last direct request.
    """

    version: int
    config: bytes
    shards: int
    folder: str
    deepest: int
    patience: float
    alone_for: float


class Hello(Struct, frozen=True, array_like=True):
    """The fetcher is ready: it has its lock, and may be given shards."""

    version: int
    pid: int


class Ask(Struct, frozen=True, array_like=True):
    """Make a hop. One that ``is_bare`` belongs to reading a robots.txt, and asks none itself.

    What comes of one that ``is_read`` is read at once, unless that may take long.
    """

    id: int
    request: Request
    priority: Priority
    is_bare: bool = False
    is_read: bool = False


class Done(Struct, Generic[R], frozen=True, array_like=True):
    """What came of a hop.

    ``waited`` is the seconds until it began, ``rest`` those for which its domain is left alone now, and ``pause`` those
    for which it is after every request. ``read`` is what the answer holds, if it was read.
    """

    id: int
    reply: R
    waited: float = 0.0
    rest: float = 0.0
    pause: float = 0.0
    read: Read | None = None


class Why(StrEnum):
    """Why a hop was not made."""

    BUSY = "busy"  # too many wait in its domain's queue: ask again in a moment
    MOVED = "moved"  # its shard is not held here, or no longer
    RESTING = "resting"  # the domain wants to be left alone for longer than anybody waits


class Refused(Struct, frozen=True, array_like=True):
    """A hop was not made; nothing was asked."""

    id: int
    why: Why
    rest: float = 0.0


class Lease(Struct, frozen=True, array_like=True):
    """What is held may be asked until then."""

    until: float


class Rest(Struct, frozen=True, array_like=True):
    """A domain that is to be left alone for longer than its policy says: until when, and after each request."""

    domain: str
    until: float
    pause: float


class Own(Struct, frozen=True, array_like=True):
    """Shards are held from now on; nobody has asked their domains after ``since``."""

    shards: tuple[int, ...]
    since: float
    rests: tuple[Rest, ...] = ()


class GiveBack(Struct, frozen=True, array_like=True):
    """Ask these shards no more, and say when nothing of them is under way."""

    shards: tuple[int, ...]


class Returned(Struct, frozen=True, array_like=True):
    """Nothing of these shards is asked any more, nor was after these times."""

    since: dict[int, float]


class Rule(Struct, frozen=True, array_like=True):
    """A domain is treated so from now on."""

    rule: DomainRule


class Paused(Struct, frozen=True, array_like=True):
    """A domain's robots.txt asks for a delay; said before it is next asked."""

    domain: str
    pause: float


class RobotsWanted(Struct, frozen=True, array_like=True):
    """Is a robots.txt known?"""

    origin: str


class RobotsFound(Struct, frozen=True, array_like=True):
    """What is known of a robots.txt."""

    origin: str
    stored: StoredRobots | None


class RobotsLearnt(Struct, frozen=True, array_like=True):
    """A robots.txt was fetched."""

    origin: str
    stored: StoredRobots


class Beat(Struct, frozen=True, array_like=True):
    """A sign of life."""


class Report(Struct, frozen=True, array_like=True):
    """How far the fetcher is: its counts, its queues, the CPU seconds and bytes of memory it has used."""

    snapshot: Snapshot
    queues: int
    shards: int
    cpu: float
    memory: int


class Stop(Struct, frozen=True, array_like=True):
    """End; what is under way has so many seconds."""

    within: float


Message: TypeAlias = (
    Begin
    | Hello
    | Ask
    | Refused
    | Lease
    | Own
    | GiveBack
    | Returned
    | Rule
    | Paused
    | RobotsWanted
    | RobotsFound
    | RobotsLearnt
    | Beat
    | Report
    | Stop
    | Done[Any]
)

_PLAIN: Final[tuple[type[Struct], ...]] = (
    Begin,
    Hello,
    Ask,
    Refused,
    Lease,
    Own,
    GiveBack,
    Returned,
    Rule,
    Paused,
    RobotsWanted,
    RobotsFound,
    RobotsLearnt,
    Beat,
    Report,
    Stop,
)
# The kinds of reply have no mark of their own in msgpack, so each has a number of its own.
_REPLIES: Final[tuple[type[Struct], ...]] = (Fetched, Moved, NotModified, Gone, Failed)
_FIRST_REPLY: Final = 64

KINDS: Final[dict[type[Struct], int]] = {kind: number for number, kind in enumerate(_PLAIN, start=1)} | {
    kind: number for number, kind in enumerate(_REPLIES, start=_FIRST_REPLY)
}
_DECODERS: Final[dict[int, msgspec.msgpack.Decoder[Any]]] = {
    number: msgspec.msgpack.Decoder(Done[kind] if number >= _FIRST_REPLY else kind)  # type: ignore[valid-type]
    for kind, number in KINDS.items()
}
_encoder: Final = msgspec.msgpack.Encoder()


def encoded(message: Message) -> tuple[int, bytes]:
    """Return a message's number and its bytes."""
    kind = type(message.reply) if isinstance(message, Done) else type(message)
    return KINDS[kind], _encoder.encode(message)


def decoded(kind: int, data: bytes | memoryview) -> Message:
    """Return the message; what is none of ours is a ``msgspec.DecodeError``."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        raise msgspec.DecodeError(f"there is no message of kind {kind}")
    found: Message = decoder.decode(data)
    return found
