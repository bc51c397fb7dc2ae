"""API keys: the record, the port, and how tokens are made and checked."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Final, Protocol

from msgspec import Struct

_PREFIX: Final = "scoter"
_ID_BYTES: Final = 6
_SECRET_BYTES: Final = 32
MOST_KEYS: Final = 1_000

DEFAULT_TENANT: Final = ""
_TENANT_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_RESERVED: Final = frozenset({"other"})  # stands for many tenants in metrics


class ApiKey(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An API key: its scopes, its tenant, and its rate limit in requests per second.

    Only the hash of its token is stored.
    """

    id: str
    name: str
    scopes: tuple[str, ...]
    hash: bytes
    created: datetime
    rate: float | None = None
    last_used: datetime | None = None
    tenant: str = ""


class ApiKeys(Protocol):
    """The API keys of a service."""

    async def create(
        self, name: str, scopes: Sequence[str], rate: float | None = None, tenant: str = ""
    ) -> tuple[ApiKey, str]:
        """Create a key; return it with its token, which cannot be shown again."""

    def all(self) -> Sequence[ApiKey]:
        """Return all keys, oldest first."""

    async def revoke(self, key: str) -> bool:
        """Remove a key at once; return whether it existed."""

    def check(self, token: str) -> ApiKey | None:
        """Return the key of a token, or ``None`` if the token is invalid."""

    def find(self, key: str) -> ApiKey | None:
        """Return the key with an id, for a session that its token has opened; ``None`` if it was revoked."""

    async def note_uses(self) -> None:
        """Store when each key was last used; called now and then, since a write per request would be expensive."""

    def take_uses(self) -> Mapping[str, datetime]:
        """Return and clear the uses that are not stored yet, to send them to another process."""

    def add_uses(self, uses: Mapping[str, datetime]) -> None:
        """Add uses that another process has seen."""


def new_key(
    name: str, scopes: Sequence[str], rate: float | None, now: datetime, tenant: str = ""
) -> tuple[ApiKey, str]:
    """Return a new key and its token."""
    identity, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
    token = f"{_PREFIX}_{identity}_{secret}"
    key = ApiKey(id=identity, name=name, scopes=tuple(scopes), hash=_hash(token), created=now, rate=rate, tenant=tenant)
    return key, token


def key_id_in(token: str) -> str:
    """Return the key id in a token, or an empty string.

    >>> key_id_in("scoter_0a1b_secret"), key_id_in("something else")
    ('0a1b', '')
    """
    parts = token.split("_", 2)
    return parts[1] if len(parts) == 3 and parts[0] == _PREFIX and token.isascii() else ""


def token_matches(key: ApiKey, token: str) -> bool:
    """Return whether a token belongs to a key, in constant time."""
    return hmac.compare_digest(key.hash, _hash(token))


def _hash(token: str) -> bytes:
    # Slow hashes and salts protect guessable passwords. A token has 256 random bits, so one SHA-256 is enough and
    # keeps requests cheap.
    return sha256(token.encode()).digest()


def is_tenant_name(text: str) -> bool:
    """Return whether a tenant can have this name.

    >>> is_tenant_name("acme-2"), is_tenant_name("Acme Ltd."), is_tenant_name("")
    (True, False, False)
    """
    return _TENANT_NAME.fullmatch(text) is not None and text not in _RESERVED
