"""Access control: API keys with scopes and rate limits, and when a service may run without keys."""

from __future__ import annotations

import ipaddress
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final, Protocol
from urllib.parse import urlsplit

from msgspec import Struct

from scoter.core.bounded import BoundedMap
from scoter.errors import UsageError
from scoter.http.api_keys import ApiKey
from scoter.http.asgi import Fields, HeaderFields
from scoter.http.problems import problem
from scoter.http.records import KeyScope, Problem

_MAX_BUCKETS: Final = 10_000
_PORTS: Final = {"http": "80", "https": "443"}
_LOCAL_NAMES: Final = frozenset({"localhost", "ip6-localhost"})
_HOST: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^:\[\]@/]+))(?::[0-9]{0,5})?")


class KeyCheck(Protocol):
    """The part of the key store that every request needs."""

    def check(self, token: str) -> ApiKey | None:
        """Return the key of a token, in a time that does not depend on how wrong the token is."""

    def find(self, key: str) -> ApiKey | None:
        """Return the key with an ID, for a session that its token has opened."""


class TokenBucket(Struct):
    """Tokens that are refilled at ``rate`` per second, up to ``burst``. Charges may reduce them to ``-burst``."""

    rate: float
    burst: float
    tokens: float
    at: float

    def charge(self, count: int) -> None:
        """Take tokens for requests that other processes admitted; the debt is bounded, so the key is not locked out."""
        self.tokens = max(-self.burst, self.tokens - count)

    def take(self, now: float) -> float:
        """Take a token; return 0, or the seconds until there is one."""
        self.tokens = min(self.burst, self.tokens + max(0.0, now - self.at) * self.rate)
        self.at = now
        if self.tokens >= 1.0:
            self.tokens -= 1.0
            return 0.0
        return (1.0 - self.tokens) / self.rate

    def fields(self) -> HeaderFields:
        """Return the headers that tell a client its limit (draft-ietf-httpapi-ratelimit-headers-10)."""
        window, reset = self.burst / self.rate, max(0.0, self.burst - self.tokens) / self.rate
        return (
            (b"ratelimit-policy", b'"key";q=%d;w=%d' % (self.burst, max(1, math.ceil(window)))),
            (b"ratelimit", b'"key";r=%d;t=%d' % (max(0, int(self.tokens)), math.ceil(reset))),
        )


class AccessDecision(Struct, frozen=True):
    """Whether a request is admitted: with which key, or why not; ``fields`` tell a client its rate limit."""

    key: ApiKey | None = None
    refusal: Problem | None = None
    fields: HeaderFields = ()


_OPEN: Final = AccessDecision()


class AccessControl:
    """Decides which requests are admitted.

    Without keys (on loopback), the Host header must be a loopback address or name, so that a web page in a browser
    cannot reach the service by DNS rebinding; and a request must not come from a page of another origin: a browser
    makes it whatever page asks for it. A key that is sent is always checked.
    """

    def __init__(
        self,
        keys: KeyCheck,
        *,
        required: bool,
        any_host: bool = False,
        origins: Iterable[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``origins`` are those whose pages may use the API without a key; ``*`` for all."""
        self._keys = keys
        self._origins = frozenset(origin.encode() for origin in origins)
        self.needs_key = required
        self._any_host = any_host or required
        self._clock = clock
        self._buckets: BoundedMap[str, TokenBucket] = BoundedMap(_MAX_BUCKETS)
        self._admitted: dict[str, int] = {}

    def charge(self, key: str, count: int) -> None:
        """Charge a key for requests that other processes admitted, unless it was never used here."""
        bucket = self._buckets.peek(key)
        if bucket is not None:
            bucket.charge(count)

    def take_admitted(self) -> Mapping[str, int]:
        """Return the requests admitted since the last call, by key, for keys with a rate limit."""
        taken, self._admitted = self._admitted, {}
        return taken

    def admit(self, headers: Fields, needed: KeyScope | None, method: str = "GET") -> AccessDecision:
        """Decide about a request; ``needed`` is the scope that it requires, ``None`` for a public route."""
        if needed is None:
            return _OPEN
        token = host = origin = site = None
        for name, value in headers:
            if name == b"origin":
                origin = value
            elif name == b"sec-fetch-site":
                site = value
            elif name == b"authorization":
                if token is not None:
                    return AccessDecision(refusal=_UNAUTHORIZED)
                token = value
            elif name == b"host":
                host = value
        if token is None:
            if self.needs_key:
                return AccessDecision(refusal=_UNAUTHORIZED)
            is_local = self._any_host or host is None or is_loopback_host(host)
            if not is_local:
                return AccessDecision(refusal=_MISDIRECTED)
            return AccessDecision(refusal=FOREIGN) if self._is_foreign(origin, site, host or b"") else _OPEN
        scheme, _, secret = token.partition(b" ")
        if scheme.lower() != b"bearer":
            return AccessDecision(refusal=_UNAUTHORIZED)
        return self.admit_key(self._keys.check(secret.strip().decode("latin-1")), needed)

    def is_configured(self, origin: bytes) -> bool:
        """Return whether pages of an origin may use the API without a key."""
        return not self._origins.isdisjoint((origin, b"*"))

    def _is_foreign(self, origin: bytes | None, site: bytes | None, host: bytes) -> bool:
        """Return whether a page of another origin makes a request, as a browser says."""
        if (origin is None and site is None) or self.is_configured(origin or b""):
            return False
        # https://www.w3.org/TR/fetch-metadata/: "none" is a person who typed the address.
        if site is not None and site not in (b"same-origin", b"none"):
            return True
        return origin is not None and not is_same_origin(origin.decode("latin-1"), host.decode("latin-1"))

    def admit_key(self, key: ApiKey | None, needed: KeyScope) -> AccessDecision:
        """Decide about a request by its key; ``None`` if that is unknown."""
        if key is None:
            return AccessDecision(refusal=_UNKNOWN)
        if needed not in key.scopes and "admin" not in key.scopes:
            detail = f"This requires a key with the scope {needed}."
            return AccessDecision(key, problem(403, "scope", "The key does not allow this.", detail))
        return self._limited(key)

    def _limited(self, key: ApiKey) -> AccessDecision:
        if key.rate is None or key.rate <= 0:
            return AccessDecision(key)
        now = self._clock()
        bucket = self._buckets.get(key.id)
        rate = key.rate
        if bucket is None or bucket.rate != rate:
            burst = max(1.0, rate)
            bucket = TokenBucket(rate, burst, burst, now)
            self._buckets.put(key.id, bucket)
        later = bucket.take(now)
        if not later:
            self._admitted[key.id] = self._admitted.get(key.id, 0) + 1
            return AccessDecision(key, fields=bucket.fields())
        exceeded = problem(429, "key-rate", "The key exceeds its rate limit.", retry_after=later)
        return AccessDecision(key, exceeded, bucket.fields())


@lru_cache(maxsize=256)
def is_loopback_host(host: bytes) -> bool:
    """Return whether a Host header names the loopback interface.

    >>> is_loopback_host(b"127.0.0.1:8000"), is_loopback_host(b"[::1]"), is_loopback_host(b"evil.example")
    (True, True, False)
    >>> is_loopback_host(b"[::1]evil.example"), is_loopback_host(b"127.0.0.1:80evil.example")
    (False, False)
    """
    found = _HOST.fullmatch(host.decode("latin-1").lower())
    return found is not None and is_loopback(found[1] or found[2])


def is_same_origin(origin: str, host: str) -> bool:
    """Return whether an Origin header names the host and port of a Host header.

    >>> is_same_origin("https://crawls.example", "crawls.example"), is_same_origin("null", "crawls.example")
    (True, False)
    """
    parts = urlsplit(origin.lower())
    if parts.scheme not in _PORTS or not parts.netloc:
        return False
    default = f":{_PORTS[parts.scheme]}"
    return parts.netloc.removesuffix(default) == host.lower().removesuffix(default)


def is_loopback(host: str) -> bool:
    """Return whether an address or name is reachable from this machine only."""
    if host in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def needs_keys(host: str, *, has_keys: bool, insecure: bool = False, wanted: bool = False) -> bool:
    """Return whether requests need a key; raise if they do and there is none.

    ``wanted`` requires keys on loopback too: behind a proxy every request comes from there.

    >>> needs_keys("127.0.0.1", has_keys=False), needs_keys("127.0.0.1", has_keys=True, wanted=True)
    (False, True)
    """
    if insecure or (is_loopback(host) and not wanted):
        return False
    if not has_keys:
        raise UsageError(
            f"listening on {host} without an API key would let anybody in"
            if not wanted
            else "API keys are required, but there is none",
            where="serve",
            hint="Create one with --new-key NAME"
            + ("." if wanted else ", listen on 127.0.0.1, or allow anybody with --without-keys."),
        )
    return True


FOREIGN: Final = problem(
    403,
    "foreign-origin",
    "This request comes from another site.",
    "Without a key, its Origin must be this server's, or one of web.cors_origins.",
)
_UNAUTHORIZED: Final = problem(
    401, "unauthorized", "A valid API key is required.", "Send it as: Authorization: Bearer scoter_..."
)
_UNKNOWN: Final = problem(
    401, "unknown-key", "The API key is unknown.", "It was revoked, belongs to another service, or is incomplete."
)
KEY_NEEDED: Final = problem(
    401,
    "key-needed",
    "Managing keys requires a key.",
    "This always requires a key with the scope admin. Create the first one with `scoter serve --new-key`.",
)
_MISDIRECTED: Final = problem(
    421, "misdirected", "Without keys the service answers to loopback names only.", "Address it as 127.0.0.1."
)
