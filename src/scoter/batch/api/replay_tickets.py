"""Tickets for replay: an archived page in a sandbox has no cookie, so the addresses in it carry a ticket.

A ticket allows reading the archived copies of one crawl. It is valid as long as the key and the session that it was
made for, and at most an hour after the last page was opened.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Final

from msgspec import Struct

from scoter.core.bounded import BoundedMap
from scoter.http.access import AccessDecision
from scoter.http.api_keys import key_id_in
from scoter.http.sessions import SessionAccess, session_secret

LIFETIME: Final = 3_600.0  # seconds
MAX_TICKETS: Final = 10_000
_TOO_MANY: Final = 429


class ReplayTicket(Struct, frozen=True):
    """Whom a ticket was made for: the ID of a key, or the secret of a session; neither if no key is needed."""

    crawl: str
    key: str
    secret: str
    ends: float


class ReplayTickets:
    """The tickets of a server, in memory: one per crawl and key or session."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._all: BoundedMap[str, ReplayTicket] = BoundedMap(MAX_TICKETS)

    def issue(self, crawl: str, headers: Mapping[bytes, bytes]) -> str:
        """Return the ticket for a request that was admitted."""
        _, _, bearer = headers.get(b"authorization", b"").partition(b" ")
        key = key_id_in(bearer.strip().decode("latin-1"))
        secret = "" if key else session_secret(headers.get(b"cookie", b""))
        text = "\0".join((crawl, key, secret)).encode("utf-8", "surrogateescape")
        ticket = hmac.new(self._key, text, sha256).hexdigest()
        self._all.put(ticket, ReplayTicket(crawl, key, secret, self._clock() + LIFETIME))
        return ticket

    def admit(self, ticket: str, access: SessionAccess) -> tuple[str | None, AccessDecision]:
        """Return the crawl that a ticket is for, unless it has expired or its key or session has ended.

        The request counts as one of the key.
        """
        found = self._all.get(ticket)
        if found is None or found.ends <= self._clock():
            return None, AccessDecision()
        if not access.needs_key:
            return found.crawl, AccessDecision()
        session = access.sessions.find(found.secret) if found.secret else None
        decision = access.admit_id(found.key or (session.key if session is not None else ""), "read")
        is_valid = decision.refusal is None or decision.refusal.status == _TOO_MANY
        return found.crawl if is_valid else None, decision
