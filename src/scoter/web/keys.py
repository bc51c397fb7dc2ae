"""Who may come in: API keys with scopes and a rate each; and when a service may do without."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, Protocol

from msgspec import Struct

from scoter.api import KeyScope, Problem
from scoter.errors import UsageError
from scoter.live.memory.access import ApiKey
from scoter.web.asgi import Fields
from scoter.web.problems import problem

LONGEST_KEY_NAME: Final = 200
_BUCKETS: Final = 10_000
_LOCAL_NAMES: Final = frozenset({"localhost", "ip6-localhost"})


class KeyCheck(Protocol):
    """The part of the keys' store that is asked for every request."""

    def check(self, token: str) -> ApiKey | None:
        """Return whose token it is, if anyone's, in a time that does not depend on how wrong it is."""


class Admission(Struct, frozen=True):
    """Who may go on; nobody in particular where no key is needed."""

    key: ApiKey | None = None


class TokenBucket(Struct):
    """Tokens that come back at a rate, at most ``burst`` of them."""

    rate: float
    burst: float
    tokens: float
    at: float

    def take(self, now: float) -> float:
        """Take one; return 0, or the seconds until there is one."""
        self.tokens = min(self.burst, self.tokens + max(0.0, now - self.at) * self.rate)
        self.at = now
        if self.tokens >= 1.0:
            self.tokens -= 1.0
            return 0.0
        return (1.0 - self.tokens) / self.rate


class AccessControl:
    """Lets requests in.

    Where keys are not needed (on loopback), a page in somebody's browser must not get in by its own name for this
    machine: the Host field has to be a loopback address or name. A key that is shown is checked all the same.
    """

    def __init__(
        self,
        keys: KeyCheck,
        *,
        required: bool,
        any_host: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keys = keys
        self._required = required
        self._any_host = any_host or required
        self._clock = clock
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()
        self._admitted: dict[str, int] = {}

    def charge(self, key: str, count: int) -> None:
        """Take off a key's rate what other processes let in; of a key that was never used here nothing is known."""
        bucket = self._buckets.get(key)
        if bucket is not None:
            bucket.tokens = max(-bucket.burst, bucket.tokens - count)

    def take_admitted(self) -> Mapping[str, int]:
        """Return how many requests were let in by keys that have a rate, since this was asked last."""
        taken, self._admitted = self._admitted, {}
        return taken

    @property
    def needs_key(self) -> bool:
        return self._required

    def admit(self, headers: Fields, needed: KeyScope | None) -> Admission | Problem:
        """Return who asks, or why they may not."""
        if needed is None:
            return _NOBODY
        token = host = None
        for name, value in headers:
            if name == b"authorization":
                if token is not None:
                    return _UNAUTHORIZED
                token = value
            elif name == b"host":
                host = value
        if token is None:
            if self._required:
                return _UNAUTHORIZED
            return _NOBODY if self._any_host or host is None or is_loopback_host(host) else _MISDIRECTED
        scheme, _, secret = token.partition(b" ")
        if scheme.lower() != b"bearer":
            return _UNAUTHORIZED
        key = self._keys.check(secret.strip().decode("latin-1"))
        if key is None:
            return _UNKNOWN
        if needed not in key.scopes and "admin" not in key.scopes:
            detail = f"This needs a key with the scope {needed}."
            return problem(403, "scope", "The key is not good for this.", detail)
        return self._limited(key) or Admission(key)

    def _limited(self, key: ApiKey) -> Problem | None:
        if key.rate is None or key.rate <= 0:
            return None
        now = self._clock()
        bucket = self._buckets.get(key.id)
        rate = key.rate
        if bucket is None or bucket.rate != rate:
            burst = max(1.0, rate)
            bucket = self._buckets[key.id] = TokenBucket(rate, burst, burst, now)
            if len(self._buckets) > _BUCKETS:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(key.id)
        later = bucket.take(now)
        if not later:
            self._admitted[key.id] = self._admitted.get(key.id, 0) + 1
            return None
        return problem(429, "key-rate", "The key is used faster than its rate allows.", retry_after=later)


@lru_cache(maxsize=256)
def is_loopback_host(host: bytes) -> bool:
    """Tell whether a Host field names this machine to itself.

    >>> is_loopback_host(b"127.0.0.1:8000"), is_loopback_host(b"[::1]"), is_loopback_host(b"evil.example")
    (True, True, False)
    """
    text = host.decode("latin-1").lower()
    name = text[1 : text.find("]")] if text.startswith("[") else text.partition(":")[0]
    return is_loopback(name)


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach what listens at an address or name."""
    if host in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def needs_keys(host: str, *, has_keys: bool, insecure: bool = False, wanted: bool = False) -> bool:
    """Decide whether requests must show a key; refuse to start where they must and there is none.

    ``wanted`` asks for them on loopback, too: behind a proxy everybody comes from there.

    >>> needs_keys("127.0.0.1", has_keys=False), needs_keys("127.0.0.1", has_keys=True, wanted=True)
    (False, True)
    """
    if insecure or (is_loopback(host) and not wanted):
        return False
    if not has_keys:
        raise UsageError(
            f"listening on {host} would let everybody in: there is no API key"
            if not wanted
            else "nobody could come in: there is no API key",
            where="serve",
            hint="Make one with --new-key NAME"
            + ("." if wanted else "; or listen on 127.0.0.1, or let everybody in with --without-keys."),
        )
    return True


_NOBODY: Final = Admission()
_UNAUTHORIZED: Final = problem(
    401, "unauthorized", "A valid API key is needed.", "Send it as: Authorization: Bearer scoter_..."
)
_UNKNOWN: Final = problem(
    401, "unknown-key", "The API key is not known.", "It was revoked, is another service's, or was not copied whole."
)
KEY_NEEDED: Final = problem(
    401,
    "key-needed",
    "Keys are for those with a key.",
    "Even where everybody is let in, this needs a key with the scope admin: `scoter serve --new-key` makes the first.",
)
_MISDIRECTED: Final = problem(
    421, "misdirected", "Without keys the service answers only to loopback names.", "Ask for it as 127.0.0.1."
)
