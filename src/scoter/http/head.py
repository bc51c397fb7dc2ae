"""The head of a request: how large and slow it may be, and which host it names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import httptools

from scoter.config.sections.live import WebSettings


class HeadTooLarge(Exception):
    """Stops the parser in the middle of a head."""


class WrongHost(Exception):
    """Stops the parser at the end of a head."""


class HeadWatch:
    """Limits the size of a head, and the time in which it must arrive, after which it calls ``on_timeout``.

    The bytes that arrived are counted, since the parser may hold back a field, and those that the parser has reported,
    since a head may arrive together with other requests.
    """

    def __init__(self, limits: WebSettings, loop: asyncio.AbstractEventLoop, on_timeout: Callable[[], None]) -> None:
        self._limits = limits
        self._loop = loop
        self._on_timeout = on_timeout
        self._timer: asyncio.TimerHandle | None = None
        self._parsed = 0
        self._arrived = 0
        self.is_open = True
        self.start_timer()

    @property
    def has_begun(self) -> bool:
        """Whether a part of a head has arrived."""
        return self._arrived > 0

    @property
    def is_too_large(self) -> bool:
        return max(self._parsed, self._arrived) > self._limits.head_size

    def begin(self) -> None:
        self.is_open = True
        self._parsed = 0

    def complete(self) -> None:
        self.is_open = False
        self._arrived = 0

    def add_parsed(self, more: int) -> None:
        self._parsed += more
        if self._parsed > self._limits.head_size:
            raise HeadTooLarge

    def add_arrived(self, more: int) -> None:
        self._arrived += more

    def start_timer(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(self._limits.head_time.total_seconds(), self._time_out)

    def stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        self._timer = None
        self._on_timeout()


def check_host(headers: Sequence[tuple[bytes, bytes]], version: str) -> None:
    """Raise unless there is one Host header, which only HTTP/1.0 may omit (RFC 9112 3.2)."""
    hosts = [name for name, _ in headers].count(b"host")
    if hosts != 1 and (hosts or version != "1.0"):
        raise WrongHost


def with_authority(target: bytes, headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return headers with the authority of an absolute target in place of the Host header (RFC 9112 3.2.2).

    >>> with_authority(b"http://a.example:81/x", [(b"host", b"b.example"), (b"accept", b"*/*")])
    [(b'host', b'a.example:81'), (b'accept', b'*/*')]
    """
    try:
        found = httptools.parse_url(target)
    except httptools.HttpParserInvalidURLError:
        found = None
    if found is None or not found.host or found.schema.lower() not in (b"http", b"https"):
        raise WrongHost
    host = b"[%b]" % found.host if b":" in found.host else found.host
    if found.port:
        host += b":%d" % found.port
    return [(name, host if name == b"host" else value) for name, value in headers]


def without_upgrade(method: bytes, target: bytes, version: str, headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Return a head without its offer to upgrade the protocol.

    >>> without_upgrade(b"GET", b"/", "1.1", [(b"host", b"a.example"), (b"upgrade", b"h2c")])
    b'GET / HTTP/1.1\\r\\nhost: a.example\\r\\n\\r\\n'
    """
    fields = (b"%b: %b\r\n" % field for field in headers if field[0] != b"upgrade")
    return b"%b %b HTTP/%b\r\n" % (method, target, version.encode()) + b"".join(fields) + b"\r\n"
