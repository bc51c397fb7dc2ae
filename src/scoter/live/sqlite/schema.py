"""The tables of ``service.sqlite``, their format number, and upgrades from older formats.

One file contains everything that changes together: the records of an outcome, its event and its journal entry.

- ``messages``    accepted messages; kept for a while after their last URL is done, to recognise repeated ones by ``id``
  (with the name of the tenant, see ``tenants``) and ``digest`` (empty if an older version has stored the message)
- ``entries``     URLs that are not done: waiting, leased to ``reader`` until ``until``, or ``parked`` behind others of
  their domain and priority
- ``backlog``     the number of entries per registered domain and priority, and how many of them are not parked
- ``urls``        records by the 64-bit hash of their URL; ``overflow`` those whose hash collides with another URL. They
  are visible until ``expires``, and kept ``stale`` microseconds longer
- ``events``      events, numbered without gaps in commit order
- ``deliveries``  events to be posted to callbacks; ``due`` is null for those that were given up
- ``tenants``     the number of entries per tenant; triggers maintain it
- ``rules``, ``keys``  domain rules; API keys
- ``holds``       domains that must not be requested for longer than usual, and until when
- ``retries``     URLs whose last fetch failed, when they are fetched again, and whom the outcome is announced to
- ``tallies``     counters: entries by priority (``open0`` …), ``urls``, ``overflow``. Triggers maintain these and
  ``backlog``. Also ``window``: how many entries of a domain and priority are not parked; when one of them ends, the
  oldest parked one replaces it
- ``facts``       the boot id of the machine when leases were last checked

Times are microseconds since 1970; leases and ``due`` are seconds of ``clock.steady_now``.

A file has a format number. To change the tables: change ``_TABLES``, raise ``FORMAT``, and add the upgrade from the
previous format to ``_STEPS``. A service that opens an older file upgrades it in one transaction; it refuses a newer
file and leaves it unchanged.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Final

from scoter.store.formats import check_format

APPLICATION: Final = 0x5C07_0A11  # PRAGMA application_id: the file is ours
FORMAT: Final = 4

# Rows of ``urls`` have about a kilobyte: WITHOUT ROWID would store them in the inner pages too.
_TABLES: Final = """
CREATE TABLE messages (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, urls BLOB NOT NULL, first INTEGER NOT NULL,
  force INTEGER NOT NULL, callback TEXT NOT NULL, accepted INTEGER NOT NULL, open INTEGER NOT NULL, done INTEGER,
  digest BLOB NOT NULL DEFAULT x''
) STRICT;
CREATE INDEX messages_done ON messages (done) WHERE done IS NOT NULL;
CREATE TABLE entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT, message INTEGER NOT NULL, url TEXT NOT NULL, domain TEXT NOT NULL,
  priority INTEGER NOT NULL, accepted INTEGER NOT NULL, tries INTEGER NOT NULL DEFAULT 0, reader TEXT, until REAL,
  parked INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX entries_url ON entries (url);
CREATE INDEX entries_lent ON entries (until) WHERE reader IS NOT NULL;
CREATE TABLE urls (
  key INTEGER PRIMARY KEY, url TEXT NOT NULL, fetched INTEGER NOT NULL, expires INTEGER NOT NULL,
  value BLOB NOT NULL, stale INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE overflow (
  url TEXT PRIMARY KEY, fetched INTEGER NOT NULL, expires INTEGER NOT NULL, value BLOB NOT NULL,
  stale INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE events (
  number INTEGER PRIMARY KEY AUTOINCREMENT, message TEXT NOT NULL, url TEXT NOT NULL, at INTEGER NOT NULL,
  record BLOB NOT NULL
) STRICT;
CREATE TABLE deliveries (
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, callback TEXT NOT NULL, event BLOB NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0, lent INTEGER NOT NULL DEFAULT 0, due REAL, why TEXT NOT NULL DEFAULT '',
  ended INTEGER, tenant TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX deliveries_due ON deliveries (due) WHERE due IS NOT NULL;
CREATE INDEX deliveries_ended ON deliveries (ended) WHERE ended IS NOT NULL;
CREATE TABLE rules (domain TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE keys (id TEXT PRIMARY KEY, value BLOB NOT NULL, used INTEGER) STRICT;
CREATE TABLE tallies (name TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TRIGGER url_comes AFTER INSERT ON urls BEGIN
  UPDATE tallies SET n = n + 1 WHERE name = 'urls';
END;
CREATE TRIGGER url_goes AFTER DELETE ON urls BEGIN
  UPDATE tallies SET n = n - 1 WHERE name = 'urls';
END;
CREATE TRIGGER overflow_comes AFTER INSERT ON overflow BEGIN
  UPDATE tallies SET n = n + 1 WHERE name = 'overflow';
END;
CREATE TRIGGER overflow_goes AFTER DELETE ON overflow BEGIN
  UPDATE tallies SET n = n - 1 WHERE name = 'overflow';
END;
INSERT INTO tallies VALUES ('open0', 0), ('open1', 0), ('open2', 0), ('urls', 0), ('overflow', 0);
"""

# A domain with very many entries must not slow down the search for those of others: at most a window of its entries is
# not parked. All steps use an index, so their cost does not depend on the number of entries.
_PARKING: Final = """
CREATE INDEX entries_waiting ON entries (priority, id) WHERE reader IS NULL AND parked = 0;
CREATE INDEX entries_parked ON entries (domain, priority, id) WHERE parked = 1;
CREATE TABLE backlog (
  domain TEXT NOT NULL, priority INTEGER NOT NULL, n INTEGER NOT NULL, ready INTEGER NOT NULL,
  PRIMARY KEY (domain, priority)
) STRICT, WITHOUT ROWID;
INSERT INTO backlog SELECT domain, priority, count(*), count(*) FROM entries GROUP BY domain, priority;
INSERT INTO tallies VALUES ('window', 100);
CREATE TRIGGER entry_comes AFTER INSERT ON entries BEGIN
  INSERT INTO backlog VALUES (new.domain, new.priority, 1, 1 - new.parked)
    ON CONFLICT (domain, priority) DO UPDATE SET n = n + 1, ready = ready + excluded.ready;
  UPDATE tallies SET n = n + 1 WHERE name = 'open' || new.priority;
END;
CREATE TRIGGER entry_goes AFTER DELETE ON entries BEGIN
  UPDATE backlog SET n = n - 1, ready = ready - 1 + old.parked WHERE domain = old.domain AND priority = old.priority;
  UPDATE entries SET parked = 0 WHERE id IN (
    SELECT id FROM entries WHERE parked = 1 AND domain = old.domain AND priority = old.priority ORDER BY id LIMIT max(
      0,
      (SELECT n FROM tallies WHERE name = 'window')
        - (SELECT ready FROM backlog WHERE domain = old.domain AND priority = old.priority)
    )
  );
  DELETE FROM backlog WHERE domain = old.domain AND priority = old.priority AND n = 0;
  UPDATE tallies SET n = n - 1 WHERE name = 'open' || old.priority;
END;
CREATE TRIGGER entry_is_ready AFTER UPDATE OF parked ON entries BEGIN
  UPDATE backlog SET ready = ready + old.parked - new.parked WHERE domain = new.domain AND priority = new.priority;
END;
"""


_STALE_AND_HOLDS: Final = """
CREATE INDEX urls_expiry ON urls (expires + stale);
CREATE INDEX overflow_expiry ON overflow (expires + stale);
CREATE TABLE holds (domain TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX holds_until ON holds (until);
"""

# The tenant of a message is what its id has before the separator (char(31)), or "".
_TENANTS: Final = """
CREATE TABLE tenants (name TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO tenants
  SELECT substr(id, 1, max(0, instr(id, char(31)) - 1)) AS name, sum(open) FROM messages WHERE open > 0 GROUP BY name;
CREATE TRIGGER message_comes AFTER INSERT ON messages WHEN new.open > 0 BEGIN
  INSERT INTO tenants VALUES (substr(new.id, 1, max(0, instr(new.id, char(31)) - 1)), new.open)
    ON CONFLICT (name) DO UPDATE SET n = n + excluded.n;
END;
CREATE TRIGGER message_shrinks AFTER UPDATE OF open ON messages BEGIN
  UPDATE tenants SET n = n + new.open - old.open WHERE name = substr(new.id, 1, max(0, instr(new.id, char(31)) - 1));
  DELETE FROM tenants WHERE name = substr(new.id, 1, max(0, instr(new.id, char(31)) - 1)) AND n = 0;
END;
CREATE INDEX deliveries_tenant ON deliveries (tenant, number);
"""

_RETRIES: Final = """
CREATE TABLE retries (url TEXT PRIMARY KEY, due INTEGER NOT NULL, tenant TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX retries_due ON retries (due);
"""

# The statements that upgrade each older format to the next.
_STEPS: Final[Mapping[int, str]] = {
    1: """
ALTER TABLE entries ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;
DROP INDEX entries_waiting;
DROP TRIGGER entry_comes;
DROP TRIGGER entry_goes;
DROP TABLE backlog;
"""
    + _PARKING,
    2: """
ALTER TABLE urls ADD COLUMN stale INTEGER NOT NULL DEFAULT 0;
ALTER TABLE overflow ADD COLUMN stale INTEGER NOT NULL DEFAULT 0;
DROP INDEX urls_expiry;
DROP INDEX overflow_expiry;
"""
    + _STALE_AND_HOLDS,
    # Also removes records that were stored under the canonical URL of a page, which was not requested itself.
    3: """
ALTER TABLE messages ADD COLUMN digest BLOB NOT NULL DEFAULT x'';
ALTER TABLE deliveries ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
DELETE FROM urls WHERE direct = 0;
DELETE FROM overflow WHERE direct = 0;
ALTER TABLE urls DROP COLUMN direct;
ALTER TABLE overflow DROP COLUMN direct;
"""
    + _TENANTS
    + _RETRIES,
}


class WrongDatabase(Exception):
    """The file is not the database of a service, or has an unsupported format; the message says which."""


def prepare(
    connection: sqlite3.Connection, *, to: int = FORMAT, steps: Mapping[int, str] = _STEPS, where: str = ""
) -> None:
    """Create the tables in a new file, or upgrade an older one; raise ``WrongDatabase`` for any other file."""
    connection.execute("BEGIN IMMEDIATE")  # two processes may open a new file at the same time
    try:
        version = check(connection, to, where=where)
        if version == 0:
            _carry_out(connection, _TABLES + _PARKING + _STALE_AND_HOLDS + _TENANTS + _RETRIES)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
        for each in range(version, to) if version else ():
            if each not in steps:
                raise WrongDatabase(f"was written by a Scoter that is too old (format {version}, this one knows {to})")
            _carry_out(connection, steps[each])
        if version != to:
            connection.execute(f"PRAGMA user_version = {to}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _carry_out(connection: sqlite3.Connection, script: str) -> None:
    for statement in _statements(script):
        connection.execute(statement)


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script; ``executescript`` would commit first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def check(connection: sqlite3.Connection, known: int = FORMAT, *, where: str = "") -> int:
    """Return the format of a file, 0 if it is empty.

    Raise ``MadeByNewer`` if it is newer than known, and ``WrongDatabase`` if it is not ours.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION and (application or version or tables):
        raise WrongDatabase("is a database, but not a live service's")
    check_format("the database", version, known, where=where)
    return int(version)


def free_leases(connection: sqlite3.Connection, boot: str, *, alone: bool) -> None:
    """End the leases of readers that must be dead.

    After a reboot all of them are, and the lease clock has restarted. With ``alone`` this process is the only writer,
    so any reader with a lease is dead too.
    """
    found = connection.execute("SELECT value FROM facts WHERE name = 'boot'").fetchone()
    restarted = found is None or found[0] != boot
    if not (restarted or alone):
        return
    connection.execute("UPDATE entries SET reader = NULL, until = NULL WHERE reader IS NOT NULL")
    lent = "due IS NOT NULL" if restarted else "due IS NOT NULL AND lent"
    connection.execute(f"UPDATE deliveries SET lent = 0, due = 0 WHERE {lent}")  # noqa: S608 - one of two literals
    connection.execute("INSERT OR REPLACE INTO facts VALUES ('boot', ?)", (boot,))
