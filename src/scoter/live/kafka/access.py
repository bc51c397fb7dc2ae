"""API keys in Cassandra (``http.api_keys.ApiKeys``), and the ids of messages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec
from msgspec.structs import replace

from scoter.errors import ScoterError
from scoter.http.api_keys import ApiKey, key_id_in, new_key, token_matches
from scoter.live.clock import from_micros, to_micros, utc_now
from scoter.live.intake.journal_rules import is_conflict
from scoter.live.kafka.cassandra import CassandraSession
from scoter.live.kafka.faults import FAULTS, FaultKind
from scoter.live.ports import Accepted
from scoter.live.records import Message

_PART: Final = 0  # all keys are in one partition: there are at most a thousand
_READ_EVERY: Final = 1.0
_CLAIM: Final = "INSERT INTO messages (id, urls, is_stored, digest) VALUES (?, ?, false, ?) IF NOT EXISTS USING TTL ?"
_CLAIMED: Final = "SELECT urls, is_stored, digest FROM messages WHERE id = ?"
_STORED: Final = "INSERT INTO messages (id, urls, is_stored, digest) VALUES (?, ?, true, ?) USING TTL ?"
_decode_key = msgspec.json.Decoder(ApiKey).decode
_decode_entries = msgspec.json.Decoder(dict[str, int]).decode
_log = logging.getLogger(__name__)


class MessageIds:
    """Recognises messages that are sent again.

    An id is claimed with a lightweight transaction before its URLs are sent to Kafka, and marked as stored afterwards.
    A claim that was never marked belongs to a process that died, or is still sending: the URLs are then sent again.
    """

    def __init__(self, session: CassandraSession, kept: timedelta) -> None:
        """Remember ids for ``kept``."""
        self._session = session
        self._seconds = max(1, round(kept.total_seconds()))

    async def claim(self, messages: Sequence[Message]) -> list[Accepted | None]:
        """Return each message that is stored already, or whose id belongs to another; ``None`` for the others."""
        # One after the other: the same id may occur twice.
        return [await self._claim(message) if message.is_named else None for message in messages]

    async def _claim(self, message: Message) -> Accepted | None:
        name = message.id
        rows = await self._session.run(_CLAIM, name, b"{}", message.digest, self._seconds, is_idempotent=False)
        if rows and rows[0][0]:  # [applied]
            return None
        found = await self._session.run(_CLAIMED, name)
        if not found:
            return None
        urls, is_stored, digest = found[0]
        if is_conflict(message, digest or b""):
            return Accepted(message=name, entries={}, is_new=False, is_conflict=True)
        return Accepted(message=name, entries=_decode_entries(urls), is_new=False) if is_stored else None

    async def stored(self, messages: Sequence[tuple[Message, Mapping[str, int]]]) -> None:
        """Note that Kafka has the URLs of messages. If this fails, repeated messages are processed again."""
        rows = [
            (message.id, msgspec.json.encode(entries), message.digest, self._seconds) for message, entries in messages
        ]
        try:
            await self._session.run_all(_STORED, rows)
        except ScoterError as error:
            _log.warning("cannot store the ids of messages: %s", error)


class CassandraKeys:
    """The API keys of a service. ``run`` keeps a copy in memory, at most a second old."""

    def __init__(self, session: CassandraSession, clock: Callable[[], datetime] = utc_now) -> None:
        self._session = session
        self._clock = clock
        self._keys: dict[str, ApiKey] = {}
        self._uses: dict[str, datetime] = {}

    async def run(self) -> None:
        """Read the keys every second."""
        is_failing = False
        while True:
            try:
                await self.read()
                is_failing = False
            except ScoterError as error:  # the known keys stay valid
                if not is_failing:
                    _log.warning("cannot read the API keys: %s", error)
                is_failing = True
            await asyncio.sleep(_READ_EVERY)

    async def read(self) -> None:
        """Read the keys now."""
        rows = await self._session.run("SELECT id, value, used FROM keys WHERE part = ?", _PART)
        found = [key for row in rows if row[1] is not None and (key := _key(*row)) is not None]
        self._keys = {key.id: key for key in sorted(found, key=lambda key: (key.created, key.id))}

    def check(self, token: str) -> ApiKey | None:
        """Return the key of a token, or ``None`` if the token is invalid."""
        key = self._keys.get(key_id_in(token))
        if key is None or not token_matches(key, token):
            return None
        self._uses[key.id] = self._clock()
        return key

    def find(self, key: str) -> ApiKey | None:
        """Return the key with an id, for a session that its token has opened; ``None`` if it was revoked."""
        found = self._keys.get(key)
        if found is not None:
            self._uses[key] = self._clock()
        return found

    def all(self) -> Sequence[ApiKey]:
        """Return all keys, oldest first."""
        return list(self._keys.values())

    async def restore(self, key: ApiKey) -> None:
        """Store a key of another service; its token stays valid."""
        values = (_PART, key.id, msgspec.json.encode(replace(key, last_used=None)))
        await self._session.run("INSERT INTO keys (part, id, value) VALUES (?, ?, ?)", *values)
        self._keys[key.id] = key

    async def create(
        self, name: str, scopes: Sequence[str], rate: float | None = None, tenant: str = ""
    ) -> tuple[ApiKey, str]:
        """Create a key; return it with its token, which cannot be shown again."""
        key, token = new_key(name, scopes, rate, self._clock(), tenant)
        await self._session.run(
            "INSERT INTO keys (part, id, value) VALUES (?, ?, ?)", _PART, key.id, msgspec.json.encode(key)
        )
        self._keys[key.id] = key
        return key, token

    async def revoke(self, key: str) -> bool:
        """Remove a key; return whether it existed. Other processes notice within a second."""
        await self.read()
        known = self._keys.pop(key, None)
        if known is not None:
            await self._session.run("DELETE FROM keys WHERE part = ? AND id = ?", _PART, key)
        return known is not None

    async def note_uses(self) -> None:
        """Store when each key was last used."""
        # A write to a revoked key would bring it back without its value; ``read`` skips such rows.
        used = {key: at for key, at in self.take_uses().items() if key in self._keys}
        rows = [(to_micros(at), _PART, key) for key, at in used.items()]
        await self._session.run_all("UPDATE keys SET used = ? WHERE part = ? AND id = ?", rows)
        for key, at in used.items():
            self._keys[key] = replace(self._keys[key], last_used=at)

    def take_uses(self) -> Mapping[str, datetime]:
        """Return and clear the uses that are not stored yet."""
        taken, self._uses = self._uses, {}
        return taken

    def add_uses(self, uses: Mapping[str, datetime]) -> None:
        """Add uses that another process has seen."""
        for key, at in uses.items():
            self._uses[key] = max(at, self._uses.get(key, at))


def _key(name: str, value: bytes, used: int | None) -> ApiKey | None:
    """Return a stored key; ``None`` if this version cannot read it, so that its token is invalid here."""
    try:
        key = _decode_key(value)
    except msgspec.MsgspecError as error:
        detail = f"the API key {name!r} is unreadable, perhaps written by a newer Scoter: {error}"
        FAULTS.note("cassandra", FaultKind.UNREADABLE, detail, about=f"key {name}")
        return None
    return key if used is None else replace(key, last_used=from_micros(used))
