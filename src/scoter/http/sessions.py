"""Sessions for browsers: a key is exchanged for a cookie, and writes must come from the server's own pages.

Sessions survive a restart in a file that is useless without the cookies: it has a digest of each session's secret, and
the ID of its key, never the key itself. A session ends when its key is revoked.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from scoter.core.bounded import BoundedMap
from scoter.http.access import FOREIGN, AccessControl, AccessDecision, KeyCheck, is_same_origin
from scoter.http.asgi import Fields
from scoter.http.problems import problem
from scoter.http.records import KeyScope, Problem

_log = logging.getLogger(__name__)
COOKIE: Final = "scoter_session"
LIFETIME: Final = timedelta(hours=12)
MAX_SESSIONS: Final = 1_000
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_NO_ORIGIN: Final = problem(
    403, "no-origin", "A change with a session cookie needs an Origin header.", "Or send a key: Authorization: Bearer."
)


class StoredSession(Struct, frozen=True):
    """A session: the digest of its secret, when it ends, and the ID of its key, which must exist at every request.

    The ID is empty in sessions that an older version has stored: they have ended.
    """

    digest: bytes
    ends: float
    key: str = ""


class Sessions:
    """The sessions of a server; the least recently used is forgotten beyond a bound."""

    def __init__(
        self,
        file: Path | None = None,
        *,
        most: int = MAX_SESSIONS,
        lifetime: timedelta = LIFETIME,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """With a ``file``, sessions survive a restart of the server."""
        self._file = file
        self._lifetime = lifetime.total_seconds()
        self._clock = clock
        self._all: BoundedMap[bytes, StoredSession] = BoundedMap(most)
        for each in _read(file) if file is not None else ():
            if each.ends > self._clock():
                self._all.put(each.digest, each)

    def __len__(self) -> int:
        return len(self._all)

    def create(self, key: str) -> tuple[str, datetime]:
        """Return the secret of a new session for the key with an ID, and when it ends."""
        secret = secrets.token_urlsafe(32)
        ends = self._clock() + self._lifetime
        session = StoredSession(_digest(secret), ends, key)
        self._all.put(session.digest, session)
        self._changed(session.digest, session)
        return secret, datetime.fromtimestamp(ends, UTC)

    async def shared(self) -> None:
        """Wait until other servers know what has changed here, if there are any."""

    def find(self, secret: str) -> StoredSession | None:
        """Return a session that has not ended."""
        found = self._all.get(_digest(secret))
        if found is None:
            return None
        if found.ends <= self._clock():
            self.end(secret)
            return None
        return found

    def end(self, secret: str) -> None:
        """End a session at once."""
        digest = _digest(secret)
        if self._all.pop(digest) is not None:
            self._changed(digest, None)

    def _changed(self, digest: bytes, session: StoredSession | None) -> None:
        """Store a new session, or that one has ended."""
        self._write()

    def _learn(self, digest: bytes, session: StoredSession | None) -> None:
        """Note a change that another server has made."""
        if session is None:
            self._all.pop(digest)
        elif session.ends > self._clock():
            self._all.put(digest, session)

    def _write(self) -> None:
        if self._file is None:
            return
        now = self._clock()
        kept = [each for key in self._all if (each := self._all.peek(key)) is not None and each.ends > now]
        new = self._file.with_name(self._file.name + ".new")
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
                out.write(msgspec.json.encode(kept))
            new.replace(self._file)
        except OSError as error:  # a full disk, for example: the session is valid until the server ends
            _log.warning("cannot store the sessions in %s: %s", self._file, error)


def _read(file: Path) -> list[StoredSession]:
    """Return the stored sessions; none if the file is missing or damaged, so that people log in again."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=list[StoredSession])
    except (OSError, msgspec.DecodeError):
        return []


class SessionAccess(AccessControl):
    """Admits keys as ``AccessControl`` does, and sessions in place of keys.

    A browser sends cookies, and reaches a server without keys, whatever page asked it to. So a change that is not
    authorised by a key must come from a page of this server: its Origin must be that of the Host header.
    """

    def __init__(
        self,
        keys: KeyCheck,
        sessions: Sessions,
        *,
        required: bool,
        any_host: bool = False,
        origins: Iterable[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``origins`` are those whose pages may use the API without a key; ``*`` for all."""
        super().__init__(keys, required=required, any_host=any_host, origins=origins, clock=clock)
        self.sessions = sessions

    def admit(self, headers: Fields, needed: KeyScope | None, method: str = "GET") -> AccessDecision:
        fields = dict(headers)
        if needed is None or b"authorization" in fields:
            return super().admit(headers, needed, method)
        secret = session_secret(fields.get(b"cookie", b""))
        session = self.sessions.find(secret) if secret else None
        # Configured origins may use the API without a key, but never somebody's session.
        is_allowed = session is None and self.is_configured(fields.get(b"origin", b""))
        if method not in _SAFE and not is_allowed:
            refused = _check_origin(fields.get(b"origin"), fields.get(b"host", b""), required=session is not None)
            if refused is not None:
                return AccessDecision(refusal=refused)
        if session is None:
            return super().admit(headers, needed, method)
        return self.admit_id(session.key, needed)

    def admit_id(self, key: str, needed: KeyScope) -> AccessDecision:
        """Decide about a request of a session by the ID of its key."""
        return self.admit_key(self._keys.find(key), needed)


def session_secret(cookie: bytes) -> str:
    """Return the secret of the session in a Cookie header, or an empty string.

    >>> session_secret(b"a=1; scoter_session=xyz")
    'xyz'
    """
    try:
        found = SimpleCookie(cookie.decode("latin-1")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def session_cookie(secret: str, *, seconds: int, secure: bool) -> bytes:
    """Return the value of a Set-Cookie header; with 0 seconds, the cookie is deleted."""
    attributes = f"Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}"
    return f"{COOKIE}={secret}; {attributes}{'; Secure' if secure else ''}".encode()


def is_behind_tls(headers: dict[bytes, bytes]) -> bool:
    """Return whether a browser uses https, as its own or a proxy's header says."""
    return headers.get(b"x-forwarded-proto", b"").strip().lower() == b"https" or headers.get(
        b"origin", b""
    ).lower().startswith(b"https://")


def _check_origin(origin: bytes | None, host: bytes, *, required: bool) -> Problem | None:
    if origin is None:
        return _NO_ORIGIN if required else None
    return None if is_same_origin(origin.decode("latin-1"), host.decode("latin-1")) else FOREIGN


def _digest(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "surrogateescape")).digest()
