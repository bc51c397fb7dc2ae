"""The protocol plug-in for ftp: URLs, on libcurl: files as they are, folders as pages of links.

Transfers are passive, and always go to the address of the control connection: an answer to PASV that names another
machine has no effect. The guard checks every socket, for commands and for data.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from enum import Enum
from ipaddress import ip_address
from typing import Any
from urllib.parse import unquote_to_bytes

import pycurl
from msgspec.structs import replace

from scoter.core.bounded import BoundedMap
from scoter.core.dates import parse_date
from scoter.core.domain import is_ip
from scoter.core.reply import (
    Exchange,
    Failed,
    Fetched,
    Gone,
    Headers,
    Moved,
    NotModified,
    Reason,
    Reply,
    Request,
    Truncation,
)
from scoter.core.url import Url, canonical
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.resolver import CachingResolver, DnsResolver, NotResolved, Resolver
from scoter.fetch.protocols.curl_loop import CurlLoop
from scoter.fetch.protocols.listings import link_page, media_type, read_list, read_mlsd
from scoter.fetch.protocols.sites import route
from scoter.fetch.protocols.transfers import SocketCheck, TransferLimits, TransferRequest, TransferResult
from scoter.plugins import Setup

PORT = 21
_KNOWN_HOSTS = 10_000
_LOWEST_DATA_PORT = 1_024

_MDTM = re.compile(rb"^213 ([0-9]{14})(?:\.[0-9]+)?\s*$", re.MULTILINE)
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
_BUSY = frozenset({421, 120})  # too many connections, not ready yet
_NO_SUCH_COMMAND = frozenset({500, 501, 502, 504})


class _FtpTransfer(Enum):
    """Kinds of transfers; each sets libcurl options that a handle cannot unset."""

    FILE = "file"
    FOLDER = "folder"
    PROBE = "probe"  # enters the folder and asks for the time, without data


class FtpProtocol:
    """Fetches files and folders over FTP."""

    schemes: tuple[str, ...] = ("ftp",)

    def __init__(
        self,
        setup: Setup,
        *,
        resolver: Resolver | None = None,
        guard: Guard | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._config = setup.config
        self._settings = setup.config.ftp
        self._guard = guard or Guard(setup.config, self.schemes)
        self._resolver = resolver or CachingResolver(DnsResolver(), self._guard)
        self._now = now
        self._loops: dict[_FtpTransfer, CurlLoop] = {}
        self._without_mlsd: BoundedMap[str, bool] = BoundedMap(_KNOWN_HOSTS)

    async def fetch(self, request: Request) -> Reply:
        """Fetch one file or folder."""
        url = request.url
        refusal = self._guard.check_url(url)
        if refusal is not None:
            return Failed(url, refusal.reason, refusal.detail, blames_host=False)
        if _CONTROL.search(unquote_to_bytes(url.path)):
            return Gone(url, Reason.BAD_REQUEST, "the path contains a line break, which would start a new command")
        if url.query:
            return Gone(url, Reason.BAD_REQUEST, "an ftp: URL has no query")
        where = await self._address(url)
        if isinstance(where, Failed):
            return where
        if url.path.endswith("/"):
            return await self._folder(url, where)
        return await self._file(request, where)

    async def close(self) -> None:
        """Close all connections."""
        for loop in self._loops.values():
            loop.close()
        self._loops.clear()

    async def _address(self, url: Url) -> tuple[str, int, bool] | Failed:
        """Return where to connect, and whether ``fetch.connect_to`` determined it."""
        port = url.port or PORT
        override = self._guard.override(url.host, port)
        if override is not None:
            return (*override, True)
        if is_ip(url.host):
            return url.host.strip("[]"), port, False
        answer = await self._resolver.resolve(url.host.removesuffix("."))
        if isinstance(answer, NotResolved):
            if answer.refused:
                return Failed(url, Reason.REFUSED_ADDRESS, answer.reason, blames_host=False)
            return Failed(url, Reason.UNRESOLVED, answer.reason)
        return answer.addresses[0], port, False

    async def _file(self, request: Request, where: tuple[str, int, bool]) -> Reply:
        url, started, known = request.url, self._now(), parse_date(request.last_modified)
        if known is not None:
            probed = await self._transfer(_FtpTransfer.PROBE, url.path, url, where)
            modified = _modified(probed.head)
            if probed.reason is None and modified == known:
                return NotModified(_exchange(url, started, probed, 304, _last_modified(modified), b""))
        result = await self._transfer(_FtpTransfer.FILE, url.path, url, where)
        if result.reason is None and result.truncation is not Truncation.DISCONNECT:
            kind = media_type(unquote_to_bytes(url.path).decode("utf-8", "replace"))
            headers = (("Content-Type", kind), *_last_modified(_modified(result.head)))
            return Fetched(_exchange(url, started, result, 200, headers, result.body))
        failure = _failure(url, result)
        if isinstance(failure, Gone) and failure.reason is Reason.NOT_FOUND:
            # Servers answer alike for a missing file and for a folder: only entering it tells them apart.
            entered = await self._transfer(_FtpTransfer.PROBE, f"{url.path}/", url, where)
            if entered.reason is None:
                target = canonical(f"{url.text}/")
                return Moved(_exchange(url, started, entered, 301, (("Location", target.text),), b""), target, True)
        return failure

    async def _folder(self, url: Url, where: tuple[str, int, bool]) -> Reply:
        started = self._now()
        result = TransferResult(reason=Reason.MALFORMED, status=500)
        read = read_mlsd
        if url.host not in self._without_mlsd:
            result = await self._transfer(_FtpTransfer.FOLDER, url.path, url, where, "MLSD")
        if result.reason is not None and result.status in _NO_SUCH_COMMAND:
            self._without_mlsd.put(url.host, True)
            read = read_list
            result = await self._transfer(_FtpTransfer.FOLDER, url.path, url, where, "LIST")
        if result.reason is not None or result.truncation is Truncation.DISCONNECT:
            return _failure(url, result)
        text = result.body if result.truncation is Truncation.NOT else result.body[: result.body.rfind(b"\n") + 1]
        page = link_page(unquote_to_bytes(url.path), read(text), parent=False, limit=self._settings.content_limit)
        headers = (("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(page.body))))
        exchange = _exchange(url, started, result, 200, headers, page.body)
        return Fetched(exchange if page.truncation is Truncation.NOT else replace(exchange, truncation=page.truncation))

    async def _transfer(
        self, kind: _FtpTransfer, path: str, url: Url, where: tuple[str, int, bool], command: str = ""
    ) -> TransferResult:
        address, port, is_override = where
        # libcurl would take ";type=a" at the end of a path for a request to convert line ends.
        origin = url.text[: -len(url.target)]
        result = await self._loop(kind).run(
            TransferRequest(
                url=f"{origin}{path.replace(';', '%3B')}",
                connect_to=route(url.host, url.port or PORT, address, port),
                # Always with an option: otherwise the loop would take the data socket for a repeated request.
                options=((pycurl.CUSTOMREQUEST, command),) if command else ((pycurl.COOKIE, ""),),
                check=self._socket_check(address, port, is_override),
            )
        )
        # libcurl reports success, but the loop misses the head of an HTTP response.
        return replace(result, reason=None) if result.reason is Reason.RESET and not result.detail else result

    def _socket_check(self, address: str, port: int, is_override: bool) -> SocketCheck:
        """Return the check for both sockets; the server chooses the port of the data socket."""
        control = ip_address(address)

        def check(family: int, where: tuple[Any, ...]) -> str:
            match where:
                case (str() as host, int() as to, *_) if ip_address(host) == control:
                    if to != port and to < _LOWEST_DATA_PORT:
                        return f"port {to} belongs to another service and is not used for data"
                    return "" if is_override else self._guard.open_socket_check(family, where)
                case _:
                    return "the server names another machine for the data"

        return check

    def _loop(self, kind: _FtpTransfer) -> CurlLoop:
        found = self._loops.get(kind)
        if found is None:
            settings, fetch = self._settings, self._config.fetch
            limits = TransferLimits(
                body=settings.content_limit,
                connect=settings.timeout,
                silence=settings.timeout,
                total=self._config.http.time_limit,
            )
            options: list[tuple[int, object]] = [
                (pycurl.PROTOCOLS, pycurl.PROTO_FTP),
                (pycurl.USERNAME, settings.username),
                (pycurl.PASSWORD, settings.password),
                (pycurl.FTP_SKIP_PASV_IP, 1),
                (pycurl.FTP_FILEMETHOD, pycurl.FTPMETHOD_SINGLECWD),
                (pycurl.FTP_RESPONSE_TIMEOUT, max(1, round(settings.timeout.total_seconds()))),
                (pycurl.FORBID_REUSE, int(not settings.keep_connection)),
                (pycurl.OPT_FILETIME, int(kind is not _FtpTransfer.FOLDER)),
                (pycurl.NOBODY, int(kind is _FtpTransfer.PROBE)),
            ]
            found = CurlLoop(limits, concurrency=fetch.threads, budget=fetch.body_budget, options=options)
            self._loops[kind] = found
        return found


def _failure(url: Url, result: TransferResult) -> Gone | Failed:
    """Return what a failed transfer means; the server's status says more than libcurl's error."""
    last = result.head.strip().rpartition(b"\n")[2].decode("latin-1").strip()
    detail = last if result.status >= 400 and last.startswith(str(result.status)) else result.detail
    if result.status in _BUSY:
        return Failed(url, Reason.BUSY, detail)  # which libcurl reports as a timeout
    if result.reason in (Reason.REFUSED_ADDRESS, Reason.TIMEOUT, Reason.UNREACHABLE, Reason.UNRESOLVED):
        return Failed(url, result.reason, result.detail, blames_host=result.reason is not Reason.REFUSED_ADDRESS)
    match result.status:
        case 530 | 332 | 532:
            return Gone(url, Reason.UNAUTHORIZED, detail)
        case 550 if "denied" in detail.lower() or "permission" in detail.lower():
            return Failed(url, Reason.FORBIDDEN, detail, blames_host=False)
        case 550 | 553:
            return Gone(url, Reason.NOT_FOUND, detail)
        case status if 400 <= status < 500:
            return Failed(url, Reason.SERVER_ERROR, detail)
        case _ if result.truncation is Truncation.DISCONNECT or result.body:
            return Failed(url, Reason.RESET, "the file ended before its announced length")
        case _:
            return Failed(url, result.reason or Reason.MALFORMED, detail)


def _exchange(
    url: Url, started: datetime, result: TransferResult, status: int, headers: Headers, body: bytes
) -> Exchange:
    """Return an exchange without a head: the archive stores it as a resource record."""
    return Exchange(
        url=url,
        started=started,
        request_head=b"",
        response_head=b"",
        status=status,
        headers=headers,
        body=body,
        truncation=result.truncation,
        peer=result.peer,
        timings=result.timings,
    )


def _modified(head: bytes) -> datetime | None:
    """Return the time from the answer to MDTM; the answer to SIZE, which follows, has the same status."""
    match = _MDTM.search(head)
    return None if match is None else parse_date(match[1].decode())


def _last_modified(moment: datetime | None) -> Headers:
    return () if moment is None else (("Last-Modified", format_datetime(moment, usegmt=True)),)
