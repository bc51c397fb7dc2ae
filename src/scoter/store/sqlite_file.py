"""Small SQLite files that several processes share, such as the robots.txt cache.

They use WAL mode: readers never wait, and what was written survives a kill. A power failure may lose the last writes.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from msgspec import Struct

from scoter.errors import UsageError
from scoter.store.disk import disk_errors
from scoter.store.formats import check_format

BUSY = 5.0  # seconds that a write waits for one by another process


class SqliteKind(Struct, frozen=True, kw_only=True):
    """A kind of file: what people call it, how it is recognised, and its tables."""

    name: str
    application: int
    """PRAGMA application_id, which identifies our files."""
    schema: str
    format: int = 1
    hint: str = ""
    """What to do if a file cannot be opened."""


def open_sqlite(path: Path, kind: SqliteKind) -> sqlite3.Connection:
    """Return a connection to a file that is, or becomes, of this kind."""
    with disk_errors(f"open the {kind.name}", path):
        path.parent.mkdir(parents=True, exist_ok=True)
    hint = kind.hint
    try:
        connection = connect(path)
        try:
            _prepare(connection, path, kind)
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        # On a full disk SQLite cannot even map its shared memory, and reports an I/O error.
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL):
            hint = "Make room on the disk if it is full; what was written before is intact."
        raise UsageError(f"cannot open the {kind.name}: {error}", where=str(path), hint=hint) from error
    except ValueError as error:
        raise UsageError(str(error), where=str(path), hint=hint) from None
    return connection


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection that any thread may use, one at a time."""
    connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA synchronous = NORMAL")  # survives a kill; a power failure may lose the last writes
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, kind: SqliteKind) -> None:
    connection.execute("BEGIN IMMEDIATE")  # two processes may open a new file at the same moment
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != kind.application and (application or version or tables):
        raise ValueError(f"this database is not a {kind.name}")
    check_format(f"the {kind.name}", version, kind.format, where=str(path), hint=kind.hint)
    for statement in kind.schema.strip().split(";\n"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {kind.application}")
    connection.execute(f"PRAGMA user_version = {kind.format}")
    connection.execute("COMMIT")
    _write_ahead(connection)


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode, retrying: SQLite refuses without waiting while another process has the file open."""
    patience = time.monotonic() + BUSY
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > patience:
                raise
            time.sleep(0.01)
        else:
            return
