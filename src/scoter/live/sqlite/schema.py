"""The tables of ``service.sqlite``, and which versions of them this program knows.

One file holds what must change together: an outcome's records, its announcement and the end of its entry.

- ``messages``    accepted messages; kept for a while after their last URL is done, so that a repeated one is known
- ``entries``     URLs that are not done: waiting when nobody reads them, else lent to ``reader`` until ``until``
- ``backlog``     how many entries a registered domain has, where it has any
- ``urls``        records by the 64-bit hash of their URL; ``overflow`` those whose hash was taken by another URL
- ``events``      announcements, numbered without gaps in the order of their commits
- ``deliveries``  announcements on their way to a callback; ``due`` is null for one that was given up
- ``rules``, ``keys``  what was set for domains; who may come in
- ``tallies``     counts that would be slow to count: entries by priority (``open0`` …), ``urls``, ``overflow``;
  triggers keep these and ``backlog``, so that no change can forget to
- ``facts``       the machine's run in which the leases were given

Moments are microseconds since 1970; leases and ``due`` are seconds of the machine's own clock (see ``ticks``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Final

APPLICATION: Final = 0x5C07_0A11  # PRAGMA application_id: the file is ours
FORMAT: Final = 1

# Rows of ``urls`` are about a kilobyte: with WITHOUT ROWID they would fill the inner pages too.
_TABLES: Final = """
CREATE TABLE messages (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, urls BLOB NOT NULL, first INTEGER NOT NULL,
  force INTEGER NOT NULL, callback TEXT NOT NULL, accepted INTEGER NOT NULL, open INTEGER NOT NULL, done INTEGER
) STRICT;
CREATE INDEX messages_done ON messages (done) WHERE done IS NOT NULL;
CREATE TABLE entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT, message INTEGER NOT NULL, url TEXT NOT NULL, domain TEXT NOT NULL,
  priority INTEGER NOT NULL, accepted INTEGER NOT NULL, tries INTEGER NOT NULL DEFAULT 0, reader TEXT, until REAL
) STRICT;
CREATE INDEX entries_url ON entries (url);
CREATE INDEX entries_waiting ON entries (priority, id) WHERE reader IS NULL;
CREATE INDEX entries_lent ON entries (until) WHERE reader IS NOT NULL;
CREATE TABLE backlog (domain TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE urls (
  key INTEGER PRIMARY KEY, url TEXT NOT NULL, fetched INTEGER NOT NULL, expires INTEGER NOT NULL,
  direct INTEGER NOT NULL, value BLOB NOT NULL
) STRICT;
CREATE INDEX urls_expiry ON urls (expires);
CREATE TABLE overflow (
  url TEXT PRIMARY KEY, fetched INTEGER NOT NULL, expires INTEGER NOT NULL, direct INTEGER NOT NULL, value BLOB NOT NULL
) STRICT;
CREATE INDEX overflow_expiry ON overflow (expires);
CREATE TABLE events (
  number INTEGER PRIMARY KEY AUTOINCREMENT, message TEXT NOT NULL, url TEXT NOT NULL, at INTEGER NOT NULL,
  record BLOB NOT NULL
) STRICT;
CREATE TABLE deliveries (
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, callback TEXT NOT NULL, event BLOB NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0, lent INTEGER NOT NULL DEFAULT 0, due REAL, why TEXT NOT NULL DEFAULT '',
  ended INTEGER
) STRICT;
CREATE INDEX deliveries_due ON deliveries (due) WHERE due IS NOT NULL;
CREATE INDEX deliveries_ended ON deliveries (ended) WHERE ended IS NOT NULL;
CREATE TABLE rules (domain TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE keys (id TEXT PRIMARY KEY, value BLOB NOT NULL, used INTEGER) STRICT;
CREATE TABLE tallies (name TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TRIGGER entry_comes AFTER INSERT ON entries BEGIN
  INSERT INTO backlog VALUES (new.domain, 1) ON CONFLICT (domain) DO UPDATE SET n = n + 1;
  UPDATE tallies SET n = n + 1 WHERE name = 'open' || new.priority;
END;
CREATE TRIGGER entry_goes AFTER DELETE ON entries BEGIN
  UPDATE backlog SET n = n - 1 WHERE domain = old.domain;
  DELETE FROM backlog WHERE domain = old.domain AND n = 0;
  UPDATE tallies SET n = n - 1 WHERE name = 'open' || old.priority;
END;
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


class Foreign(Exception):
    """The file is no service's database, or one of a later version; the text says which."""


def prepare(connection: sqlite3.Connection) -> None:
    """Make the tables in a new file; refuse one that this program cannot keep."""
    connection.execute("BEGIN IMMEDIATE")  # two processes may open a new file at the same moment
    try:
        if check(connection) == 0:
            for statement in _statements(_TABLES):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _statements(script: str) -> Iterator[str]:
    """Return the statements of a script; ``executescript`` would commit before the first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def check(connection: sqlite3.Connection) -> int:
    """Return the version of a file's tables, 0 for an empty file."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION and (application or version or tables):
        raise Foreign("is a database, but not a live service's")
    if version > FORMAT:
        raise Foreign(f"was written by a newer Scoter (format {version}, this one knows {FORMAT})")
    return int(version)


def free_leases(connection: sqlite3.Connection, boot: str, *, alone: bool) -> None:
    """Take back what was lent by readers that cannot live any more.

    After a restart of the machine none does, and its clock counts from nought again; and ``alone`` says that this
    process is the only one that writes, so that whoever held a lease is dead.
    """
    found = connection.execute("SELECT value FROM facts WHERE name = 'boot'").fetchone()
    restarted = found is None or found[0] != boot
    if not (restarted or alone):
        return
    connection.execute("UPDATE entries SET reader = NULL, until = NULL WHERE reader IS NOT NULL")
    lent = "due IS NOT NULL" if restarted else "due IS NOT NULL AND lent"
    connection.execute(f"UPDATE deliveries SET lent = 0, due = 0 WHERE {lent}")  # noqa: S608 - one of two literals
    connection.execute("INSERT OR REPLACE INTO facts VALUES ('boot', ?)", (boot,))
