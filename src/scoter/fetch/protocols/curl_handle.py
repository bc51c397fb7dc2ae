"""A libcurl handle and the transfer it makes, and the memory budget for bodies."""

from __future__ import annotations

import asyncio
import re
import socket
import sys
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final, Protocol

import pycurl

from scoter.core.display import size
from scoter.core.reply import Reason, Timings, Truncation
from scoter.fetch.protocols.transfers import HEAD_ONLY, TransferLimits, TransferRequest, TransferResult

_IDLE: Final = 30  # seconds after which an idle connection is not reused
_PAUSE: Final[int] = pycurl.WRITEFUNC_PAUSE
_NO_SOCKET: Final[int] = pycurl.SOCKET_BAD
_GO_AHEAD: Final[int] = pycurl.PREREQFUNC_OK
_HEAD_ENDS: Final = (b"\r\n", b"\n")
_URL: Final[int] = pycurl.URL
_CONNECT_TO: Final[int] = pycurl.CONNECT_TO
_STATUS: Final[int] = pycurl.RESPONSE_CODE
_PEER: Final[int] = pycurl.PRIMARY_IP
_VERSION: Final[int] = pycurl.INFO_HTTP_VERSION
_FIRST_BYTE: Final[int] = pycurl.STARTTRANSFER_TIME
_TOTAL: Final[int] = pycurl.TOTAL_TIME
_SWITCHING: Final = 101
_DURATION: Final = re.compile(r" after \d+ (?:ms|milliseconds)\b")
_BROKE: Final = "the connection was closed without an answer"

_BROKEN: Final = frozenset({16, 18, 55, 56, 92})  # the connection ended, or its stream in HTTP/2
_DISTRUST: Final = frozenset({51, 60})
_BAD_FRAMING: Final = frozenset({8, 61})  # an invalid Content-Length or Transfer-Encoding
_SAME_CONNECTION: Final = frozenset({pycurl.HTTP_VERSION, *(option for option, _ in HEAD_ONLY)})
_WANTS_HTTP_1: Final = "the server accepts only HTTP/1.1 for this"
_TLS_ERRORS: Final = frozenset({35, 51, 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91, 98})
_REASONS: Final[dict[int, Reason]] = {
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
_VERSIONS: Final = {
    pycurl.CURL_HTTP_VERSION_1_0: "1.0",
    pycurl.CURL_HTTP_VERSION_1_1: "1.1",
    pycurl.CURL_HTTP_VERSION_2_0: "2",
    pycurl.CURL_HTTP_VERSION_3: "3",
}


class BodyBudget:
    """Bounds the bytes of all bodies in memory; further transfers pause until others have finished.

    One paused transfer may always go on, so that they cannot all wait for each other: the budget may be exceeded by
    one body.
    """

    def __init__(self, limit: int, soon: Callable[..., object]) -> None:
        self._limit = limit
        self._soon = soon
        self._held = 0
        self._paused: deque[CurlHandle] = deque()
        self._exempt: CurlHandle | None = None

    def __repr__(self) -> str:
        return f"{self._held:,} of {self._limit:,} body bytes, {len(self._paused)} paused"

    def take(self, handle: CurlHandle, size: int) -> bool:
        """Charge a transfer for more bytes; return false if it must pause first."""
        if self._held + size > self._limit:
            if self._exempt is None:
                self._exempt = handle
            if self._exempt is not handle:
                self._paused.append(handle)
                return False
        self._held += size
        handle.charged += size
        return True

    def release(self, handle: CurlHandle) -> None:
        """Release the bytes of a transfer, and let paused ones go on."""
        self._held -= handle.charged
        handle.charged = 0
        if self._exempt is handle:
            self._exempt = None
        while self._paused and (self._exempt is None or self._held < self._limit):
            waiting = self._paused.popleft()
            if waiting.paused:
                if self._exempt is None and self._held >= self._limit:
                    self._exempt = waiting
                waiting.paused = False
                self._soon(waiting.resume)
            if self._exempt is not None and self._held >= self._limit:
                break


class HandleOwner(Protocol):
    """What a handle needs from the loop that runs it."""

    loop: asyncio.AbstractEventLoop
    limits: TransferLimits
    options: tuple[tuple[int, Any], ...]
    budget: BodyBudget

    def tls_of(self, connection: int, seen: str) -> str: ...
    def note_opened(self, opened: socket.socket) -> None: ...
    def end(self, curl: pycurl.Curl, error: int, message: str) -> None: ...


class CurlHandle:
    """One libcurl handle, its fixed options, and the transfer in progress."""

    def __init__(self, owner: HandleOwner, options: tuple[tuple[int, Any], ...] = ()) -> None:
        """``options`` apply to all transfers of this handle."""
        self._owner = owner
        self.options = options
        # Proxies and authentication may need another connection for one request.
        self._may_reconnect = any(option not in _SAME_CONNECTION for option, _ in options)
        self._budget = owner.budget
        self._limits = owner.limits
        self._default_limit = owner.limits.body if owner.limits.body is not None else sys.maxsize
        self._lines: list[bytes] = []  # of all heads and of trailers
        self.charged = 0
        self.paused = False
        self.is_running = False
        self._headers: Sequence[str | bytes] | None = None
        self._cookie = ""
        self.is_tls = False
        self.curl = curl = pycurl.Curl()
        for option, value in (
            (pycurl.NOSIGNAL, 1),
            (pycurl.HTTP09_ALLOWED, 0),
            (pycurl.MAXAGE_CONN, _IDLE),
            (pycurl.DNS_CACHE_TIMEOUT, 0),  # we resolve names; libcurl only sees addresses
            (pycurl.CONNECTTIMEOUT_MS, _ms(self._limits.connect)),
            (pycurl.TIMEOUT_MS, _ms(self._limits.total) if self._limits.total else 0),
            (pycurl.LOW_SPEED_LIMIT, 1),
            (pycurl.LOW_SPEED_TIME, max(1, round(self._limits.silence.total_seconds()))),
            (pycurl.PROXY, ""),  # ignore the environment
            # Called for every line, so not a Python function; libcurl itself ends a flood at 300 KiB.
            (pycurl.HEADERFUNCTION, self._lines.append),
            (pycurl.WRITEFUNCTION, self._take_body),
            (pycurl.OPENSOCKETFUNCTION, self._open_socket),
            (pycurl.PREREQFUNCTION, self._note_asked),
            (pycurl.DEBUGFUNCTION, self._listen),
            *owner.options,
            *options,
        ):
            # pycurl takes only ASCII text; RFC 7617 2.1 wants names and passwords in UTF-8.
            curl.setopt(option, value.encode() if isinstance(value, str) else value)
        self._reset()

    def _reset(self) -> None:
        self._lines.clear()
        self._line_bytes = 0  # counted for FTP only
        self._head_lines = 0  # lines before the body; those after it are trailers
        self._body: list[bytes] = []
        self._size = 0
        self._cut = Truncation.NOT
        self._asked = False
        self._has_connected = False
        self._fault: tuple[Reason, str] | None = None  # why we ended the transfer
        self._tls_seen = ""
        self._wants_http_1 = False

    def start(self, transfer: TransferRequest) -> None:
        """Set the handle up for one transfer."""
        self.waited: asyncio.Future[tuple[int, str]] = self._owner.loop.create_future()
        self._check = transfer.check
        self._limit = max(self._default_limit, transfer.at_least)
        if transfer.at_most:
            self._limit = min(self._limit, transfer.at_most)
        curl, url = self.curl, transfer.url
        curl.setopt(_URL, url)
        if transfer.headers is not self._headers:
            self._headers = transfer.headers
            curl.setopt(pycurl.HTTPHEADER, list(transfer.headers))
        if transfer.cookie != self._cookie:
            self._use_cookie(transfer.cookie)
        curl.setopt(_CONNECT_TO, [transfer.connect_to] if transfer.connect_to else [])
        self._is_http = url.startswith("http")
        if not self._is_http:
            curl.setopt(pycurl.HEADERFUNCTION, self._take_line)  # libcurl does not limit the answers of FTP servers
        is_tls = url.startswith("https:")
        if is_tls or self.is_tls:
            self._use_tls(is_tls, transfer.verify)

    def _use_cookie(self, cookie: str) -> None:
        self._cookie = cookie
        if cookie:
            self.curl.setopt(pycurl.COOKIE, cookie.encode("latin-1", errors="replace"))
        else:
            self.curl.unsetopt(pycurl.COOKIE)

    def _use_tls(self, is_tls: bool, verify: bool) -> None:
        if is_tls is not self.is_tls:
            self.is_tls = is_tls
            self.curl.setopt(pycurl.VERBOSE, is_tls)  # only libcurl's messages tell the TLS version
        if is_tls:
            self.curl.setopt(pycurl.SSL_VERIFYPEER, int(verify))
            self.curl.setopt(pycurl.SSL_VERIFYHOST, 2 if verify else 0)

    def clear(self) -> None:
        """Forget the transfer, so that an idle handle holds no body."""
        self.paused = False
        self._reset()

    def resume(self) -> None:
        if not self.is_running:
            return
        try:
            self.curl.pause(pycurl.PAUSE_CONT)
        except pycurl.error as error:  # libcurl's buffer was too full; the multi handle does not report this
            self._owner.end(self.curl, *error.args)

    def outcome(self, error: int, message: str) -> TransferResult:
        """Return the result of the transfer."""
        getinfo = self.curl.getinfo
        lines = b"".join(self._lines)
        if max(len(lines), self._line_bytes) > self._limits.head:
            self._fault = Reason.MALFORMED, f"more than {size(self._limits.head)} of headers"
        status = getinfo(_STATUS)
        is_head_cut = error in _BAD_FRAMING and 300 <= status < 400
        if is_head_cut:
            self._lines.append(_HEAD_ENDS[0])  # libcurl ends within the head, but the target of a redirect may be there
        head = self._head(lines) if self._has_answered(status) else b""
        reason, cut = self._judge(error, message, lines, bool(head))
        version = "1.1"
        if not head.startswith(b"HTTP/1.1 "):
            version = _VERSIONS.get(getinfo(_VERSION), "1.1")
            if head.startswith((b"HTTP/2 ", b"HTTP/3 ")):  # written by libcurl: these versions have no status line
                head = b"HTTP/1.1 " + head.partition(b" ")[2]
        return TransferResult(
            reason=reason,
            detail=self._detail(error, message),
            status=status,
            head=head,
            body=self._body[0] if len(self._body) == 1 else b"".join(self._body),
            truncation=cut,
            peer=getinfo(_PEER),
            http_version=version,
            tls_version=self._owner.tls_of(getinfo(pycurl.CONN_ID), self._tls_seen) if self.is_tls else "",
            timings=self._timings(),
            is_untrusted=error in _DISTRUST,
            wants_http_1=self._wants_http_1,
            is_head_cut=is_head_cut,
        )

    def _detail(self, error: int, message: str) -> str:
        """Return the words for a failure, which are the same each time it happens: without libcurl's duration."""
        if self._fault is not None:
            return self._fault[1]
        return _DURATION.sub("", message) or (f"libcurl error {error}" if error else "")

    def _has_answered(self, status: int) -> bool:
        """Tell whether a final response came: not just 103, or a proxy's answer to CONNECT, which has no status."""
        return status >= 200 or status == _SWITCHING or not self._is_http

    def _timings(self) -> Timings:
        getinfo = self.curl.getinfo
        first_byte, total = getinfo(_FIRST_BYTE), getinfo(_TOTAL)
        if not self._has_connected:
            return Timings(first_byte=first_byte, total=total)
        return Timings(
            resolved=getinfo(pycurl.NAMELOOKUP_TIME),
            connected=getinfo(pycurl.CONNECT_TIME),
            secured=getinfo(pycurl.APPCONNECT_TIME),
            first_byte=first_byte,
            total=total,
        )

    def _judge(self, error: int, message: str, lines: bytes, has_head: bool) -> tuple[Reason | None, Truncation]:
        if self._fault is not None:
            return self._fault[0], Truncation.NOT
        if b"\0" in lines:
            return Reason.MALFORMED, Truncation.NOT  # libcurl accepts a NUL where it takes a line for empty
        if error == pycurl.E_OK and not has_head and self._is_http:
            return Reason.RESET, Truncation.NOT  # libcurl accepts a head that breaks off between two lines
        if error == pycurl.E_OK or self._cut is Truncation.LENGTH:
            return None, self._cut
        if error in _BAD_FRAMING or (error == pycurl.E_RECV_ERROR and "chunk" in message):
            # libcurl has the second error for a broken connection, too.
            return Reason.MALFORMED, Truncation.UNSPECIFIED if has_head else Truncation.NOT
        if error in _BROKEN and has_head:
            return None, Truncation.DISCONNECT
        if error == pycurl.E_OPERATION_TIMEDOUT and has_head:
            return Reason.TIMEOUT, Truncation.TIME
        return _REASONS.get(error, Reason.MALFORMED), Truncation.NOT

    def _head(self, whole: bytes) -> bytes:
        """Return the head of the final response, without 1xx responses and trailers; empty if it broke off."""
        if not self._is_http:
            return whole
        lines = self._lines[: self._head_lines] if self._body else self._lines
        if not lines or lines[-1] not in _HEAD_ENDS:
            return b""
        if len(lines) == len(self._lines) and _is_one_head(whole):
            return whole
        heads: list[list[bytes]] = [[]]
        for line in lines:
            heads[-1].append(line)
            if line in _HEAD_ENDS:
                heads.append([])
        return next((b"".join(head) for head in reversed(heads) if head and head[0][:5].upper() == b"HTTP/"), b"")

    def _take_line(self, line: bytes) -> int | None:
        self._line_bytes += len(line)
        if self._line_bytes > self._limits.head:
            return -1  # ``outcome`` reports it
        self._lines.append(line)
        return None

    def _take_body(self, data: bytes) -> int | None:
        size = self._size + len(data)
        if size > self._limit:
            return self._take_last(data[: self._limit - self._size])
        if not self._budget.take(self, len(data)):
            self.paused = True
            return _PAUSE
        if not self._body:
            self._head_lines = len(self._lines)
        self._size = size
        self._body.append(data)
        return None

    def _take_last(self, data: bytes) -> int:
        """Take what fits of a body that is too long, and end the transfer."""
        if data and self._take_body(data) is not None:
            return _PAUSE
        self._cut = Truncation.LENGTH
        return 0

    def _note_asked(self, *where: object) -> int:
        self._asked = self._is_http  # FTP opens a connection for each file
        return _GO_AHEAD

    def _open_socket(self, purpose: int, address: Any) -> socket.socket | int:
        if self._asked and not self._may_reconnect:
            # libcurl repeats a request at once if a reused connection broke, or the server wants HTTP/1.1; that would
            # need another slot of the host.
            self._fault = Reason.RESET, _WANTS_HTTP_1 if self._wants_http_1 else _BROKE
            return _NO_SOCKET
        family, kind, protocol, where = address
        refusal = self._check(family, where) if self._check is not None else ""
        if refusal:
            self._fault = Reason.REFUSED_ADDRESS, refusal
            return _NO_SOCKET
        self._has_connected = True
        opened = socket.socket(family, kind, protocol)
        self._owner.note_opened(opened)
        return opened

    def _listen(self, kind: int, data: bytes) -> None:
        if kind == pycurl.INFOTYPE_TEXT:
            if data.startswith(b"SSL connection using "):
                self._tls_seen = data[21:].split(None, 1)[0].decode("ascii", "replace")
            elif data.startswith(b"Downgrades to HTTP/1.1"):
                self._wants_http_1 = True


def _is_one_head(lines: bytes) -> bool:
    """Tell whether the lines are one head: they start with HTTP/ and only the last line is empty."""
    return lines.startswith(b"HTTP/") and lines.find(b"\n\r\n") == len(lines) - 3 and b"\n\n" not in lines


def _ms(duration: timedelta) -> int:
    return max(1, round(duration.total_seconds() * 1000))
