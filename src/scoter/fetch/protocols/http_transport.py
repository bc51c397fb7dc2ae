"""Hops over HTTP and HTTPS, one request and its answer at a time.

Each says who we are and what is known of a page, so that the server may answer "not modified", goes only to addresses
that the guard has seen, and ends as a reply.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache

import pycurl
from msgspec.structs import replace

from scoter.config import Config
from scoter.core.reply import Exchange, Failed, Fetched, Headers, Reason, Reply, Request, Truncation, header, reply_to
from scoter.core.robots import LIMIT
from scoter.core.url import Url
from scoter.errors import ConfigError
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.proxy import Proxy
from scoter.fetch.network.resolver import CachingResolver, DnsResolver, NotResolved, Resolver
from scoter.fetch.protocols.credentials import CookieJar, parse_cookies, parse_credentials, read_lines
from scoter.fetch.protocols.curl_loop import CurlLoop
from scoter.fetch.protocols.request_headers import RequestHeaders, one_line, user_agents
from scoter.fetch.protocols.sites import BY_NAME, HttpSite, HttpSites, route, usable_kinds
from scoter.fetch.protocols.transfers import SocketCheck, TransferLimits, TransferRequest, TransferResult

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
MOST_FLAWED = 10_000
MOST_PREFERRED = 10_000
MOST_AGENTS = 100
ROBOTS_LIMIT = LIMIT + 3  # with a byte-order mark; a rule that is cut off would not be obeyed
MOST_ADDRESSES = 3  # tried one after the other when a connection fails

# No pattern looks for blanks at the end of something: in a long row of them it would begin anew at each.
_FIELD = re.compile("^([^:\\n]*):([^\\n]*)$", re.MULTILINE)
_FOLD = re.compile("\\n[ \\t]+")
_COOKIE = "Cookie"
_UNRESOLVED = TransferResult(reason=Reason.UNRESOLVED)


class HttpTransport:
    """Makes hops over HTTP and HTTPS."""

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
        self._resolver = resolver
        fixed = _fixed_headers(config)
        self._cookie_for_all = header(fixed, _COOKIE)
        fixed = _without_cookie(fixed)
        self._usual = lru_cache(maxsize=MOST_AGENTS)(lambda agent: RequestHeaders.of((("User-Agent", agent), *fixed)))
        self._proxy = Proxy.of(config)
        self._credentials = parse_credentials(
            read_lines(config.http.auth_file, "http.auth_file"), str(config.http.auth_file), can=usable_kinds()
        )
        self._cookies = parse_cookies(
            read_lines(config.agent.host_cookie_file, "agent.host_cookie_file"), str(config.agent.host_cookie_file)
        )
        self._jar = CookieJar() if config.http.keep_cookies else None
        self._sites = HttpSites(self._guard, self._proxy, self._credentials)
        # The second lock: it sees the address of every socket, whatever names and caches said before.
        self._check_socket: SocketCheck = (
            self._guard.open_socket_check if self._proxy is None else self._proxy.checked(self._guard)
        )
        self._certificates_checked = config.http.tls_certificates_check
        self._curl: CurlLoop | None = None
        self._preferred: OrderedDict[str, str] = OrderedDict()
        # Hosts whose certificate is accepted all the same, and what is wrong with it.
        self._flawed: OrderedDict[str, str] = OrderedDict()

    async def fetch(self, request: Request) -> Reply:
        """Make one hop."""
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
        started = self._now()
        told = _UNRESOLVED
        for connect_to in routes:
            ask = TransferRequest(
                url=url.text,
                headers=headers.lines,
                cookie=cookie,
                connect_to=connect_to,
                options=site.options,
                check=self._check_socket,
                at_least=at_least,
            )
            told = await self._transfer(url.host, ask)
            if not _is_deaf(told):
                if connect_to is not routes[0]:
                    self._prefer(url.host, connect_to)
                break
        if cookie:
            headers = RequestHeaders.of(((_COOKIE, cookie),)).with_more(headers)  # where libcurl puts it
        return self._reply(url, site, headers, told, started)

    def _transfer(self, host: str, ask: TransferRequest) -> Awaitable[TransferResult]:
        """Make a transfer; where any certificate will do, one that tells what is wrong with it."""
        if self._certificates_checked or not ask.url.startswith("https:"):
            return self._loop().run(ask)
        return self._transfer_unchecked(host, ask)

    async def _transfer_unchecked(self, host: str, ask: TransferRequest) -> TransferResult:
        """Make a transfer, once more without checks when a certificate was found wanting.

        Only a check can tell what is wrong with a certificate, so it is made even where its verdict is not obeyed.
        """
        if host not in self._flawed:
            told = await self._loop().run(ask)
            if not told.distrusts:
                return told
            self._flawed[host] = told.detail
            if len(self._flawed) > MOST_FLAWED:
                self._flawed.popitem(last=False)
        return await self._loop().run(replace(ask, verify=False))

    async def close(self) -> None:
        """Close all connections."""
        if self._curl is not None:
            self._curl.close()
            self._curl = None

    async def _resolve(self, url: Url, site: HttpSite) -> tuple[str, ...] | Failed:
        """Return the routes to try, in order; a host behind a proxy is resolved only to be judged."""
        answer = await self._resolved().resolve(url.host.removesuffix("."))
        if isinstance(answer, NotResolved):
            if answer.refused:
                return Failed(url, Reason.REFUSED_ADDRESS, answer.reason, blames_host=False)
            if site.through_proxy:
                return BY_NAME  # a closed network may know names only at its proxy
            return Failed(url, Reason.UNRESOLVED, answer.reason)
        if site.through_proxy:
            return BY_NAME
        routes = [route(url.host, site.port, address, site.port) for address in answer.addresses[:MOST_ADDRESSES]]
        preferred = self._preferred.get(url.host)
        if preferred in routes:
            routes.remove(preferred)
            routes.insert(0, preferred)
        return tuple(routes)

    def _prefer(self, host: str, connect_to: str) -> None:
        """Try this address first from now on: each unreachable one before it would cost a timeout."""
        self._preferred[host] = connect_to
        self._preferred.move_to_end(host)
        if len(self._preferred) > MOST_PREFERRED:
            self._preferred.popitem(last=False)

    def _resolved(self) -> Resolver:
        if self._resolver is None:
            self._resolver = CachingResolver(DnsResolver(), self._guard)
        return self._resolver

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
            (pycurl.PATH_AS_IS, 1),  # URLs are canonical; what is stored is what is asked for
        ]
        if self._jar is not None:
            options += self._jar.options
        return [*options, *self._options]

    def _headers(self, request: Request) -> RequestHeaders:
        """Return what is sent beyond Host, in order."""
        usual = self._usual(self._agent())
        if not (request.headers or request.etag or request.modified_since):
            return usual
        more = self._more_headers(request)
        return usual.with_more(RequestHeaders.of(more)) if more else usual

    def _more_headers(self, request: Request) -> Headers:
        headers: list[tuple[str, str]] = []
        if self._config.http.enable_if_modified_since_header:
            since = request.modified_since
            if since is not None:
                headers.append(("If-Modified-Since", format_datetime(since.astimezone(UTC), usegmt=True)))
            if request.etag:
                headers.append(("If-None-Match", request.etag))
        return (*headers, *_without_cookie(request.headers))

    def _cookie(self, request: Request) -> str:
        """Return the cookie that the settings or the request know; the closest one counts, as only one field may go."""
        if not (request.headers or self._cookies) or not self._config.http.enable_cookie_header:
            return self._cookie_for_all
        cookie = header(request.headers, _COOKIE) or self._cookies.get(request.url.host) or self._cookie_for_all
        return one_line(cookie)

    def _reply(self, url: Url, site: HttpSite, sent: RequestHeaders, told: TransferResult, started: datetime) -> Reply:
        if told.reason is None and told.truncation is Truncation.NOT:
            return reply_to(self._exchange(url, site, sent, told, started), started)
        late = told.truncation is Truncation.TIME and self._is_overtime(told)
        partial = told.truncation in (Truncation.TIME, Truncation.DISCONNECT) and self._config.http.partial_truncated
        is_told = (
            told.truncation is Truncation.TIME and told.status >= 300
        )  # all that these have to say is in their heads
        if told.reason is not None and not late and not partial and not is_told:
            return Failed(url, told.reason, told.detail, blames_host=told.reason is not Reason.REFUSED_ADDRESS)
        exchange = self._exchange(url, site, sent, told, started)
        if partial and 200 <= told.status < 300:
            return Fetched(exchange)
        return reply_to(exchange, started)

    def _exchange(
        self, url: Url, site: HttpSite, sent: RequestHeaders, told: TransferResult, started: datetime
    ) -> Exchange:
        headers = _fields(told.head)
        if self._jar is not None:
            self._jar.note(headers)
        # As libcurl writes it; credentials that libcurl adds do not belong into an archive.
        asked = f"GET {url.text[site.path_at :]} HTTP/1.1\r\nHost: {site.shown}\r\n{sent.text}\r\n"
        return Exchange(
            url=url,
            started=started,
            request_head=asked.encode("latin-1", errors="replace"),
            response_head=told.head,
            status=told.status,
            headers=headers,
            body=told.body,
            truncation=told.truncation,
            peer=told.peer,
            http_version=told.http_version,
            tls_version=told.tls_version,
            tls_problem=self._flawed.get(url.host, "") if told.tls_version else "",
            timings=told.timings,
        )

    def _is_overtime(self, told: TransferResult) -> bool:
        limit = self._config.http.time_limit
        return limit is not None and told.timings.total >= limit.total_seconds() * 0.99


def _fixed_headers(config: Config) -> Headers:
    http = config.http
    headers = [("Accept", http.accept), ("Accept-Language", http.accept_language), ("Accept-Encoding", ACCEPT_ENCODING)]
    if config.agent.email:
        headers.append(("From", config.agent.email))
    own = [(name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in http.headers)]
    said = {name.lower() for name, _ in own}
    if "user-agent" in said:
        hint = "Set agent.name, agent.version, agent.url and agent.email, or agent.rotate with a file of names."
        raise ConfigError("names User-Agent, which is made of the agent settings", where="http.headers", hint=hint)
    return (*((name, value) for name, value in headers if name.lower() not in said), *own)


def _without_cookie(headers: Headers) -> Headers:
    return tuple((name, value) for name, value in headers if name.lower() != "cookie")


def _is_deaf(told: TransferResult) -> bool:
    """Tell whether nobody took the connection at an address: another one may be alive."""
    if told.reason is None:
        return False
    return told.reason is Reason.UNREACHABLE or (told.reason is Reason.TIMEOUT and not told.timings.connected)


def _fields(head: bytes) -> Headers:
    """Return the fields of a response head; a folded line belongs to the one before it (RFC 9112 5.2)."""
    text = head.decode("latin-1")
    if _is_plain(text):
        return _plain_fields(text)
    if "\n " in text or "\n\t" in text:
        text = _unfolded(text)
    return _odd_fields(text)


def _plain_fields(text: str) -> Headers:
    # Most heads are written without anything odd, and for them this takes half of what a pattern does.
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
    """Tell whether all lines end with CR LF, none is folded, and no name has a blank behind it."""
    breaks = head.count("\n")
    if head.count("\r\n") != breaks or head.count("\r") != breaks:
        return False
    return "\n " not in head and "\n\t" not in head and " :" not in head and "\t:" not in head


def _unfolded(text: str) -> str:
    status, _, fields = text.partition("\n")
    # The first field has none before it that it could belong to.
    *folded, last = _FOLD.split(fields.lstrip(" \t"))
    return status + "\n" + " ".join((*(part.rstrip(" \t\r") for part in folded), last))
