"""Who may come in: API keys with scopes and a rate each; and when a service may do without."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from typing import Final, Protocol

from msgspec import Struct

from scoter.errors import UsageError
from scoter.live.memory.access import ApiKey
from scoter.web.asgi import Fields
from scoter.web.problems import Problem, problem

_BUCKETS: Final = 10_000
_LOCAL_NAMES: Final = frozenset({"localhost", "ip6-localhost"})


class Scope(StrEnum):
    """What a key is good for; ``OPEN`` needs none."""

    OPEN = ""
    READ = "read"
    SUBMIT = "submit"
    ADMIN = "admin"


class KeyCheck(Protocol):
    """The part of the keys' store that is asked for every request."""

    def check(self, token: str) -> ApiKey | None:
        """Return whose token it is, if anyone's, in a time that does not depend on how wrong it is."""


class Admitted(Struct, frozen=True):
    """Who may go on; nobody in particular where no key is needed."""

    key: ApiKey | None = None


class Bucket(Struct):
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


class Gate:
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
        share: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``share`` is this process's part of each key's rate, where several answer side by side."""
        self._keys = keys
        self._required = required
        self._any_host = any_host or required
        self._share = share
        self._clock = clock
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def admit(self, headers: Fields, needed: Scope) -> Admitted | Problem:
        """Return who asks, or why they may not."""
        if needed is Scope.OPEN:
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
            return _UNAUTHORIZED
        if needed not in key.scopes and Scope.ADMIN not in key.scopes:
            detail = f"This needs a key with the scope {needed.value}."
            return problem(403, "scope", "The key is not good for this.", detail)
        return self._limited(key) or Admitted(key)

    def _limited(self, key: ApiKey) -> Problem | None:
        if key.rate is None or key.rate <= 0:
            return None
        now = self._clock()
        bucket = self._buckets.get(key.id)
        rate = key.rate * self._share
        if bucket is None or bucket.rate != rate:
            burst = max(1.0, rate)
            bucket = self._buckets[key.id] = Bucket(rate, burst, burst, now)
            if len(self._buckets) > _BUCKETS:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(key.id)
        later = bucket.take(now)
        if not later:
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


def needs_keys(host: str, *, has_keys: bool, insecure: bool = False) -> bool:
    """Decide whether requests must show a key; refuse to start where they must and there is none.

    >>> needs_keys("127.0.0.1", has_keys=False)
    False
    """
    if is_loopback(host) or insecure:
        return False
    if not has_keys:
        raise UsageError(
            f"listening on {host} would let everybody in: there is no API key",
            where="serve",
            hint="Make a key first, listen on 127.0.0.1, or say that no keys are wanted.",
        )
    return True


_NOBODY: Final = Admitted()
_UNAUTHORIZED: Final = problem(
    401, "unauthorized", "A valid API key is needed.", "Send it as: Authorization: Bearer scoter_..."
)
_MISDIRECTED: Final = problem(
    421, "misdirected", "Without keys the service answers only to loopback names.", "Ask for it as 127.0.0.1."
)
