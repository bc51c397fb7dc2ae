"""A SQLite database with a table of pages, and on request a full-text index.

Every shard is one transaction, which also counts it in ``user_version``: a shard that was committed before a kill is
not written again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pyarrow as pa

from scoter.batch.crawldir.export import iter_rows, json_value, text_value
from scoter.errors import UserError
from scoter.export.fields import FIELDS
from scoter.export.folder import ExportedFile, ExportFolder, FinishedShard, described_file
from scoter.export.formats import Shard
from scoter.store.disk import disk_errors, sync_file

_FILE = "pages.sqlite"
_SEARCHED = ("title", "description", "text", "main_text", "markdown", "content")


class SqliteFormat:
    """One database for all shards."""

    is_archived = False

    def __init__(self, folder: ExportFolder, fields: tuple[str, ...], *, fts: bool) -> None:
        self.fields = fields
        self._folder = folder
        self._fts = fts
        # Not among the drafts, which are removed when an export is continued.
        self._file = folder.work / _FILE
        self._target = folder.path / _FILE
        self._pages = 0

    def write(self, shard: Shard, rows: Iterator[Any]) -> FinishedShard:
        number = 0
        with self._opened() as database:
            is_known = _version(database) > shard.number
            with database:
                database.execute("BEGIN")
                for batch in rows:
                    if not is_known:
                        self._insert(database, batch)
                    number += batch.num_rows
                if not is_known:
                    database.execute(f"PRAGMA user_version = {shard.number + 1}")
        return FinishedShard(number=shard.number, pages=number)

    def finish(self) -> tuple[ExportedFile, ...]:
        if not self._target.exists():
            with self._opened() as database:
                if self._fts:
                    self._index(database)
            with disk_errors("write the export", self._target):
                sync_file(self._file)
                self._file.replace(self._target)
        with closing(sqlite3.connect(f"file:{self._target}?mode=ro", uri=True)) as database:
            (pages,) = database.execute("SELECT count(*) FROM pages").fetchone()
        return (described_file(self._target, _FILE, pages),)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._file, isolation_level=None)) as database:
                database.execute("PRAGMA synchronous = NORMAL")
                columns = ", ".join(f'"{name}" {_sql_type(name)}' for name in self.fields)
                database.execute(f"CREATE TABLE IF NOT EXISTS pages ({columns})")
                yield database
        except sqlite3.Error as failure:
            hint = "Make room on the disk; what was written before is intact." if "full" in str(failure) else ""
            raise UserError(f"cannot write the database: {failure}", where=str(self._file), hint=hint) from failure

    def _insert(self, database: sqlite3.Connection, batch: Any) -> None:
        names = ", ".join(f'"{name}"' for name in self.fields)
        places = ", ".join("?" * len(self.fields))
        rows = (tuple(map(_stored, row.values())) for row in iter_rows([batch.select(list(self.fields))]))
        database.executemany(f"INSERT INTO pages ({names}) VALUES ({places})", rows)  # noqa: S608 - known names

    def _index(self, database: sqlite3.Connection) -> None:
        """Add a full-text index over the columns that hold text; it refers to the pages, and stores none of them."""
        searched = ", ".join(f'"{name}"' for name in self.fields if name in _SEARCHED)
        with database:
            database.execute("BEGIN")
            database.execute("DROP TABLE IF EXISTS pages_fts")
            database.execute(
                f"CREATE VIRTUAL TABLE pages_fts USING fts5"
                f"({searched}, content='pages', tokenize='unicode61 remove_diacritics 2')"
            )
            database.execute("INSERT INTO pages_fts(pages_fts) VALUES ('rebuild')")


def searched_fields(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fields that a full-text index covers."""
    return tuple(name for name in fields if name in _SEARCHED)


def _version(database: sqlite3.Connection) -> int:
    (number,) = database.execute("PRAGMA user_version").fetchone()
    return int(number)


def _sql_type(name: str) -> str:
    if name == "url":
        return "TEXT PRIMARY KEY"
    kind = FIELDS[name].type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return "INTEGER"
    if pa.types.is_floating(kind):
        return "REAL"
    return "BLOB" if pa.types.is_binary(kind) else "TEXT"


def _stored(value: Any) -> Any:
    match value:
        case None | bool() | int() | float() | bytes():
            return value
        case str():
            return value.replace("\0", "")  # SQLite's functions take a NUL for the end of a text
        case list() | dict():
            return text_value(value)
        case _:
            return json_value(value)
