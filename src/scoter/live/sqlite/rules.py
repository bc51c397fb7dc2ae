"""What was set for domains while the service ran (``ports.DomainRules``)."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from scoter.api import DomainRule
from scoter.live.sqlite.database import ServiceDb

_decode = msgspec.json.Decoder(DomainRule).decode


class SqliteRules:
    """The rules in the service's database."""

    def __init__(self, db: ServiceDb) -> None:
        self._db = db

    def get(self, domain: str) -> DomainRule | None:
        """Return what holds for a registered domain, if anything was set."""
        row = self._db.reader.one("SELECT value FROM rules WHERE domain = ?", (domain,))
        return _decode(row[0]) if row else None

    def all(self) -> Sequence[DomainRule]:
        """Return every rule, by name."""
        return [_decode(value) for (value,) in self._db.reader.all("SELECT value FROM rules ORDER BY domain")]

    async def put(self, rule: DomainRule) -> None:
        """Set a rule in the place of the one before. A rule that says nothing is no rule."""

        def change(connection: sqlite3.Connection) -> None:
            if rule == DomainRule(domain=rule.domain):
                connection.execute("DELETE FROM rules WHERE domain = ?", (rule.domain,))
            else:
                value = msgspec.json.encode(rule)
                connection.execute("INSERT OR REPLACE INTO rules VALUES (?, ?)", (rule.domain, value))

        await self._db.write(change)
