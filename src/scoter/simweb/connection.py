"""A server and its connections: HTTP/1.1 with keep-alive and pipelining, HTTP/1.0, and the raw socket.

Requests are answered strictly in order. Reading pauses while too many requests wait, and writing pauses when the client
does not read, so a connection uses a bounded amount of memory whatever the client does.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Iterator
from typing import cast

import httptools
import msgspec

from scoter.simweb.clock import SimClock
from scoter.simweb.control import ControlHost, ControlReply
from scoter.simweb.ledger import SimLedger
from scoter.simweb.responses import (
    WELL_FRAMED,
    ConnectionEnd,
    FramingOptions,
    SimResponse,
    WireScript,
    framed,
    not_found,
    response_head,
    response_of,
    unchanged,
    validators,
    wire_script,
)
from scoter.simweb.sites import CONTROL
from scoter.simweb.web import SimWeb

ADDRESS = "127.0.0.1"
_LONGEST_URL = 16 * 1024
_MOST_HEADERS = 64 * 1024
_LONGEST_BODY = 64 * 1024
_MOST_PIPELINED = 64
_USED_HEADERS = frozenset({b"host", b"accept-encoding", b"if-none-match", b"if-modified-since"})


class SimServer:
    """A running server: its address, its ledger and its clock."""

    def __init__(self, web: SimWeb) -> None:
        self.web = web
        self.port = 0
        self.ledger = SimLedger()
        self.clock = SimClock()
        self.control = ControlHost(web, self.ledger, self.clock)
        self.connections: set[SimConnection] = set()
        self._attempts: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"SimServer({ADDRESS}:{self.port}, {self.web!r}, {self.ledger!r})"

    @property
    def address(self) -> str:
        """Address and port, in the form of a crawler's connection override."""
        return f"{ADDRESS}:{self.port}"

    def attempt(self, url: str) -> int:
        """Count a request for a recovering URL; return how many came before."""
        # Only recovering URLs are counted, and there are only a few.
        before = self._attempts.get(url, 0)
        self._attempts[url] = before + 1
        return before


class SimRequest(msgspec.Struct, frozen=True):
    """The parts of a request that matter here."""

    method: str
    host: str
    path: str
    asked: FramingOptions
    if_none_match: str = ""
    if_modified_since: str = ""
    #: Error status for a request that cannot be answered; 0 otherwise.
    refusal: int = 0


class SimConnection(asyncio.Protocol):
    """Reads requests, looks them up in the web and sends the responses."""

    def __init__(self, state: SimServer, loop: asyncio.AbstractEventLoop) -> None:
        self._state = state
        self._loop = loop
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[SimRequest] = deque()
        self._busy = False
        self._stalled = False
        self._closing = False
        self._pumping = False
        self._reading = True
        self._timer: asyncio.TimerHandle | None = None
        self._script: WireScript | None = None
        self._ticket = -1
        self._status = 0
        self._sent = 0
        self.on_message_begin()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast because uvloop's transports do not inherit from asyncio.Transport.
        self._transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        self._port = int(peer[1]) if peer else 0
        self._state.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._state.connections.discard(self)
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        if self._busy:
            self._state.ledger.end(self._ticket, self._status if self._sent else 0, self._sent)
        self._waiting.clear()
        self._script = None

    def abort(self) -> None:
        """Drop the connection."""
        self._transport.abort()

    def pause_writing(self) -> None:
        self._stalled = True

    def resume_writing(self) -> None:
        self._stalled = False
        if self._script is not None and self._timer is None:
            self._play()
        else:
            self._pump()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # Decline the upgrade: carry on in HTTP/1.1 with what follows the request.
            self._parser = httptools.HttpRequestParser(self)
            rest = data[upgrade.args[0] :]
            if rest:
                self.data_received(rest)
        except httptools.HttpParserError:
            self._refuse(400)

    # Parser callbacks, in the order in which they are called.

    def on_message_begin(self) -> None:
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._header_bytes = 0
        self._body_bytes = 0

    def on_url(self, url: bytes) -> None:
        self._url += url
        if len(self._url) > _LONGEST_URL:
            self._refuse(414)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > _MOST_HEADERS:
            self._refuse(431)
            return
        name = name.lower()
        if name in _USED_HEADERS:
            self._headers[name] = value

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._body_bytes > _LONGEST_BODY:
            self._refuse(413)

    def on_message_complete(self) -> None:
        if self._closing:
            return
        parser, headers = self._parser, self._headers
        host, path = _target(self._url, headers.get(b"host", b""))
        method = parser.get_method().decode("latin-1")
        accepts = headers.get(b"accept-encoding", b"")
        asked = FramingOptions(
            head_only=method == "HEAD",
            keep_alive=parser.should_keep_alive(),
            old=parser.get_http_version() == "1.0",
            gzip=b"gzip" in accepts and b"gzip;q=0" not in accepts.replace(b" ", b""),
        )
        tags, since = (headers.get(name, b"").decode("latin-1") for name in (b"if-none-match", b"if-modified-since"))
        self._waiting.append(SimRequest(method, host, path, asked, tags, since, refusal=0 if host else 400))
        if len(self._waiting) >= _MOST_PIPELINED and self._reading:
            self._reading = False
            self._transport.pause_reading()
        self._pump()

    def _refuse(self, status: int) -> None:
        """Send an error after all earlier responses, then close the connection."""
        if self._closing:
            return
        self._waiting.append(SimRequest("GET", "", "", FramingOptions(keep_alive=False), refusal=status))
        self._closing = True
        if self._reading:
            self._reading = False
            self._transport.pause_reading()
        self._pump()

    def _pump(self) -> None:
        waiting = self._waiting
        if self._pumping:
            return
        self._pumping = True
        while waiting and not self._busy and not self._stalled:
            self._take(waiting.popleft())
        self._pumping = False
        if not self._reading and not self._closing and len(waiting) < _MOST_PIPELINED // 2:
            self._reading = True
            self._transport.resume_reading()

    def _take(self, request: SimRequest) -> None:
        self._busy, self._ticket, self._status, self._sent = True, -1, 0, 0
        if request.refusal:
            answer = SimResponse(request.refusal, (("Content-Type", "text/plain"),), b"Bad request.\n")
            self._send_framed(answer, request.asked)
            return
        if request.host == CONTROL:
            self._send_reply(self._state.control.answer(request.method, request.path), request.asked)
            return
        self._ticket = self._state.ledger.begin(request.host, request.path, request.method, self._port)
        latency = self._state.web.spec.latency
        if latency:
            self._timer = self._loop.call_later(latency, self._answer, request)
        else:
            self._answer(request)

    def _answer(self, request: SimRequest) -> None:
        self._timer = None
        state, asked, now = self._state, request.asked, self._state.clock.now
        resource = state.web.find(request.host, request.path)
        if request.method not in ("GET", "HEAD"):
            self._send_framed(SimResponse(405, (("Allow", "GET, HEAD"),), b""), asked)
        elif resource is None:
            self._send_framed(not_found(request.host, request.path), asked)
        elif unchanged(resource, now, request.if_none_match, request.if_modified_since):
            data = response_head(304, validators(resource, now), keep=asked.keep_alive, old=asked.old)
            self._send(304, data, asked.end)
        else:
            attempt = state.attempt(resource.url) if resource.failures else 0
            answer = response_of(resource, now, attempt)
            if answer.wire in WELL_FRAMED:
                self._send_framed(answer, asked)
            else:
                self._start(answer.status, wire_script(answer, asked, state.web.spec))

    def _send_framed(self, answer: SimResponse, asked: FramingOptions) -> None:
        data, end = framed(answer, asked)
        self._send(answer.status, data, end)

    def _send(self, status: int, data: bytes, end: ConnectionEnd) -> None:
        self._status, self._sent = status, len(data)
        self._transport.write(data)
        self._finish(end)

    def _send_reply(self, reply: ControlReply, asked: FramingOptions) -> None:
        headers = (("Content-Type", reply.content_type), ("Cache-Control", "no-store"))
        if reply.blocks is None or asked.head_only:
            self._send_framed(SimResponse(reply.status, headers, reply.body), asked)
            return
        framed = [*headers] if asked.old else [*headers, ("Transfer-Encoding", "chunked")]
        keep = asked.keep_alive and not asked.old
        start = response_head(reply.status, framed, keep=keep, old=asked.old)
        steps = _chunked_blocks(start, reply.blocks, chunks=not asked.old)
        self._start(reply.status, WireScript(steps, ConnectionEnd.KEEP if keep else ConnectionEnd.CLOSE))

    def _start(self, status: int, plan: WireScript) -> None:
        self._script, self._status = plan, status
        self._play()

    def _play(self) -> None:
        """Schedule the script's next step; the event loop runs between steps."""
        self._timer = None
        plan = self._script
        if plan is None or self._stalled:
            return
        step = next(plan.steps, None)
        if step is None:
            self._script = None
            if not self._sent:
                self._status = 0
            self._finish(plan.end)
            return
        wait, data = step
        self._timer = self._loop.call_later(wait, self._say, data)

    def _say(self, data: bytes) -> None:
        self._timer = None
        if data and self._script is not None:
            self._sent += len(data)
            self._transport.write(data)
        self._play()

    def _finish(self, end: ConnectionEnd) -> None:
        self._state.ledger.end(self._ticket, self._status, self._sent)
        self._busy = False
        match end:
            case ConnectionEnd.KEEP:
                self._pump()
            case ConnectionEnd.CLOSE:
                self._hang_up()
                self._transport.close()
            case ConnectionEnd.RESET:
                self._hang_up()
                sock: socket.socket = self._transport.get_extra_info("socket")
                # SO_LINGER with a timeout of zero turns the close into a reset.
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self._transport.abort()

    def _hang_up(self) -> None:
        self._closing = True
        self._waiting.clear()


def _chunked_blocks(start: bytes, blocks: Iterator[bytes], *, chunks: bool) -> Iterator[tuple[float, bytes]]:
    yield 0.0, start
    for block in blocks:
        yield 0.0, b"%x\r\n%b\r\n" % (len(block), block) if chunks else block
    if chunks:
        yield 0.0, b"0\r\n\r\n"


def _target(url: bytes, host: bytes) -> tuple[str, str]:
    """Return host and path of a request, also of one sent to a proxy; the host is empty if it has none."""
    text = url.decode("latin-1")
    name = host.decode("latin-1")
    if text[:7].lower() == "http://":
        name, slash, rest = text[7:].partition("/")
        text = slash + rest or "/"
    name = name.strip().lower().rpartition("@")[2]
    bare, colon, port = name.rpartition(":")
    if colon and (port.isdecimal() or not port):
        name = bare
    return name.rstrip(".")[:255], text.partition("#")[0]
