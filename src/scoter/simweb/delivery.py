"""How an answer goes over the wire, sound or spoilt, as a script that the server plays.

A script is data: so many bytes after so many seconds, and what becomes of the connection in the end. Faults are
thus tested without a socket, and the server knows none of them.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from http import HTTPStatus

import msgspec

from .answer import Answer
from .facts import Delivery
from .spec import WebSpec

_CHUNK = 2048
_DRIPS = 20
#: libcurl gives up at 300 KB of headers, browsers at 256 KB; this is well beyond all of them.
_FLOOD_BYTES = 2 * 1024 * 1024
_FLOOD_STEP = 64 * 1024
_REASONS = {status.value: status.phrase for status in HTTPStatus}


class End(StrEnum):
    """What becomes of the connection after the last byte."""

    KEEP = "keep"
    CLOSE = "close"
    RESET = "reset"


class Asked(msgspec.Struct, frozen=True):
    """What matters of a request when its answer is framed."""

    head_only: bool = False
    keep_alive: bool = True
    #: HTTP/1.0 knows no chunks.
    old: bool = False
    gzip: bool = False


class Script(msgspec.Struct, frozen=True):
    """Bytes, each after a wait in seconds; then the end. The steps come one by one, as some are large."""

    steps: Iterator[tuple[float, bytes]]
    end: End


@lru_cache(maxsize=1)
def _date(now: int) -> str:
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(now))


def head(status: int, headers: list[tuple[str, str]], *, keep: bool, old: bool = False) -> bytes:
    """A status line and headers, up to and with the empty line."""
    lines = [f"HTTP/1.{0 if old else 1} {status} {_REASONS.get(status, '')}\r\nDate: {_date(int(time.time()))}\r\n"]
    lines.extend([f"{name}: {value}\r\n" for name, value in headers])
    if not keep:
        lines.append("Connection: close\r\n")
    elif old:
        lines.append("Connection: keep-alive\r\n")
    lines.append("\r\n")
    return "".join(lines).encode("latin-1")


def sound(answer: Answer, asked: Asked) -> tuple[bytes, End]:
    """The bytes of an answer that is framed as it should be."""
    body, headers = answer.body, list(answer.headers)
    if answer.compress:
        headers.append(("Vary", "Accept-Encoding"))
        if asked.gzip and body:
            # Level 1: the web is to be quick, not small. zlib writes no time into the header.
            body = _gzip(body)
            headers = [(name, f'{value[:-1]}-gz"' if name == "ETag" else value) for name, value in headers]
            headers.append(("Content-Encoding", "gzip"))
    keep = asked.keep_alive
    framing = answer.delivery
    if framing is Delivery.CHUNKED and asked.old:
        framing = Delivery.UNTIL_CLOSE
    match framing:
        case Delivery.CHUNKED:
            headers.append(("Transfer-Encoding", "chunked"))
            body = b"" if asked.head_only else chunked(body) + b"0\r\n\r\n"
        case Delivery.UNTIL_CLOSE:
            keep = False
        case _:
            headers.append(("Content-Length", str(len(body))))
    start = head(answer.status, headers, keep=keep, old=asked.old)
    return start if asked.head_only else start + body, End.KEEP if keep else End.CLOSE


def chunked(body: bytes, size: int = _CHUNK) -> bytes:
    """A body as chunks, without the last, empty one."""
    parts = []
    for start in range(0, len(body), size):
        piece = body[start : start + size]
        parts.append(b"%x\r\n%b\r\n" % (len(piece), piece))
    return b"".join(parts)


SOUND = frozenset({Delivery.LENGTH, Delivery.CHUNKED, Delivery.UNTIL_CLOSE})


def script(answer: Answer, asked: Asked, spec: WebSpec) -> Script:
    """The script of an answer that is slow or spoilt."""
    body = answer.body
    plain = list(answer.headers)
    sized = [*plain, ("Content-Length", str(len(body)))]
    pieces = [*plain, ("Transfer-Encoding", "chunked")]
    half = body[: len(body) // 2]

    def start(headers: list[tuple[str, str]]) -> bytes:
        return head(answer.status, headers, keep=asked.keep_alive, old=asked.old)

    ended = End.KEEP if asked.keep_alive else End.CLOSE
    match answer.delivery:
        case Delivery.HANG_UP:
            return Script(iter(()), End.CLOSE)
        case Delivery.RESET_AT_ONCE:
            return Script(iter(()), End.RESET)
        case Delivery.SILENT:
            return Script(iter([(spec.silence_seconds, b"")]), End.CLOSE)
        case Delivery.HEADER_FLOOD:
            return Script(_flood(start(sized)[:-2]), End.CLOSE)
        case _ if asked.head_only:
            # The faults below lie in the body, and there is none.
            return Script(iter([(0.0, start(sized))]), ended)
        case Delivery.RESET_MIDWAY:
            # The wait lets the bytes leave before the reset overtakes them.
            return Script(iter([(0.0, start(sized) + half), (0.05, b"")]), End.RESET)
        case Delivery.SHORT_BODY:
            return Script(iter([(0.0, start(sized) + half)]), End.CLOSE)
        case Delivery.SHORT_CHUNKS:
            return Script(iter([(0.0, start(pieces) + chunked(half))]), End.CLOSE)
        case Delivery.BAD_CHUNKS:
            return Script(iter([(0.0, start(pieces) + chunked(half) + b"zz\r\nno number\r\n")]), End.CLOSE)
        case Delivery.DRIP:
            return Script(_drip(start(sized), body, spec.drip_seconds / _DRIPS), ended)
        case _:
            data, end = sound(answer, asked)
            return Script(iter([(0.0, data)]), end)


def _drip(start: bytes, body: bytes, wait: float) -> Iterator[tuple[float, bytes]]:
    yield 0.0, start
    for drop in range(_DRIPS):
        yield wait, body[len(body) * drop // _DRIPS : len(body) * (drop + 1) // _DRIPS]


def _flood(start: bytes) -> Iterator[tuple[float, bytes]]:
    yield 0.0, start
    for step in range(_FLOOD_BYTES // _FLOOD_STEP):
        line = b"X-Flood-%06d: %b\r\n"
        yield 0.0, b"".join(line % (step * 1000 + n, b"f" * 100) for n in range(_FLOOD_STEP // 118))
    yield 0.0, b"\r\n"


def _gzip(body: bytes) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return packer.compress(body) + packer.flush()
