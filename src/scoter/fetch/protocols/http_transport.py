"""HTTP and HTTPS on libcurl: one request, one reply.

A request identifies us, is conditional if the page is known, and goes only to addresses that the guard has checked.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import lru_cache

import pycurl
from msgspec.structs import replace

from scoter.config import Config
from scoter.core.bounded import BoundedMap
from scoter.core.reply import Exchange, Failed, Fetched, Headers, Reason, Reply, Request, Truncation, header, reply_to
from scoter.core.robots import LIMIT
from scoter.core.url import Url
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.proxy import Proxy
from scoter.fetch.network.resolver import CachingResolver, DnsResolver, NotResolved, Resolver
from scoter.fetch.protocols.credentials import CookieJar, parse_cookies, parse_credentials, read_lines
from scoter.fetch.protocols.curl_loop import CurlLoop
from scoter.fetch.protocols.request_headers import RequestHeaders, fixed_headers, one_line, user_agents, without_cookie
from scoter.fetch.protocols.sites import BY_NAME, HttpSite, HttpSites, route, usable_kinds
from scoter.fetch.protocols.transfers import (
    HEAD_METHOD,
    HEAD_ONLY,
    SocketCheck,
    TransferLimits,
    TransferRequest,
    TransferResult,
)

_KNOWN_HOSTS = 10_000
_KNOWN_AGENTS = 100
ROBOTS_LIMIT = LIMIT + 3  # including a byte-order mark; a truncated rule could not be obeyed
MAX_ADDRESSES = 3  # tried one after the other if connections fail

# No pattern ends with optional blanks: on a long run of blanks that would take quadratic time.
_FIELD = re.compile("^([^:\\n]*):([^\\n]*)$", re.MULTILINE)
_FOLD = re.compile("\\n[ \\t]+")
_RANGE = re.compile("bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})", re.IGNORECASE)
_COOKIE = "Cookie"
_FRAMING = "the framing of the body is invalid"
_UNRESOLVED = TransferResult(reason=Reason.UNRESOLVED)


class HttpTransport:
    """Makes requests over HTTP and HTTPS."""

    def __init__(
        self,
        config: Config,
        *,
        resolver: Resolver | None,
        guard: Guard,
        options: Sequence[tuple[int, object]],
        now: Callable[[], datetime],
    ) -> None:
        self._config = config
        self._now = now
        self._agent = user_agents(config)
        self._guard = guard
        self._options = tuple(options)
        self._resolver = resolver or CachingResolver(DnsResolver(), guard)
        fixed = fixed_headers(config)
        self._cookie_for_all = header(fixed, _COOKIE)
        fixed = without_cookie(fixed)
        self._usual = lru_cache(maxsize=_KNOWN_AGENTS)(lambda agent: RequestHeaders.of((("User-Agent", agent), *fixed)))
        self._proxy = Proxy.of(config)
        self._credentials = parse_credentials(
            read_lines(config.http.auth_file, "http.auth_file"), str(config.http.auth_file), can=usable_kinds()
        )
        self._cookies = parse_cookies(
            read_lines(config.agent.host_cookie_file, "agent.host_cookie_file"), str(config.agent.host_cookie_file)
        )
        self._jar = CookieJar() if config.http.keep_cookies else None
        self._sites = HttpSites(self._guard, self._proxy, self._credentials)
        # The last check: it sees the address of every socket, whatever names and caches said before.
        self._check_socket: SocketCheck = (
            self._guard.open_socket_check if self._proxy is None else self._proxy.checked(self._guard)
        )
        self._certificates_checked = config.http.tls_certificates_check
        self._curl: CurlLoop | None = None
        self._preferred: BoundedMap[str, str] = BoundedMap(_KNOWN_HOSTS)
        self._http_1_only: BoundedMap[str, bool] = BoundedMap(_KNOWN_HOSTS)
        # Redirects to ask for again, because an invalid field ended the head before its target was read.
        self._head_only: BoundedMap[str, bool] = BoundedMap(_KNOWN_HOSTS)
        # Hosts whose bad certificate is accepted, and what is wrong with it.
        self._bad_certificates: BoundedMap[str, str] = BoundedMap(_KNOWN_HOSTS)

    async def fetch(self, request: Request) -> Reply:
        """Make one request."""
        url = request.url
        refusal = self._guard.check_url(url)
        if refusal is not None:
            return Failed(url, refusal.reason, refusal.detail, blames_host=False)
        site = self._sites.get(url)
        routes = site.routes
        if routes is None:
            found = await self._resolve(url, site)
            if isinstance(found, Failed):
                return found
            routes = found
        headers = self._headers(request)
        cookie = self._cookie(request)
        at_least = ROBOTS_LIMIT if url.text.endswith("/robots.txt") and url.target == "/robots.txt" else 0
        options = site.options
        if url.host in self._http_1_only:
            options += ((pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1),)
        is_head_only = url.text in self._head_only
        if is_head_only:
            self._head_only.pop(url.text)  # the next answer may have a body
            options += HEAD_ONLY
        elif request.head:
            options += HEAD_METHOD
        started = self._now()
        result = _UNRESOLVED
        for connect_to in routes:
            transfer = TransferRequest(
                url=url.text,
                headers=headers.lines,
                cookie=cookie,
                connect_to=connect_to,
                options=options,
                check=self._check_socket,
                at_least=at_least,
                at_most=request.first_bytes,
            )
            result = await self._transfer(url.host, transfer)
            if not _is_unreachable(result):
                if connect_to is not routes[0]:
                    self._preferred.put(url.host, connect_to)  # each unreachable address would cost a timeout
                break
        if result.wants_http_1:
            self._http_1_only.put(url.host, True)  # a retry gets its own slot of the host
        if is_head_only and result.reason is None:
            result = replace(result, reason=Reason.MALFORMED, detail=_FRAMING, truncation=Truncation.UNSPECIFIED)
        elif result.is_head_cut and not _is_redirect(result):
            self._head_only.put(url.text, True)
            return Failed(url, Reason.MALFORMED, result.detail, blames_host=False, is_repeatable=True)
        if cookie:
            headers = RequestHeaders.of(((_COOKIE, cookie),)).with_more(headers)  # in libcurl's position
        return self._reply(url, site, headers, result, started, "HEAD" if request.head else "GET")

    def _transfer(self, host: str, transfer: TransferRequest) -> Awaitable[TransferResult]:
        """Make a transfer; if bad certificates are accepted, record what is wrong with them."""
        if self._certificates_checked or not transfer.url.startswith("https:"):
            return self._loop().run(transfer)
        return self._transfer_unchecked(host, transfer)

    async def _transfer_unchecked(self, host: str, transfer: TransferRequest) -> TransferResult:
        """Make a transfer; repeat it without checks if the certificate is bad.

        Only a check can tell what is wrong with a certificate, so it is made even if its result is not obeyed.
        """
        if host not in self._bad_certificates:
            result = await self._loop().run(transfer)
            if not result.is_untrusted:
                return result
            self._bad_certificates.put(host, result.detail)
        return await self._loop().run(replace(transfer, verify=False))

    async def close(self) -> None:
        """Close all connections."""
        if self._curl is not None:
            self._curl.close()
            self._curl = None

    async def _resolve(self, url: Url, site: HttpSite) -> tuple[str, ...] | Failed:
        """Return the routes to try, in order; a host behind a proxy is resolved only for the guard."""
        answer = await self._resolver.resolve(url.host.removesuffix("."))
        if isinstance(answer, NotResolved):
            if answer.refused:
                return Failed(url, Reason.REFUSED_ADDRESS, answer.reason, blames_host=False)
            if site.through_proxy:
                return BY_NAME  # a closed network may know names only at its proxy
            return Failed(url, Reason.UNRESOLVED, answer.reason)
        if site.through_proxy:
            # The socket is the proxy's. A name that fetch.allow_hosts exempts is exempt at its own port only.
            whys = (self._guard.check_address(address, site.port) for address in answer.addresses)
            why = next(filter(None, whys), "")
            return Failed(url, Reason.REFUSED_ADDRESS, why, blames_host=False) if why else BY_NAME
        routes = [route(url.host, site.port, address, site.port) for address in answer.addresses[:MAX_ADDRESSES]]
        preferred = self._preferred.peek(url.host)
        if preferred in routes:
            routes.remove(preferred)
            routes.insert(0, preferred)
        return tuple(routes)

    def _loop(self) -> CurlLoop:
        if self._curl is None:
            http, fetch = self._config.http, self._config.fetch
            limits = TransferLimits(
                body=fetch.content_limit, connect=http.timeout, silence=http.timeout, total=http.time_limit
            )
            self._curl = CurlLoop(
                limits, concurrency=fetch.threads, budget=fetch.body_budget, options=self._common_options()
            )
        return self._curl

    def _common_options(self) -> list[tuple[int, object]]:
        http = self._config.http
        version = pycurl.CURL_HTTP_VERSION_2TLS if http.http2 else pycurl.CURL_HTTP_VERSION_1_1
        options: list[tuple[int, object]] = [
            (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
            (pycurl.HTTP_VERSION, version),
            (pycurl.PATH_AS_IS, 1),  # URLs are canonical: request exactly what is stored
        ]
        if self._jar is not None:
            options += self._jar.options
        return [*options, *self._options]

    def _headers(self, request: Request) -> RequestHeaders:
        """Return the header fields beyond Host, in order."""
        usual = self._usual(self._agent())
        if not (request.headers or request.etag or request.last_modified or request.first_bytes):
            return usual
        more = self._more_headers(request)
        return usual.with_more(RequestHeaders.of(more)) if more else usual

    def _more_headers(self, request: Request) -> Headers:
        headers: list[tuple[str, str]] = []
        if self._config.http.enable_if_modified_since_header:
            if request.last_modified:
                headers.append(("If-Modified-Since", request.last_modified))
            if request.etag:
                headers.append(("If-None-Match", request.etag))
        if request.first_bytes:
            headers.append(("Range", f"bytes=0-{request.first_bytes - 1}"))
        return (*headers, *without_cookie(request.headers))

    def _cookie(self, request: Request) -> str:
        """Return the most specific cookie of request and settings; only one field may be sent."""
        if not (request.headers or self._cookies) or not self._config.http.enable_cookie_header:
            return self._cookie_for_all
        cookie = header(request.headers, _COOKIE) or self._cookies.get(request.url.host) or self._cookie_for_all
        return one_line(cookie)

    def _reply(
        self, url: Url, site: HttpSite, sent: RequestHeaders, result: TransferResult, started: datetime, method: str
    ) -> Reply:
        if result.reason is None and result.truncation is Truncation.NOT:
            return reply_to(self._exchange(url, site, sent, result, started, method), started)
        late = result.truncation is Truncation.TIME and self._is_overtime(result)
        partial = result.truncation in (Truncation.TIME, Truncation.DISCONNECT) and self._config.http.partial_truncated
        says_all = result.truncation is Truncation.TIME and result.status >= 300  # these say everything in their head
        if result.reason is not None and not (late or partial or says_all or _is_redirect(result)):
            is_blamed = result.reason is not Reason.REFUSED_ADDRESS and not result.wants_http_1
            return Failed(url, result.reason, result.detail, blames_host=is_blamed)
        exchange = self._exchange(url, site, sent, result, started, method)
        if partial and 200 <= result.status < 300:
            return Fetched(exchange)
        return reply_to(exchange, started)

    def _exchange(
        self, url: Url, site: HttpSite, sent: RequestHeaders, result: TransferResult, started: datetime, method: str
    ) -> Exchange:
        headers = _fields(result.head)
        if self._jar is not None:
            self._jar.note(headers)
        # As libcurl writes it, but without the credentials it adds: they do not belong in an archive.
        asked = f"{method} {url.text[site.path_at :]} HTTP/1.1\r\nHost: {site.host_field}\r\n{sent.text}\r\n"
        return Exchange(
            url=url,
            started=started,
            request_head=asked.encode("latin-1", errors="replace"),
            response_head=result.head,
            status=result.status,
            headers=headers,
            body=result.body,
            truncation=result.truncation or _missing_parts(result.status, headers),
            peer=result.peer,
            http_version=result.http_version,
            tls_version=result.tls_version,
            tls_problem=self._bad_certificates.peek(url.host) or "" if result.tls_version else "",
            timings=result.timings,
        )

    def _is_overtime(self, result: TransferResult) -> bool:
        limit = self._config.http.time_limit
        return limit is not None and result.timings.total >= limit.total_seconds() * 0.99


def _missing_parts(status: int, headers: Headers) -> Truncation:
    """Return ``UNSPECIFIED`` for a 206 response, unless its range is everything."""
    if status != 206:
        return Truncation.NOT
    # RFC 9110 14.4; without the field it is several parts, with an unknown length any part.
    found = _RANGE.fullmatch(header(headers, "Content-Range"))
    is_whole = found is not None and int(found[1]) == 0 and int(found[2]) + 1 == int(found[3])
    return Truncation.NOT if is_whole else Truncation.UNSPECIFIED


def _is_redirect(result: TransferResult) -> bool:
    """Tell whether the head names the target of a redirect, though the framing of the body is invalid."""
    if result.truncation is not Truncation.UNSPECIFIED or not 300 <= result.status < 400 or result.status == 304:
        return False
    return header(_fields(result.head), "Location") != ""


def _is_unreachable(result: TransferResult) -> bool:
    """Tell whether no connection was made, so that another address may work."""
    if result.reason is None:
        return False
    return result.reason is Reason.UNREACHABLE or (result.reason is Reason.TIMEOUT and not result.timings.connected)


def _fields(head: bytes) -> Headers:
    """Return the fields of a response head; a folded line continues the one before it (RFC 9112 5.2)."""
    text = head.decode("latin-1")
    if _is_plain(text):
        return _plain_fields(text)
    if "\n " in text or "\n\t" in text:
        text = _unfolded(text)
    return _odd_fields(text)


def _plain_fields(text: str) -> Headers:
    # Most heads are regular, and for those this takes half as long as a pattern.
    found: list[tuple[str, str]] = []
    for line in text.split("\r\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            found.append((name, value.strip(" \t")))
    return tuple(found)


def _odd_fields(text: str) -> Headers:
    found = _FIELD.findall(text, text.find("\n") + 1)
    # RFC 9112 5.1: blanks between a name and its colon are not part of the name.
    return tuple((name.rstrip(" \t"), value.lstrip(" \t").rstrip(" \t\r")) for name, value in found)


def _is_plain(head: str) -> bool:
    """Tell whether all lines end with CR LF, none is folded, and no name is followed by a blank."""
    breaks = head.count("\n")
    if head.count("\r\n") != breaks or head.count("\r") != breaks:
        return False
    return "\n " not in head and "\n\t" not in head and " :" not in head and "\t:" not in head


def _unfolded(text: str) -> str:
    status, _, fields = text.partition("\n")
    # The first field has none before it to continue.
    *folded, last = _FOLD.split(fields.lstrip(" \t"))
    return status + "\n" + " ".join((*(part.rstrip(" \t\r") for part in folded), last))
