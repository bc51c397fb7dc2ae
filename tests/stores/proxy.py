"""A proxy in front of an S3 server: it counts requests, and delays, refuses or cuts the ones that a test chooses."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from email.utils import format_datetime, parsedate_to_datetime

from msgspec import Struct

PASS = "pass"
SLOW_DOWN = "answer 503 SlowDown"
NO_RANGE = "answer 416 InvalidRange"
FORBID = "answer 403 AccessDenied"
LACK = "answer 501 NotImplemented"
PRETEND = "answer 200 to a write without executing it"
LOSE = "execute the request, and close the connection instead of answering"
CUT = "close the connection in the middle of the body"
STALL = "do not answer"

_REFUSALS = {
    SLOW_DOWN: ("503 Slow Down", "SlowDown", "Please reduce your request rate."),
    FORBID: ("403 Forbidden", "AccessDenied", "Access Denied."),
    LACK: ("501 Not Implemented", "NotImplemented", "A header you provided implies functionality not implemented."),
    NO_RANGE: ("416 Requested Range Not Satisfiable", "InvalidRange", "The requested range is not satisfiable"),
}
_CHUNK = 65_536
_DATES = re.compile(rb"(?im)^(date|last-modified): ([^\r\n]+)")


class S3Request(Struct, frozen=True):
    """A request: its number from 1, method, path with query, and the length of its body."""

    number: int
    method: str
    target: str
    length: int

    @property
    def kind(self) -> str:
        """The operation, as it is billed."""
        return "LIST" if "list-type=2" in self.target else self.method


class StoreProxy:
    """Forwards requests to a server, unless ``decide`` says otherwise; ``executed`` is called after each one."""

    def __init__(self, port: int) -> None:
        self.decide: Callable[[S3Request], str] = lambda request: PASS
        self.executed: Callable[[S3Request], None] = lambda request: None
        self.skew = timedelta()
        self.requests: list[S3Request] = []
        self.actions: Counter[str] = Counter()
        self._upstream = port
        self._guard = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def counts(self) -> Counter[str]:
        """Return the number of requests of each kind."""
        return Counter(each.kind for each in self.requests)

    def reset(self) -> None:
        with self._guard:
            self.requests.clear()
            self.actions.clear()

    def serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve_connection, args=(client,), daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve_connection(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            rest = b""
            while True:
                head, rest = _head(client, rest)
                if not head:
                    return
                rest = self._one(client, head, rest)

    def _one(self, client: socket.socket, head: bytes, rest: bytes) -> bytes:
        method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        length = int(_field(head, b"content-length") or 0)
        with self._guard:
            request = S3Request(len(self.requests) + 1, method, target, length)
            self.requests.append(request)
        action = self.decide(request)
        self.actions[action] += 1
        if _field(head, b"expect"):
            client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            head = re.sub(rb"(?im)^expect:[^\r\n]*\r\n", b"", head)
        if action == CUT:
            while len(rest) < length // 2:
                rest += client.recv(_CHUNK)
            raise OSError("cut")
        body, rest = _body(client, rest, length)
        if action == STALL:
            time.sleep(60)
            raise OSError("no answer")
        if action == PRETEND:
            client.sendall(b'HTTP/1.1 200 OK\r\nETag: "1"\r\nContent-Length: 0\r\n\r\n')
            return rest
        if action in _REFUSALS:
            client.sendall(_refusal(*_REFUSALS[action], has_body=method != "HEAD"))
            return rest
        answer = self._ask(head, body, method)
        self.executed(request)
        if action == LOSE:
            raise OSError("lost")
        client.sendall(answer)
        return rest

    def _ask(self, head: bytes, body: bytes, method: str) -> bytes:
        """Return the whole answer of the server."""
        with socket.create_connection(("127.0.0.1", self._upstream), timeout=60) as server:
            lines = re.sub(rb"(?im)^connection:[^\r\n]*\r\n", b"", head)
            server.sendall(lines[:-2] + b"Connection: close\r\n\r\n" + body)
            answer = b""
            while piece := server.recv(_CHUNK):
                answer += piece
        front, _, content = answer.partition(b"\r\n\r\n")
        if front.startswith(b"HTTP/1.1 100"):
            front, _, content = content.partition(b"\r\n\r\n")
        front = re.sub(rb"(?im)^connection:[^\r\n]*\r\n?", b"", front + b"\r\n")
        if _field(front, b"transfer-encoding"):
            content = _joined(content)
            front = re.sub(rb"(?im)^transfer-encoding:[^\r\n]*\r\n", b"", front)
        if method != "HEAD" and not _field(front, b"content-length"):
            front += b"Content-Length: %d\r\n" % len(content)
        front = front.replace(b"HTTP/1.0", b"HTTP/1.1", 1)
        return _DATES.sub(self._shifted, front) + b"\r\n" + content

    def _shifted(self, found: re.Match[bytes]) -> bytes:
        if not self.skew:
            return found[0]
        moment = parsedate_to_datetime(found[2].decode("latin-1")) + self.skew
        return b"%b: %b" % (found[1], format_datetime(moment, usegmt=True).encode())


def _refusal(status: str, code: str, message: str, *, has_body: bool) -> bytes:
    text = f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/xml\r\nContent-Length: {len(text)}\r\n\r\n"
    return (head + (text if has_body else "")).encode()


def _head(client: socket.socket, rest: bytes) -> tuple[bytes, bytes]:
    while b"\r\n\r\n" not in rest:
        piece = client.recv(_CHUNK)
        if not piece:
            return b"", b""
        rest += piece
    head, _, rest = rest.partition(b"\r\n\r\n")
    return head + b"\r\n\r\n", rest


def _body(client: socket.socket, rest: bytes, length: int) -> tuple[bytes, bytes]:
    pieces, have = [rest], len(rest)
    while have < length:
        piece = client.recv(_CHUNK)
        if not piece:
            raise OSError("the client closed the connection")
        pieces.append(piece)
        have += len(piece)
    whole = b"".join(pieces)
    return whole[:length], whole[length:]


def _field(head: bytes, name: bytes) -> str:
    found = re.search(rb"(?im)^%b: *([^\r\n]*)" % name, head)
    return found[1].decode("latin-1") if found else ""


def _joined(content: bytes) -> bytes:
    """Return a chunked body as one piece."""
    pieces = []
    while content:
        size, _, content = content.partition(b"\r\n")
        length = int(size.split(b";")[0], 16)
        pieces.append(content[:length])
        content = content[length + 2 :]
    return b"".join(pieces)


@contextmanager
def proxied(port: int) -> Iterator[StoreProxy]:
    """Run a proxy in front of a server."""
    proxy = StoreProxy(port)
    threading.Thread(target=proxy.serve, daemon=True).start()
    try:
        yield proxy
    finally:
        proxy.close()
