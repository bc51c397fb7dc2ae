"""The messages between the core and its workers, and how they travel over a socket.

- from the core: StartWorker, MakeHop, RenewLease, GrantShards, RecallShards, SetRule, RobotsAnswer, StopWorker, and
  HopDone for a forwarded hop
- from a worker: WorkerReady, HopDone, HopRefused, Heartbeat, LiveWorkerReport, CrawlDelayNotice, RobotsQuery,
  RobotsUpdate, ShardsReturned, and MakeHop to forward a hop

The socket for direct requests takes MakeHop, and answers HopDone or HopRefused.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from enum import StrEnum
from struct import Struct as Layout
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar, cast, get_args

import msgspec
from msgspec import Struct

from scoter.core.reply import Failed, Fetched, Gone, Moved, NotModified, Request
from scoter.core.robots_cache import StoredRobots
from scoter.fetch.progress import Snapshot
from scoter.live.api.records import DomainRule
from scoter.live.fetching.limits import MAX_FRAME_BYTES, WorkerLimits
from scoter.live.records import ContentSummary, Priority

VERSION: Final = 1

R = TypeVar("R")


class StartWorker(Struct, frozen=True, array_like=True):
    """The first message: the pickled configuration, the folder of locks and sockets, and the limits."""

    version: int
    config: bytes
    folder: str
    limits: WorkerLimits


class WorkerReady(Struct, frozen=True, array_like=True):
    """The worker has its lock file and may get shards."""

    version: int
    pid: int


class MakeHop(Struct, frozen=True, array_like=True):
    """Make a hop.

    ``is_forwarded``: another worker needs it for a request that has its slot already, so it skips the queue and
    robots.txt. ``is_read``: parse the response in the worker, unless that may take long.
    """

    id: int
    request: Request
    priority: Priority
    is_forwarded: bool = False
    is_read: bool = False


class HopDone(Struct, Generic[R], frozen=True, array_like=True):
    """The reply to a hop.

    In seconds: ``waited`` until it started, ``hold`` until its domain may be requested again, ``pause`` between
    requests to the domain. ``read`` is the content of the response, if it was parsed.
    """

    id: int
    reply: R
    waited: float = 0.0
    hold: float = 0.0
    pause: float = 0.0
    read: ContentSummary | None = None


class RefusalReason(StrEnum):
    """Why a hop was not made."""

    BUSY = "busy"  # the queue of its domain is full: retry in a moment
    MOVED = "moved"  # the worker does not hold its shard
    ON_HOLD = "on_hold"  # the domain is on hold for longer than ``patience``


class HopRefused(Struct, frozen=True, array_like=True):
    """A hop was not made."""

    id: int
    why: RefusalReason
    hold: float = 0.0


class RenewLease(Struct, frozen=True, array_like=True):
    """The lease on the worker's shards is extended."""

    until: float


class DomainHold(Struct, frozen=True, array_like=True):
    """A domain on hold: until when, and the seconds between requests to it."""

    domain: str
    until: float
    pause: float


class GrantShards(Struct, frozen=True, array_like=True):
    """The worker gets shards; nobody has requested their domains after ``since``."""

    shards: tuple[int, ...]
    since: float
    holds: tuple[DomainHold, ...] = ()


class RecallShards(Struct, frozen=True, array_like=True):
    """Stop requesting these shards, and answer when none of their requests are under way."""

    shards: tuple[int, ...]


class ShardsReturned(Struct, frozen=True, array_like=True):
    """The worker has stopped requesting these shards; the times of the last requests."""

    since: dict[int, float]


class SetRule(Struct, frozen=True, array_like=True):
    """Apply a domain rule."""

    rule: DomainRule


class CrawlDelayNotice(Struct, frozen=True, array_like=True):
    """The robots.txt of a domain sets a crawl delay; sent before the next request to the domain."""

    domain: str
    pause: float


class RobotsQuery(Struct, frozen=True, array_like=True):
    """Ask for a cached robots.txt."""

    origin: str


class RobotsAnswer(Struct, frozen=True, array_like=True):
    """The cached robots.txt, if any."""

    origin: str
    stored: StoredRobots | None


class RobotsUpdate(Struct, frozen=True, array_like=True):
    """A robots.txt was fetched."""

    origin: str
    stored: StoredRobots


class Heartbeat(Struct, frozen=True, array_like=True):
    """The worker is alive."""


class LiveWorkerReport(Struct, frozen=True, array_like=True):
    """The counters and queues of a worker, its CPU seconds and bytes of memory."""

    snapshot: Snapshot
    queues: int
    shards: int
    cpu: float
    memory: int


class StopWorker(Struct, frozen=True, array_like=True):
    """Stop; requests under way have ``within`` seconds to finish."""

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

_PLAIN: Final[tuple[type[Struct], ...]] = get_args(WireMessage)[:-1]
# Replies are untagged in msgpack, so HopDone has one message number per kind of reply.
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
    """Return the number and the bytes of a message."""
    kind = type(message.reply) if isinstance(message, HopDone) else type(message)
    return MESSAGE_NUMBERS[kind], _encoder.encode(message)


def decoded(kind: int, data: bytes | memoryview) -> WireMessage:
    """Return the message; raise ``msgspec.DecodeError`` if it is invalid."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        raise msgspec.DecodeError(f"unknown message number {kind}")
    found: WireMessage = decoder.decode(data)
    return found


_HEAD: Final = Layout("!IB")
_HIGH_WATER: Final = 4 * 2**20

_log = logging.getLogger(__name__)


class WireConnection(Protocol):
    """The other side of a worker: its core, or who has sent a direct request."""

    @property
    def is_open(self) -> bool: ...

    @property
    def has_room(self) -> bool:
        """Whether the other side keeps up with reading."""

    def send(self, message: WireMessage) -> None: ...

    async def drained(self) -> None:
        """Wait until the other side has read most of the written data."""


class FrameConnection(asyncio.Protocol):
    """One end of a connection: calls ``on_message`` for each message, and ``on_end`` once at the end."""

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
        self._begun = bytearray()  # an incomplete frame
        self._needed = 0
        self._flowing: asyncio.Future[None] | None = None
        self._is_unwanted = False
        self.is_open = False

    def __repr__(self) -> str:
        return f"FrameConnection({'open' if self.is_open else 'closed'}, {len(self._begun)} bytes of a frame)"

    @property
    def has_room(self) -> bool:
        """Whether the other side keeps up with reading."""
        return self._flowing is None

    def send(self, message: WireMessage) -> None:
        """Write a message; does nothing if the connection is closed."""
        if self._transport is not None and self.is_open:
            kind, data = encoded(message)
            self._transport.write(_HEAD.pack(len(data), kind) + data)

    async def drained(self) -> None:
        """Wait until the other side has read most of the written data."""
        if self._flowing is not None:
            await asyncio.shield(self._flowing)

    def close(self) -> None:
        """Close the connection once everything is written, or as soon as it is made."""
        self._is_unwanted = True
        if self._transport is not None:
            self._transport.close()

    # asyncio.Protocol

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
    """Return the frame connection over a connected socket, which it owns from now on."""
    loop = asyncio.get_running_loop()
    _, frames = await loop.create_unix_connection(lambda: FrameConnection(on_message, on_end, limit), sock=sock)
    return frames
