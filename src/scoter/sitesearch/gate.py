"""Which requests to the public search are answered: by host, by the origin of the page that asks, and by rate."""

from __future__ import annotations

import ipaddress
import re
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, Final

from msgspec import Struct

from scoter.core.bounded import BoundedMap
from scoter.errors import UsageError
from scoter.http.access import TokenBucket, is_loopback_host, is_same_origin
from scoter.http.asgi import ApiResponse, App, HeaderFields, Receive, Scope, Send, send_reply
from scoter.http.problems import problem, reply_of
from scoter.http.proxy import client_name

_ORIGIN: Final = re.compile(r"\*|https?://[^/\s?#@*,]+")
SEARCH_PATH: Final = "/v1/search"
_MOST_ADDRESSES: Final = 10_000
_BURST: Final = 5.0  # seconds of the rate, at once: a person types in bursts
_PREFLIGHT: Final = ((b"access-control-allow-methods", b"GET, HEAD"), (b"access-control-max-age", b"86400"))
_EXPOSED: Final = (b"access-control-expose-headers", b"ETag, Retry-After")
_FOREIGN: Final = problem(
    403, "foreign-origin", "Pages of this site may not search here.", "Allow its origin with --origin."
)
_MISDIRECTED: Final = problem(
    421,
    "misdirected",
    "This server answers to loopback names only.",
    "Behind a reverse proxy, start it with --trusted-proxy and the address of the proxy.",
)


class PublicRules(Struct, frozen=True, kw_only=True):
    """Who may search, and how often.

    ``origins`` are those whose pages may search, ``*`` for all. An address may search ``rate`` times per second. With
    ``only_local``, requests must name a loopback host, so that no web page can reach the server by DNS rebinding.
    """

    origins: frozenset[str] = frozenset()
    rate: float = 5.0
    only_local: bool = False

    def allows(self, origin: str, host: str) -> bool:
        """Return whether pages of an origin may search."""
        return bool(self.origins & {origin, "*"}) or is_same_origin(origin, host)


class PublicGate:
    """Refuses what the rules do not allow before it reaches the search, and lets pages of other origins read answers.

    Answers may be kept by shared caches, so each says that it depends on the origin, unless all are allowed.
    """

    def __init__(self, app: App, rules: PublicRules, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._rules = rules
        self._clock = clock
        self._buckets: BoundedMap[str, TokenBucket] = BoundedMap(_MOST_ADDRESSES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if self._rules.only_local and not is_loopback_host(headers.get(b"host", b"localhost")):
            await send_reply(send, reply_of(_MISDIRECTED))
            return
        if scope["raw_path"] != SEARCH_PATH.encode():
            await self._app(scope, receive, send)
            return
        fields = self._fields(headers)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await send_reply(send, refusal.with_fields(fields))
            return

        async def send_allowed(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *fields]
            await send(message)

        await self._app(scope, receive, send_allowed)

    def _fields(self, headers: Mapping[bytes, bytes]) -> HeaderFields:
        origin = headers.get(b"origin")
        if "*" in self._rules.origins:
            return (b"access-control-allow-origin", b"*"), _EXPOSED
        varies = (b"vary", b"Origin")
        if origin is None or not self._allows(headers):
            return (varies,)
        return varies, (b"access-control-allow-origin", origin), _EXPOSED

    def _allows(self, headers: Mapping[bytes, bytes]) -> bool:
        origin, host = headers.get(b"origin"), headers.get(b"host", b"")
        return origin is None or self._rules.allows(origin.decode("latin-1"), host.decode("latin-1"))

    def _refusal(self, scope: Scope, headers: Mapping[bytes, bytes]) -> ApiResponse | None:
        if not self._allows(headers):
            return reply_of(_FOREIGN)
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
            return ApiResponse(status=204, headers=_PREFLIGHT)
        later = self._take(client_name(scope))
        if not later:
            return None
        return reply_of(problem(429, "rate", "Too many searches from your address.", retry_after=later))

    def _take(self, address: str) -> float:
        """Return 0, or the seconds until the address may search again."""
        now = self._clock()
        bucket = self._buckets.get(address)
        if bucket is None:
            burst = max(1.0, self._rules.rate * _BURST)
            bucket = TokenBucket(self._rules.rate, burst, burst, now)
            self._buckets.put(address, bucket)
        return bucket.take(now)


def check_origins(given: Sequence[str]) -> frozenset[str]:
    """Return the origins of web pages that may search; raise if one is none."""
    for each in given:
        if not _ORIGIN.fullmatch(each):
            raise UsageError(
                f"{each!r} is not an origin",
                where="--origin",
                hint="Give one such as https://docs.example, without a path, or * for all.",
            )
    return frozenset(each.lower() for each in given)


def check_proxies(given: Sequence[str]) -> list[str]:
    """Return the addresses and networks of proxies; raise if one is neither."""
    for each in given:
        try:
            ipaddress.ip_network(each)
        except ValueError as error:
            raise UsageError(
                f"{each!r} is not an address or network",
                where="--trusted-proxy",
                hint="Give one such as 127.0.0.1 or 10.0.0.0/8.",
            ) from error
    return list(given)
