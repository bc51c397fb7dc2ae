"""Errors of SQLite as errors of Scoter, and what they say about the health of the database."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path
from typing import Final

from scoter.errors import Defect, ScoterError, StoreDamaged, StoreUnavailable

_DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
# I/O errors that mean a damaged file, not a device or a full disk: a failed checksum, a damaged file system.
_DAMAGE_DETAILS: Final = (sqlite3.SQLITE_IOERR_DATA, sqlite3.SQLITE_IOERR_CORRUPTFS)
# Python decodes texts itself, and this error has no code.
_NOT_TEXT: Final = "Could not decode to UTF-8"
RESTORE: Final = "Stop the service and restore a backup."
_log = logging.getLogger(__name__)


def store_error(error: sqlite3.Error, path: Path) -> ScoterError:
    """Return the Scoter error for an error of SQLite."""
    detailed = getattr(error, "sqlite_errorcode", 0)
    code = detailed & 0xFF  # the upper bits hold details
    where = str(path)
    if code in _DAMAGE or detailed in _DAMAGE_DETAILS or str(error).startswith(_NOT_TEXT):
        return StoreDamaged(f"is damaged, or not a database: {error}", where=where, hint=RESTORE)
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        # On a full disk SQLite may fail to map its shared memory, and reports that as an I/O error.
        hint = "Free disk space if the disk is full; accepted messages are safe, and work resumes by itself."
        return StoreUnavailable(f"disk error: {error}", where=where, hint=hint)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        hint = "Stop the other process that writes to the file; work resumes by itself."
        return StoreUnavailable(f"another process has locked the database: {error}", where=where, hint=hint)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return StoreUnavailable(
            f"cannot be written: {error}", where=where, hint="Check the owner and permissions of the file."
        )
    return Defect(f"{path}: {error}")


class DatabaseHealth:
    """What is known about a database: failed reads, damage, and why the last check failed.

    Damage lasts until the process ends. Nothing is written to a damaged database: it could make the damage worse, and
    an accepted message might be lost.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._failed_check = "the database has not been checked yet"
        self.read_failures = 0
        self.damage = ""

    def __repr__(self) -> str:
        return f"DatabaseHealth({self._path}, {self.trouble or 'sound'})"

    @property
    def trouble(self) -> str:
        """Why the database cannot be used; empty if the last check succeeded and no damage is known."""
        return self.damage or self._failed_check

    def require_sound(self) -> None:
        """Raise if the database is damaged."""
        if self.damage:
            raise StoreDamaged(self.damage, where=str(self._path), hint=RESTORE)

    def checked(self, trouble: str) -> None:
        """Note the result of a check, empty if it succeeded."""
        self._failed_check = trouble

    def note(self, error: ScoterError) -> ScoterError:
        """Note an error, and return it. Damage is logged once."""
        if isinstance(error, StoreDamaged):
            self.note_damage(error.message)
        return error

    def note_read(self, error: ScoterError) -> ScoterError:
        """Note the error of a read, and return it."""
        self.read_failures += 1
        return self.note(error)

    def note_damage(self, what: str) -> None:
        """Note that the database is damaged."""
        if self.damage or not what:
            return
        self.damage = what if what.startswith("the database ") else f"the database {what}"
        _log.critical(
            "%s: %s. Nothing is written to it and no messages are accepted until the service is restarted. %s "
            "If there is none, move what `sqlite3 service.sqlite .recover` can read to a new file.",
            self._path,
            self.damage,
            RESTORE,
        )


def require_file(path: Path, traces: tuple[Path, ...]) -> None:
    """Raise if a database is missing or empty although files beside it show that there was one.

    ``traces`` are files, and folders that are not empty, of a service that has run. SQLite would start a new database
    and discard the log of the old one.
    """
    if _size(path):
        return
    log = path.with_name(path.name + "-wal")
    found = [log.name] if _size(log) else []
    found += [trace.name for trace in traces if (any(trace.iterdir()) if trace.is_dir() else _size(trace))]
    if found:
        state = "is empty" if path.exists() else "is missing"
        hint = (
            "Restore it from a backup (see docs/operations.md). To start without data, use another directory,"
            " or move these files away."
        )
        raise StoreDamaged(f"{state}, but there was a database: {', '.join(found)} exist", where=str(path), hint=hint)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
