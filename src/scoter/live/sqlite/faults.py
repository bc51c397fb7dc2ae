"""What SQLite does wrong, told as an error of ours."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from scoter.errors import Defect, ScoterError, StoreUnavailable

_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def fault(error: sqlite3.Error, path: Path) -> ScoterError:
    """Return what an error of SQLite means to whoever asked."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the upper bits are details of it
    where = str(path)
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        # On a full disk SQLite cannot always map the memory that it shares, and calls that an I/O error.
        hint = "Make room on the disk if it is full; what was accepted before is whole, and work goes on by itself."
        return StoreUnavailable(f"the disk does not do its part: {error}", where=where, hint=hint)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        hint = "End whatever else has the file open for writing; work goes on by itself."
        return StoreUnavailable(f"another process holds the database: {error}", where=where, hint=hint)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return StoreUnavailable(f"cannot be written: {error}", where=where, hint="Look at the file's owner and mode.")
    if code in _BROKEN:
        hint = "Stop the service and put a backup in its place."
        return StoreUnavailable(f"is damaged, or not a database: {error}", where=where, hint=hint)
    return Defect(f"{path}: {error}")
