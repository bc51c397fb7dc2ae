"""One libcurl handle: its fixed options, the transfer that it is making, and what libcurl saw."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Protocol

import pycurl

from scoter.core.reply import Cut, Reason, Timings
from scoter.fetch.protocols.bodybudget import BodyBudget
from scoter.fetch.protocols.transfer import Ask, Limits, SocketCheck, Transferred

_IDLE = 30  # seconds after which an idle connection is not used again
_PAUSE: int = pycurl.WRITEFUNC_PAUSE
_NO_SOCKET: int = pycurl.SOCKET_BAD
_GO_AHEAD: int = pycurl.PREREQFUNC_OK
_HEAD_ENDS = (b"\r\n", b"\n")
_FEW_LINES = 64
_SHORT_LINE = 4_096
_BROKE = "the connection was closed instead of an answer"

_BROKEN = frozenset({16, 18, 55, 56, 92})  # the connection ended, or its stream in HTTP/2
_TLS_ERRORS = frozenset({35, 51, 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91, 98})
_REASONS: dict[int, Reason] = {
    5: Reason.UNRESOLVED,
    6: Reason.UNRESOLVED,
    7: Reason.UNREACHABLE,
    16: Reason.RESET,
    28: Reason.TIMEOUT,
    52: Reason.RESET,
    55: Reason.RESET,
    56: Reason.RESET,
    67: Reason.UNAUTHORIZED,
    78: Reason.NOT_FOUND,
    9: Reason.FORBIDDEN,
    92: Reason.RESET,
    97: Reason.UNREACHABLE,  # proxy handshake
    **dict.fromkeys(_TLS_ERRORS, Reason.TLS),
}


class Owner(Protocol):
    """What a handle needs of the loop that runs it."""

    loop: asyncio.AbstractEventLoop
    limits: Limits
    options: tuple[tuple[int, Any], ...]
    budget: BodyBudget
    opened: list[socket.socket]

    def tls_of(self, connection: int, seen: str) -> str: ...
    def end(self, curl: pycurl.Curl, error: int, message: str) -> None: ...


class Handle:
    """One libcurl handle, its fixed options, and the transfer it is making."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._budget = owner.budget
        self._limits = owner.limits
        self.charged = 0
        self.paused = False
        self.is_running = False
        self._used: tuple[int, ...] = ()
        self._headers: Sequence[str] | None = None
        self.is_tls = False
        self.curl = curl = pycurl.Curl()
        for option, value in (
            (pycurl.NOSIGNAL, 1),
            (pycurl.HTTP09_ALLOWED, 0),
            (pycurl.MAXAGE_CONN, _IDLE),
            (pycurl.DNS_CACHE_TIMEOUT, 0),  # names are resolved by us; libcurl only ever sees addresses
            (pycurl.CONNECTTIMEOUT_MS, _ms(self._limits.connect)),
            (pycurl.TIMEOUT_MS, _ms(self._limits.total) if self._limits.total else 0),
            (pycurl.LOW_SPEED_LIMIT, 1),
            (pycurl.LOW_SPEED_TIME, max(1, round(self._limits.silence.total_seconds()))),
            (pycurl.PROXY, ""),  # not what the environment says
            (pycurl.HEADERFUNCTION, self._take_head),
            (pycurl.WRITEFUNCTION, self._take_body),
            (pycurl.OPENSOCKETFUNCTION, self._open_socket),
            (pycurl.PREREQFUNCTION, self._note_asked),
            (pycurl.DEBUGFUNCTION, self._listen),
            *owner.options,
        ):
            curl.setopt(option, value)
        self._reset()

    def _reset(self) -> None:
        self._lines: list[bytes] = []
        self._head_lines = 0  # how many there were when the body began; what follows are trailers
        self._head_size = 0  # not weighed as long as the lines are few and short
        self._body: list[bytes] = []
        self._size = 0
        self._cut = Cut.NOT
        self._refused = ""
        self._asked = False
        self._broke = ""
        self._flooded = ""
        self._tls_seen = ""
        self._check: SocketCheck | None = None

    def start(self, ask: Ask) -> None:
        """Set the handle up for one transfer."""
        self.waited: asyncio.Future[tuple[int, str]] = self._owner.loop.create_future()
        self._check = ask.check
        curl = self.curl
        curl.setopt(pycurl.URL, ask.url)
        if ask.headers is not self._headers:
            self._headers = ask.headers
            curl.setopt(pycurl.HTTPHEADER, list(ask.headers))
        curl.setopt(pycurl.CONNECT_TO, [ask.connect_to] if ask.connect_to else [])
        for option in self._used:
            curl.unsetopt(option)
        for option, value in ask.options:
            curl.setopt(option, value)
        self._used = tuple(option for option, _ in ask.options)
        self._is_http = ask.url.startswith("http")
        was_tls, self.is_tls = self.is_tls, ask.url.startswith("https:")
        if self.is_tls != was_tls:
            curl.setopt(pycurl.VERBOSE, self.is_tls)  # only libcurl's own messages tell the TLS version
        if self.is_tls:
            curl.setopt(pycurl.SSL_VERIFYPEER, int(ask.verify))
            curl.setopt(pycurl.SSL_VERIFYHOST, 2 if ask.verify else 0)

    def clear(self) -> None:
        """Forget the transfer, so that a waiting handle holds no body."""
        self._budget.release(self)
        self.paused = False
        self._reset()

    def resume(self) -> None:
        if self.waited.done():
            return
        try:
            self.curl.pause(pycurl.PAUSE_CONT)
        except pycurl.error as error:  # what libcurl had kept was too much, and the multi handle will not hear of it
            self._owner.end(self.curl, *error.args)

    def outcome(self, error: int, message: str) -> Transferred:
        """Return what libcurl saw."""
        curl = self.curl
        head = self._head()
        reason, cut = self._judge(error, message, bool(head))
        connection = curl.getinfo(pycurl.CONN_ID) if self.is_tls else -1
        return Transferred(
            reason=reason,
            detail=self._refused or self._flooded or self._broke or message or _told(error),
            status=curl.getinfo(pycurl.RESPONSE_CODE),
            head=head,
            body=self._body[0] if len(self._body) == 1 else b"".join(self._body),
            cut=cut,
            peer=curl.getinfo(pycurl.PRIMARY_IP),
            http_version=_VERSIONS.get(curl.getinfo(pycurl.INFO_HTTP_VERSION), "1.1"),
            tls_version=self._owner.tls_of(connection, self._tls_seen) if self.is_tls else "",
            timings=Timings(
                resolved=curl.getinfo(pycurl.NAMELOOKUP_TIME),
                connected=curl.getinfo(pycurl.CONNECT_TIME),
                secured=curl.getinfo(pycurl.APPCONNECT_TIME),
                first_byte=curl.getinfo(pycurl.STARTTRANSFER_TIME),
                total=curl.getinfo(pycurl.TOTAL_TIME),
            ),
        )

    def _judge(self, error: int, message: str, has_head: bool) -> tuple[Reason | None, Cut]:
        if self._refused:
            return Reason.REFUSED_ADDRESS, Cut.NOT
        if self._broke:
            return Reason.RESET, Cut.NOT
        if self._flooded or any(b"\0" in line for line in self._lines):
            return Reason.MALFORMED, Cut.NOT  # libcurl lets a NUL pass where it takes a line for an empty one
        if error == pycurl.E_OK and not has_head and self._is_http:
            return Reason.RESET, Cut.NOT  # libcurl is content with a head that breaks off between two lines
        if error == pycurl.E_OK or self._cut is Cut.LENGTH:
            return None, self._cut
        if error == pycurl.E_RECV_ERROR and "chunk" in message:
            return Reason.MALFORMED, Cut.NOT  # libcurl has one error for a broken connection and for a bad chunk
        if error in _BROKEN and has_head:
            return None, Cut.DISCONNECT
        if error == pycurl.E_OPERATION_TIMEDOUT and has_head:
            return Reason.TIMEOUT, Cut.TIME
        return _REASONS.get(error, Reason.MALFORMED), Cut.NOT

    def _take_head(self, line: bytes) -> int | None:
        lines = self._lines
        lines.append(line)
        if len(lines) <= _FEW_LINES and len(line) <= _SHORT_LINE and not self._head_size:
            return None
        # Provisional heads and trailers count too, so that a flood of them ends.
        self._head_size = self._head_size + len(line) if self._head_size else sum(map(len, lines))
        if self._head_size <= self._limits.head:
            return None
        self._flooded = f"more than {self._limits.head:,} bytes of headers"
        return 0

    def _head(self) -> bytes:
        """Return the head of the last response, without provisional ones and trailers; nothing if it broke off."""
        if not self._is_http:
            return b"".join(self._lines)
        lines = self._lines[: self._head_lines] if self._body else self._lines
        if not lines or lines[-1] not in _HEAD_ENDS:
            return b""
        heads: list[list[bytes]] = [[]]
        for line in lines:
            heads[-1].append(line)
            if line in _HEAD_ENDS:
                heads.append([])
        return next((b"".join(head) for head in reversed(heads) if head and head[0][:5].upper() == b"HTTP/"), b"")

    def _take_body(self, data: bytes) -> int | None:
        limit = self._limits.body
        room = len(data) if limit is None else limit - self._size
        if len(data) > room:
            data = data[:room]
            self._cut = Cut.LENGTH
        if data and not self._budget.take(self, len(data)):
            self.paused = True
            self._cut = Cut.NOT
            return _PAUSE
        if not self._body:
            self._head_lines = len(self._lines)
        self._size += len(data)
        self._body.append(data)
        return 0 if self._cut is Cut.LENGTH else None

    def _note_asked(self, *where: object) -> int:
        self._asked = self._is_http  # FTP has a connection for each file
        return _GO_AHEAD

    def _open_socket(self, purpose: int, address: Any) -> socket.socket | int:
        if self._asked and not self._used:
            # libcurl asks again at once when a connection that it used before broke; that would need another turn of
            # the host. Proxies and authentication, which have options of their own, may need another connection.
            self._broke = _BROKE
            return _NO_SOCKET
        family, kind, protocol, where = address
        refusal = self._check(family, where) if self._check is not None else ""
        if refusal:
            self._refused = refusal
            return _NO_SOCKET
        opened = socket.socket(family, kind, protocol)
        self._owner.opened.append(opened)
        return opened

    def _listen(self, kind: int, data: bytes) -> None:
        if kind == pycurl.INFOTYPE_TEXT and data.startswith(b"SSL connection using "):
            self._tls_seen = data[21:].split(None, 1)[0].decode("ascii", "replace")


_VERSIONS = {
    pycurl.CURL_HTTP_VERSION_1_0: "1.0",
    pycurl.CURL_HTTP_VERSION_1_1: "1.1",
    pycurl.CURL_HTTP_VERSION_2_0: "2",
    pycurl.CURL_HTTP_VERSION_3: "3",
}


def _told(error: int) -> str:
    return f"libcurl error {error}" if error else ""


def _ms(duration: timedelta) -> int:
    return max(1, round(duration.total_seconds() * 1000))
