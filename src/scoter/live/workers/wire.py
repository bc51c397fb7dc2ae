"""The messages between the core and its workers, and how they travel over a socket.

down: Begin, Ask, Lease, Own, GiveBack, Rule, RobotsFound, Elsewhere's answer (a Done), Stop
up:   Hello, Done, Refused, Beat, Paused, RobotsWanted, RobotsLearnt, Ask (of what belongs to another), Returned, Report

The socket for direct requests takes Ask, and answers Done or Refused.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from enum import StrEnum
from struct import Struct as Layout
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Struct

from scoter.api import DomainRule
from scoter.core.reply import Failed, Fetched, Gone, Moved, NotModified, Request
from scoter.core.robots_cache import StoredRobots
from scoter.fetch.progress import Snapshot
from scoter.live.records import ContentSummary, Priority

VERSION: Final = 1

R = TypeVar("R")


class StartWorker(Struct, frozen=True, array_like=True):
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


class WorkerReady(Struct, frozen=True, array_like=True):
    """The fetcher is ready: it has its lock, and may be given shards."""

    version: int
    pid: int


class MakeHop(Struct, frozen=True, array_like=True):
    """Make a hop. One that ``is_bare`` belongs to reading a robots.txt, and asks none itself.

    What comes of one that ``is_read`` is read at once, unless that may take long.
    """

    id: int
    request: Request
    priority: Priority
    is_bare: bool = False
    is_read: bool = False


class HopDone(Struct, Generic[R], frozen=True, array_like=True):
    """What came of a hop.

    ``waited`` is the seconds until it began, ``rest`` those for which its domain is left alone now, and ``pause`` those
    for which it is after every request. ``read`` is what the answer holds, if it was read.
    """

    id: int
    reply: R
    waited: float = 0.0
    rest: float = 0.0
    pause: float = 0.0
    read: ContentSummary | None = None


class RefusalReason(StrEnum):
    """Why a hop was not made."""

    BUSY = "busy"  # too many wait in its domain's queue: ask again in a moment
    MOVED = "moved"  # its shard is not held here, or no longer
    RESTING = "resting"  # the domain wants to be left alone for longer than anybody waits


class HopRefused(Struct, frozen=True, array_like=True):
    """A hop was not made; nothing was asked."""

    id: int
    why: RefusalReason
    rest: float = 0.0


class RenewLease(Struct, frozen=True, array_like=True):
    """What is held may be asked until then."""

    until: float


class DomainHold(Struct, frozen=True, array_like=True):
    """A domain that is to be left alone for longer than its policy says: until when, and after each request."""

    domain: str
    until: float
    pause: float


class GrantShards(Struct, frozen=True, array_like=True):
    """Shards are held from now on; nobody has asked their domains after ``since``."""

    shards: tuple[int, ...]
    since: float
    rests: tuple[DomainHold, ...] = ()


class RecallShards(Struct, frozen=True, array_like=True):
    """Ask these shards no more, and say when nothing of them is under way."""

    shards: tuple[int, ...]


class ShardsReturned(Struct, frozen=True, array_like=True):
    """Nothing of these shards is asked any more, nor was after these times."""

    since: dict[int, float]


class SetRule(Struct, frozen=True, array_like=True):
    """A domain is treated so from now on."""

    rule: DomainRule


class CrawlDelayNotice(Struct, frozen=True, array_like=True):
    """A domain's robots.txt asks for a delay; said before it is next asked."""

    domain: str
    pause: float


class RobotsQuery(Struct, frozen=True, array_like=True):
    """Is a robots.txt known?"""

    origin: str


class RobotsAnswer(Struct, frozen=True, array_like=True):
    """What is known of a robots.txt."""

    origin: str
    stored: StoredRobots | None


class RobotsUpdate(Struct, frozen=True, array_like=True):
    """A robots.txt was fetched."""

    origin: str
    stored: StoredRobots


class Heartbeat(Struct, frozen=True, array_like=True):
    """A sign of life."""


class LiveWorkerReport(Struct, frozen=True, array_like=True):
    """How far the fetcher is: its counts, its queues, the CPU seconds and bytes of memory it has used."""

    snapshot: Snapshot
    queues: int
    shards: int
    cpu: float
    memory: int


class StopWorker(Struct, frozen=True, array_like=True):
    """End; what is under way has so many seconds."""

    within: float


WireMessage: TypeAlias = (
    StartWorker
    | WorkerReady
    | MakeHop
    | HopRefused
    | RenewLease
    | GrantShards
    | RecallShards
    | ShardsReturned
    | SetRule
    | CrawlDelayNotice
    | RobotsQuery
    | RobotsAnswer
    | RobotsUpdate
    | Heartbeat
    | LiveWorkerReport
    | StopWorker
    | HopDone[Any]
)

_PLAIN: Final[tuple[type[Struct], ...]] = (
    StartWorker,
    WorkerReady,
    MakeHop,
    HopRefused,
    RenewLease,
    GrantShards,
    RecallShards,
    ShardsReturned,
    SetRule,
    CrawlDelayNotice,
    RobotsQuery,
    RobotsAnswer,
    RobotsUpdate,
    Heartbeat,
    LiveWorkerReport,
    StopWorker,
)
# The kinds of reply have no mark of their own in msgpack, so each has a number of its own.
_REPLIES: Final[tuple[type[Struct], ...]] = (Fetched, Moved, NotModified, Gone, Failed)
_FIRST_REPLY: Final = 64

MESSAGE_NUMBERS: Final[dict[type[Struct], int]] = {kind: number for number, kind in enumerate(_PLAIN, start=1)} | {
    kind: number for number, kind in enumerate(_REPLIES, start=_FIRST_REPLY)
}
_DECODERS: Final[dict[int, msgspec.msgpack.Decoder[Any]]] = {
    number: msgspec.msgpack.Decoder(HopDone[kind] if number >= _FIRST_REPLY else kind)  # type: ignore[valid-type]
    for kind, number in MESSAGE_NUMBERS.items()
}
_encoder: Final = msgspec.msgpack.Encoder()


def encoded(message: WireMessage) -> tuple[int, bytes]:
    """Return a message's number and its bytes."""
    kind = type(message.reply) if isinstance(message, HopDone) else type(message)
    return MESSAGE_NUMBERS[kind], _encoder.encode(message)


def decoded(kind: int, data: bytes | memoryview) -> WireMessage:
    """Return the message; what is none of ours is a ``msgspec.DecodeError``."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        raise msgspec.DecodeError(f"unknown message number {kind}")
    found: WireMessage = decoder.decode(data)
    return found


MAX_FRAME_BYTES: Final = 64 * 2**20  # bytes of one frame; a body is far smaller, by fetch.content_limit
_HEAD: Final = Layout("!IB")
_HIGH_WATER: Final = 4 * 2**20

_log = logging.getLogger(__name__)


class FrameConnection(asyncio.Protocol):
    """One end of a connection: hands what arrives to ``on_message``, and tells ``on_end`` once when it is over."""

    def __init__(
        self,
        on_message: Callable[[WireMessage], None],
        on_end: Callable[[], None] = lambda: None,
        limit: int = MAX_FRAME_BYTES,
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
        return f"FrameConnection({'open' if self.is_open else 'closed'}, {len(self._begun)} bytes of a frame)"

    @property
    def has_room(self) -> bool:
        """Whether the other side keeps up with what is written."""
        return self._flowing is None

    def send(self, message: WireMessage) -> None:
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
            _log.error("closing a connection: %s", error)
            if self._transport is not None:
                self._transport.abort()

    def _read(self, data: bytes) -> None:
        view, at = memoryview(data), 0
        while len(data) - at >= _HEAD.size:
            length, kind = _HEAD.unpack_from(data, at)
            if length > self._limit:
                raise ValueError(f"frame of {length} bytes exceeds the limit of {self._limit}")
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


async def frames_over(
    sock: socket.socket,
    on_message: Callable[[WireMessage], None],
    on_end: Callable[[], None],
    limit: int = MAX_FRAME_BYTES,
) -> FrameConnection:
    """Return the frames of a connected socket, which is theirs from now on."""
    loop = asyncio.get_running_loop()
    _, frames = await loop.create_unix_connection(lambda: FrameConnection(on_message, on_end, limit), sock=sock)
    return frames
