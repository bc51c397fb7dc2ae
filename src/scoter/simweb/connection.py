"""One connection to the synthetic web: HTTP/1.1 with keep-alive and pipelining, HTTP/1.0, and the raw socket.

Requests are answered strictly one after another. Reading pauses while too many wait, writing pauses when the
client does not read: a connection holds a bounded amount of memory whatever the other side does.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Iterator
from typing import Protocol as Face
from typing import cast

import httptools
import msgspec

from .answer import Answer, answer_of, nothing_here, unchanged, validators
from .clock import SimClock
from .control import Control, Reply
from .delivery import SOUND, Asked, End, Script, head, script, sound
from .ledger import Ledger
from .sites import CONTROL
from .web import SimWeb

_LONGEST_URL = 16 * 1024
_MOST_HEADERS = 64 * 1024
_LONGEST_BODY = 64 * 1024
_MOST_WAITING = 64
_KEPT = frozenset({b"host", b"accept-encoding", b"if-none-match", b"if-modified-since"})


class Desk(Face):
    """What a connection needs of its server."""

    web: SimWeb
    ledger: Ledger
    clock: SimClock
    control: Control
    connections: set[Connection]

    def attempt(self, url: str) -> int:
        """Count a request for a URL that recovers; return how many came before."""
        ...


class Request(msgspec.Struct, frozen=True):
    """A request as far as it matters."""

    method: str
    host: str
    path: str
    asked: Asked
    if_none_match: str = ""
    if_modified_since: str = ""
    #: A request that cannot be answered: the status that says so.
    refusal: int = 0


class Connection(asyncio.Protocol):
    """Reads requests, asks the web, sends what it is told to send."""

    def __init__(self, desk: Desk, loop: asyncio.AbstractEventLoop) -> None:
        self._desk = desk
        self._loop = loop
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[Request] = deque()
        self._busy = False
        self._stalled = False
        self._closing = False
        self._pumping = False
        self._reading = True
        self._timer: asyncio.TimerHandle | None = None
        self._script: Script | None = None
        self._ticket = -1
        self._status = 0
        self._sent = 0
        self.on_message_begin()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast, since uvloop's transports are of the right kind without being of the class.
        self._transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        self._port = int(peer[1]) if peer else 0
        self._desk.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._desk.connections.discard(self)
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        if self._busy:
            self._desk.ledger.end(self._ticket, self._status if self._sent else 0, self._sent)
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
            # The offer is declined by going on in HTTP/1.1 with what follows the request.
            self._parser = httptools.HttpRequestParser(self)
            rest = data[upgrade.args[0] :]
            if rest:
                self.data_received(rest)
        except httptools.HttpParserError:
            self._refuse(400)

    # Called by the parser, in this order.

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
        if name in _KEPT:
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
        asked = Asked(
            head_only=method == "HEAD",
            keep_alive=parser.should_keep_alive(),
            old=parser.get_http_version() == "1.0",
            gzip=b"gzip" in accepts and b"gzip;q=0" not in accepts.replace(b" ", b""),
        )
        request = Request(
            method,
            host,
            path,
            asked,
            headers.get(b"if-none-match", b"").decode("latin-1"),
            headers.get(b"if-modified-since", b"").decode("latin-1"),
            refusal=0 if host else 400,
        )
        self._waiting.append(request)
        if len(self._waiting) >= _MOST_WAITING and self._reading:
            self._reading = False
            self._transport.pause_reading()
        self._pump()

    def _refuse(self, status: int) -> None:
        """Say no to what cannot be read, after all that came before it, and hang up."""
        if self._closing:
            return
        self._waiting.append(Request("GET", "", "", Asked(keep_alive=False), refusal=status))
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
        if not self._reading and not self._closing and len(waiting) < _MOST_WAITING // 2:
            self._reading = True
            self._transport.resume_reading()

    def _take(self, request: Request) -> None:
        self._busy, self._ticket, self._status, self._sent = True, -1, 0, 0
        if request.refusal:
            answer = Answer(request.refusal, (("Content-Type", "text/plain"),), b"This cannot be answered.\n")
            self._send_sound(answer, request.asked)
            return
        if request.host == CONTROL:
            self._send_reply(self._desk.control.answer(request.method, request.path), request.asked)
            return
        self._ticket = self._desk.ledger.begin(request.host, request.path, request.method, self._port)
        latency = self._desk.web.spec.latency
        if latency:
            self._timer = self._loop.call_later(latency, self._answer, request)
        else:
            self._answer(request)

    def _answer(self, request: Request) -> None:
        self._timer = None
        desk, asked, now = self._desk, request.asked, self._desk.clock.now
        resource = desk.web.find(request.host, request.path)
        if request.method not in ("GET", "HEAD"):
            self._send_sound(Answer(405, (("Allow", "GET, HEAD"),), b""), asked)
        elif resource is None:
            self._send_sound(nothing_here(request.host, request.path), asked)
        elif unchanged(resource, now, request.if_none_match, request.if_modified_since):
            data = head(304, validators(resource, now), keep=asked.keep_alive, old=asked.old)
            self._send(304, data, End.KEEP if asked.keep_alive else End.CLOSE)
        else:
            attempt = desk.attempt(resource.url) if resource.failures else 0
            answer = answer_of(resource, now, attempt)
            if answer.delivery in SOUND:
                self._send_sound(answer, asked)
            else:
                self._start(answer.status, script(answer, asked, desk.web.spec))

    def _send_sound(self, answer: Answer, asked: Asked) -> None:
        data, end = sound(answer, asked)
        self._send(answer.status, data, end)

    def _send(self, status: int, data: bytes, end: End) -> None:
        self._status, self._sent = status, len(data)
        self._transport.write(data)
        self._finish(end)

    def _send_reply(self, reply: Reply, asked: Asked) -> None:
        headers = (("Content-Type", reply.content_type), ("Cache-Control", "no-store"))
        if reply.blocks is None or asked.head_only:
            self._send_sound(Answer(reply.status, headers, reply.body), asked)
            return
        framed = [*headers] if asked.old else [*headers, ("Transfer-Encoding", "chunked")]
        keep = asked.keep_alive and not asked.old
        start = head(reply.status, framed, keep=keep, old=asked.old)
        steps = _framed(start, reply.blocks, chunks=not asked.old)
        self._start(reply.status, Script(steps, End.KEEP if keep else End.CLOSE))

    def _start(self, status: int, plan: Script) -> None:
        self._script, self._status = plan, status
        self._play()

    def _play(self) -> None:
        """Play the script's next step; the loop gets a turn between two steps."""
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

    def _finish(self, end: End) -> None:
        self._desk.ledger.end(self._ticket, self._status, self._sent)
        self._busy = False
        match end:
            case End.KEEP:
                self._pump()
            case End.CLOSE:
                self._hang_up()
                self._transport.close()
            case End.RESET:
                self._hang_up()
                sock: socket.socket = self._transport.get_extra_info("socket")
                # Lingering for zero seconds makes the close a reset.
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self._transport.abort()

    def _hang_up(self) -> None:
        self._closing = True
        self._waiting.clear()


def _framed(start: bytes, blocks: Iterator[bytes], *, chunks: bool) -> Iterator[tuple[float, bytes]]:
    yield 0.0, start
    for block in blocks:
        yield 0.0, b"%x\r\n%b\r\n" % (len(block), block) if chunks else block
    if chunks:
        yield 0.0, b"0\r\n\r\n"


def _target(url: bytes, host: bytes) -> tuple[str, str]:
    """Host and path of a request, also of one that is addressed to a proxy; an empty host if it has none."""
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
