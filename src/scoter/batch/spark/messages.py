"""What the driver and the executors of a fetch send to each other.

A frame is a length of four bytes and a MessagePack document. The driver first sends random bytes, and an executor
answers with their HMAC under the secret that came with its task, so only tasks of this fetch are served.
"""

from __future__ import annotations

import asyncio
import hmac
import struct
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from scoter.batch.worker.process import FetchTaskReport
from scoter.fetch.progress import Snapshot

NONCE: Final = 32
_LENGTH: Final = struct.Struct("!I")
_LARGEST: Final = 64 * 2**20


class LearnedHold(Struct, frozen=True, array_like=True):
    """A host that must be left alone until a Unix time, and its usual delay in seconds."""

    host: str
    until: float
    delay: float


class LearnedRobots(Struct, frozen=True, array_like=True):
    """A robots.txt file of an origin, and when it expires."""

    origin: str
    body: bytes | None
    expires: float


class ClaimList(Struct, frozen=True, tag=True):
    """An executor asks for a list."""

    number: int


class RenewList(Struct, frozen=True, tag=True):
    """An owner renews its lease, and reports what it has learned since the last time."""

    number: int
    token: str
    snapshot: Snapshot | None = None
    holds: tuple[LearnedHold, ...] = ()
    robots: tuple[LearnedRobots, ...] = ()


class OfferPart(Struct, frozen=True, tag=True):
    """An owner has uploaded a finished part and asks to make it valid; the snapshot is about as old as the part."""

    number: int
    token: str
    part: str
    rows: int
    snapshot: Snapshot | None = None


class FindRobots(Struct, frozen=True, tag=True):
    """An owner asks for the robots.txt of an origin."""

    number: int
    origin: str


class EndList(Struct, frozen=True, tag=True):
    """An owner has ended its work on a list."""

    number: int
    token: str
    report: FetchTaskReport


class ListGranted(Struct, frozen=True, tag=True):
    """The list belongs to the executor. URLs in ``parts`` are done; hosts in ``holds`` must be left alone."""

    token: str
    lease: float
    attempt: int
    parts: tuple[str, ...] = ()
    holds: tuple[LearnedHold, ...] = ()


class WaitForList(Struct, frozen=True, tag=True):
    """Another executor may still own the list: ask again."""

    seconds: float


class NoWork(Struct, frozen=True, tag=True):
    """The list is done, or the fetch was stopped."""


class ListKept(Struct, frozen=True, tag=True):
    """The list still belongs to the executor, or its part was accepted.

    ``is_stopping``: make no more requests; ``end``: as well, because of this reason, and the list is then complete.
    """

    is_stopping: bool = False
    end: str = ""


class ListLost(Struct, frozen=True, tag=True):
    """The list belongs to somebody else; ``problem`` if a part could not be accepted."""

    problem: str = ""


class RobotsFound(Struct, frozen=True, tag=True):
    """The robots.txt that was asked for, if it is known."""

    robots: LearnedRobots | None = None


ExecutorMessage: TypeAlias = ClaimList | RenewList | OfferPart | FindRobots | EndList
DriverMessage: TypeAlias = ListGranted | WaitForList | NoWork | ListKept | ListLost | RobotsFound


class NumberedMessage(Struct, frozen=True, array_like=True):
    """A message of an executor, with the number that its answer will have."""

    id: int
    message: ExecutorMessage


class NumberedAnswer(Struct, frozen=True, array_like=True):
    """An answer of the driver."""

    id: int
    message: DriverMessage


encode: Final = msgspec.msgpack.Encoder().encode
decode_message: Final = msgspec.msgpack.Decoder(NumberedMessage).decode
decode_answer: Final = msgspec.msgpack.Decoder(NumberedAnswer).decode


def proof(secret: bytes, nonce: bytes) -> bytes:
    """Return what shows that an executor knows the secret."""
    return hmac.digest(secret, nonce, "sha256")


async def receive(reader: asyncio.StreamReader, largest: int = _LARGEST) -> bytes:
    """Return the next frame; raise ``IncompleteReadError`` at the end of the connection."""
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > largest:
        raise ConnectionError(f"a frame of {length:,} bytes")
    return await reader.readexactly(length)


async def send(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Send a frame."""
    writer.write(_LENGTH.pack(len(data)) + data)
    await writer.drain()
