"""Almost well-formed responses, and what must hold for the reply to any of them."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable

from tests.fetch.hostile_cases import CASES

from scoter.core.reply import Failed, Fetched, Gone, Moved, NotModified, Reply, Truncation, fetch_status
from scoter.fetch.decode import content_codings, decode
from scoter.fetch.queues.slots import slot_result

LIMIT = 64 * 1024
_TEXT = b"<html><title>x</title><p>hello world, hello world</p></html>"
_PACKED = gzip.compress(_TEXT * 20, mtime=0)

SOUND: tuple[bytes, ...] = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(_TEXT), _TEXT),
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\nX-T: 1\r\n\r\n" % (len(_TEXT), _TEXT),
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s" % (len(_PACKED), _PACKED),
    b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n%s" % zlib.compress(_TEXT),
    b'HTTP/1.0 200 OK\r\nServer: x\r\nSet-Cookie: a=b; Path=/\r\nETag: "1"\r\n\r\n%s' % _TEXT,
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    b"HTTP/1.1 301 Moved\r\nLocation: http://other.test/x?y#z\r\nContent-Length: 0\r\n\r\n",
    b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n',
    b"HTTP/1.1 429 Busy\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 503 Busy\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\nContent-Length: 0\r\n\r\n",
    b'HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm="a", nonce="b"\r\nContent-Length: 0\r\n\r\n',
)
CORPUS: tuple[bytes, ...] = SOUND + tuple(
    whole
    for case in CASES.values()
    if 0 < len(whole := b"".join(step for step in case.script if isinstance(step, bytes))) < 4_096
)
_TOKENS = (
    *(b"\r\n", b"\n", b"\r", b"\0", b":", b" ", b"\t", b"0", b"-1", b"%", b"\xff", b"HTTP/1.1 200 OK\r\n", b"\r\n\r\n"),
    *(b"Content-Length: 7\r\n", b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: br\r\n", b"Location: //x\r\n"),
    *(b"Connection: close\r\n", b"Connection: keep-alive\r\n", b"ffffffff\r\n", b"HTTP/1.1 103 Hints\r\n\r\n"),
)


def mutated(chance: random.Random) -> bytes:
    """Return a response of the corpus with a few accidents."""
    data = bytearray(chance.choice(CORPUS))
    for _ in range(chance.choice((0, 1, 1, 2, 3, 8))):
        at = chance.randrange(len(data) + 1)
        chance.choice(_ACCIDENTS)(data, at, chance)
    return bytes(data[: 2 * LIMIT])


def _flip(data: bytearray, at: int, chance: random.Random) -> None:
    if at < len(data):
        data[at] ^= 1 << chance.randrange(8)


def _insert(data: bytearray, at: int, chance: random.Random) -> None:
    data[at:at] = chance.choice(_TOKENS)


def _cut(data: bytearray, at: int, chance: random.Random) -> None:
    del data[at : at + chance.choice((1, 2, 8, 64))]


def _end(data: bytearray, at: int, chance: random.Random) -> None:
    del data[at:]


def _repeat(data: bytearray, at: int, chance: random.Random) -> None:
    data[at:at] = data[at : at + chance.randrange(1, 40)] * chance.choice((1, 2, 50, 500))


def _splice(data: bytearray, at: int, chance: random.Random) -> None:
    other = chance.choice(CORPUS)
    data[at:] = other[chance.randrange(len(other)) :]


def _noise(data: bytearray, at: int, chance: random.Random) -> None:
    data[at:at] = chance.randbytes(chance.choice((1, 4, 200)))


_ACCIDENTS: tuple[Callable[[bytearray, int, random.Random], None], ...] = (
    *(_flip, _flip, _insert, _insert, _cut, _end, _repeat, _splice, _noise),
)


def check(reply: Reply) -> None:
    """Raise when a reply is not one that the rest of the crawler can live with."""
    assert isinstance(reply, Fetched | Moved | NotModified | Gone | Failed)
    fetch_status(reply)
    slot_result(reply)
    exchange = reply.exchange
    if isinstance(reply, Gone | Failed):
        assert reply.reason not in ("broken_plugin", "stopped"), reply
    if exchange is None:
        return
    assert 100 <= exchange.status <= 999, exchange.status
    assert len(exchange.body) <= LIMIT
    if exchange.truncation is Truncation.UNSPECIFIED:
        assert exchange.status == 206 or isinstance(reply, Moved), exchange.response_head
    assert exchange.response_head.endswith((b"\r\n\r\n", b"\n\n", b"\n\r\n")), exchange.response_head[-80:]
    assert b"\0" not in exchange.response_head
    decoded = decode(exchange.body, content_codings(exchange.headers), LIMIT)
    assert len(decoded.body) <= LIMIT
