"""TODO: describe."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Final, Protocol

from msgspec import Struct

_PREFIX: Final = "scoter"


_ID_BYTES: Final = 6


_SECRET_BYTES: Final = 32


MOST_KEYS: Final = 1_000


class ApiKey(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who may come in, and for what; ``rate`` is in requests a second. The token itself is kept nowhere."""

    id: str
    name: str
    scopes: tuple[str, ...]
    hash: bytes
    created: datetime
    rate: float | None = None
    last_used: datetime | None = None


class KeyUses:
    """When keys were last used, as far as it is not written down yet."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._latest: dict[str, datetime] = {}

    def see(self, key: str) -> None:
        self._latest[key] = self._clock()

    def add(self, uses: Mapping[str, datetime]) -> None:
        for key, at in uses.items():
            self._latest[key] = max(at, self._latest.get(key, at))

    def take(self) -> Mapping[str, datetime]:
        taken, self._latest = self._latest, {}
        return taken


class ApiKeys(Protocol):
    """The keys of a service."""

    async def create(self, name: str, scopes: Sequence[str], rate: float | None = None) -> tuple[ApiKey, str]:
        """Make a key; return it with its token, which cannot be shown again."""

    def all(self) -> Sequence[ApiKey]:
        """Return every key, in the order of their making."""

    async def revoke(self, key: str) -> bool:
        """Remove a key by its id, from now on; tell whether there was one."""

    def check(self, token: str) -> ApiKey | None:
        """Return whose token it is, if anyone's."""

    async def note_uses(self) -> None:
        """Keep when each key was last used: gathered, since a write for every request would cost more than most."""

    def take_uses(self) -> Mapping[str, datetime]:
        """Return the uses that are not kept yet, and forget them: another process is told."""

    def add_uses(self, uses: Mapping[str, datetime]) -> None:
        """Take note of uses that another process saw."""


def new_key(name: str, scopes: Sequence[str], rate: float | None, now: datetime) -> tuple[ApiKey, str]:
    """Return a key and its token."""
    identity, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
    token = f"{_PREFIX}_{identity}_{secret}"
    key = ApiKey(id=identity, name=name, scopes=tuple(scopes), hash=_hash(token), created=now, rate=rate)
    return key, token


def key_id_in(token: str) -> str:
    """Return the id that a token names, or nothing.

    >>> id_in("scoter_0a1b_secret"), id_in("something else")
    ('0a1b', '')
    """
    parts = token.split("_", 2)
    return parts[1] if len(parts) == 3 and parts[0] == _PREFIX and token.isascii() else ""


def token_matches(key: ApiKey, token: str) -> bool:
    """Tell whether a token is a key's, in a time that tells nothing of it."""
    return hmac.compare_digest(key.hash, _hash(token))


def _hash(token: str) -> bytes:
    # A slow hash keeps guessable passwords from being tried out. A token has 256 random bits, which nobody guesses at
    # any speed, so one SHA-256 does, and a request does not pay for stretching. Being random it needs no salt either.
    return sha256(token.encode()).digest()
