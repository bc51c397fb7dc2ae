"""Responses: status, headers and body of a resource, and how they are sent, correctly or with a fault.

A faulty or slow response is a script: bytes, each after a delay, and what happens to the connection in the end. Scripts
are data, so faults are tested without a socket and the server needs no code for any of them.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from enum import StrEnum
from functools import lru_cache
from html import escape
from http import HTTPStatus

import msgspec

from scoter.simweb.clock import START, moment
from scoter.simweb.facts import AnswerClass, Resource, Validators, WireBehaviour
from scoter.simweb.spec import WebSpec

_FAILING = frozenset({AnswerClass.FORBIDDEN, AnswerClass.BUSY, AnswerClass.RECOVERING, AnswerClass.SERVER_ERROR})
_CHUNK = 2048
_DRIPS = 20
#: libcurl gives up at 300 KB of headers, browsers at 256 KB; this is well beyond both.
_FLOOD_BYTES = 2 * 1024 * 1024
_FLOOD_STEP = 64 * 1024
_REASONS = {status.value: status.phrase for status in HTTPStatus}

WELL_FRAMED = frozenset({WireBehaviour.LENGTH, WireBehaviour.CHUNKED, WireBehaviour.UNTIL_CLOSE})


class SimResponse(msgspec.Struct, frozen=True):
    """A response before it is compressed, framed or corrupted."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    wire: WireBehaviour = WireBehaviour.LENGTH
    compress: bool = False


class ConnectionEnd(StrEnum):
    """What happens to the connection after the last byte."""

    KEEP = "keep"
    CLOSE = "close"
    RESET = "reset"


class FramingOptions(msgspec.Struct, frozen=True):
    """The parts of a request that decide how its response is framed."""

    head_only: bool = False
    keep_alive: bool = True
    #: HTTP/1.0 has no chunked encoding.
    old: bool = False
    gzip: bool = False

    @property
    def end(self) -> ConnectionEnd:
        """What the client expects after a complete response."""
        return ConnectionEnd.KEEP if self.keep_alive else ConnectionEnd.CLOSE


class WireScript(msgspec.Struct, frozen=True):
    """Byte strings, each after a delay in seconds, then the end. Steps are generated one by one: some are large."""

    steps: Iterator[tuple[float, bytes]]
    end: ConnectionEnd


def not_found(host: str, path: str) -> SimResponse:
    """Return the response for a URL that this web does not have."""
    text = f"<!DOCTYPE html>\n<title>Not found</title>\n<p>No {escape(host + path)} in this web.</p>\n"
    return SimResponse(404, (("Content-Type", "text/html; charset=utf-8"),), text.encode())


def response_of(resource: Resource, now: float, attempt: int = 0) -> SimResponse:
    """Return a resource's full response at ``now`` seconds of simulated time, after ``attempt`` earlier requests."""
    fails = resource.answer in _FAILING
    recovered = resource.answer is AnswerClass.RECOVERING and attempt >= resource.failures
    headers = [("Content-Type", resource.content_type)] if resource.content_type else []
    if resource.location:
        headers.append(("Location", resource.location))
    if not recovered:
        headers.extend(resource.headers)
    if fails and not recovered:
        return SimResponse(resource.status, tuple(headers), b"Not now.\n", resource.wire)
    headers.extend(validators(resource, now))
    return SimResponse(
        200 if recovered else resource.status,
        tuple(headers),
        resource.body(resource.version(now)),
        resource.wire,
        resource.compress,
    )


def validators(resource: Resource, now: float) -> list[tuple[str, str]]:
    """Return the headers that allow conditional requests."""
    found = []
    if resource.validators in (Validators.BOTH, Validators.ETAG):
        found.append(("ETag", f'"{_tag(resource, now)}"'))
    if resource.validators in (Validators.BOTH, Validators.MODIFIED):
        found.append(("Last-Modified", format_datetime(moment(resource.modified(now)), usegmt=True)))
    return found


def unchanged(resource: Resource, now: float, if_none_match: str, if_modified_since: str) -> bool:
    """Tell whether a conditional request is answered with 304."""
    if resource.status != 200 or resource.validators is Validators.NONE:
        return False
    if if_none_match:
        # RFC 9110 section 13.1.3: with If-None-Match present, If-Modified-Since is ignored.
        if resource.validators is Validators.MODIFIED:
            return False
        tag = _tag(resource, now)
        given = (part.strip().removeprefix("W/").strip('"') for part in if_none_match.split(","))
        return any(part == "*" or part.removesuffix("-gz") == tag for part in given)
    if if_modified_since and resource.validators is not Validators.ETAG:
        try:
            since = parsedate_to_datetime(if_modified_since)
        except ValueError:
            return False  # RFC 9110 section 13.1.3: an invalid date is ignored.
        return _seconds(since) >= resource.modified(now)
    return False


def _seconds(date: datetime) -> float:
    aware = date if date.tzinfo else date.replace(tzinfo=UTC)
    return (aware - START).total_seconds()


def _tag(resource: Resource, now: float) -> str:
    return f"{zlib.crc32(resource.url.encode()):08x}-{resource.version(now)}"


@lru_cache(maxsize=1)
def _date(now: int) -> str:
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(now))


def response_head(status: int, headers: list[tuple[str, str]], *, keep: bool, old: bool = False) -> bytes:
    """Return the status line and headers, including the empty line."""
    lines = [f"HTTP/1.{0 if old else 1} {status} {_REASONS.get(status, '')}\r\nDate: {_date(int(time.time()))}\r\n"]
    lines.extend([f"{name}: {value}\r\n" for name, value in headers])
    if not keep:
        lines.append("Connection: close\r\n")
    elif old:
        lines.append("Connection: keep-alive\r\n")
    lines.append("\r\n")
    return "".join(lines).encode("latin-1")


def framed(response: SimResponse, asked: FramingOptions) -> tuple[bytes, ConnectionEnd]:
    """Return the bytes of a correctly framed response."""
    body, headers = response.body, list(response.headers)
    if response.compress:
        headers.append(("Vary", "Accept-Encoding"))
        if asked.gzip and body:
            # Level 1: speed matters here, not size. zlib writes no time into the header.
            body = _gzip(body)
            headers = [(name, f'{value[:-1]}-gz"' if name == "ETag" else value) for name, value in headers]
            headers.append(("Content-Encoding", "gzip"))
    keep = asked.keep_alive
    framing = response.wire
    if framing is WireBehaviour.CHUNKED and asked.old:
        framing = WireBehaviour.UNTIL_CLOSE
    match framing:
        case WireBehaviour.CHUNKED:
            headers.append(("Transfer-Encoding", "chunked"))
            body = b"" if asked.head_only else chunked(body) + b"0\r\n\r\n"
        case WireBehaviour.UNTIL_CLOSE:
            keep = False
        case _:
            headers.append(("Content-Length", str(len(body))))
    start = response_head(response.status, headers, keep=keep, old=asked.old)
    return start if asked.head_only else start + body, ConnectionEnd.KEEP if keep else ConnectionEnd.CLOSE


def chunked(body: bytes, size: int = _CHUNK) -> bytes:
    """Return a body as chunks, without the final empty one."""
    parts = []
    for start in range(0, len(body), size):
        piece = body[start : start + size]
        parts.append(b"%x\r\n%b\r\n" % (len(piece), piece))
    return b"".join(parts)


def wire_script(response: SimResponse, asked: FramingOptions, spec: WebSpec) -> WireScript:
    """Return the script of a slow or faulty response."""
    body = response.body
    plain = list(response.headers)
    sized = [*plain, ("Content-Length", str(len(body)))]
    pieces = [*plain, ("Transfer-Encoding", "chunked")]
    half = body[: len(body) // 2]

    def start(headers: list[tuple[str, str]]) -> bytes:
        return response_head(response.status, headers, keep=asked.keep_alive, old=asked.old)

    match response.wire:
        case WireBehaviour.HANG_UP:
            return WireScript(iter(()), ConnectionEnd.CLOSE)
        case WireBehaviour.RESET_AT_ONCE:
            return WireScript(iter(()), ConnectionEnd.RESET)
        case WireBehaviour.SILENT:
            return WireScript(iter([(spec.silence_seconds, b"")]), ConnectionEnd.CLOSE)
        case WireBehaviour.HEADER_FLOOD:
            return WireScript(_flood(start(sized)[:-2]), ConnectionEnd.CLOSE)
        case _ if asked.head_only:
            # The faults below are in the body, and a HEAD response has none.
            return WireScript(iter([(0.0, start(sized))]), asked.end)
        case WireBehaviour.RESET_MIDWAY:
            # The delay lets the bytes leave before the reset overtakes them.
            return WireScript(iter([(0.0, start(sized) + half), (0.05, b"")]), ConnectionEnd.RESET)
        case WireBehaviour.SHORT_BODY:
            return WireScript(iter([(0.0, start(sized) + half)]), ConnectionEnd.CLOSE)
        case WireBehaviour.SHORT_CHUNKS:
            return WireScript(iter([(0.0, start(pieces) + chunked(half))]), ConnectionEnd.CLOSE)
        case WireBehaviour.BAD_CHUNKS:
            return WireScript(
                iter([(0.0, start(pieces) + chunked(half) + b"zz\r\nno number\r\n")]), ConnectionEnd.CLOSE
            )
        case WireBehaviour.DRIP:
            return WireScript(_drip(start(sized), body, spec.drip_seconds / _DRIPS), asked.end)
        case _:
            data, end = framed(response, asked)
            return WireScript(iter([(0.0, data)]), end)


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
