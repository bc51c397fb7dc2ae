"""The log of a service as SQL views: ``events`` and ``fetches``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from scoter.engine.session import SqlSession, add_view, open_session, view_query
from scoter.errors import UsageError
from scoter.live.content.log_files import HOUR, pieces
from scoter.live.content.log_rows import LOG
from scoter.reports.days import Days
from scoter.store.disk import Scratch

DATABASE: Final = "service.sqlite"
LOG_FOLDER: Final = "log"

# The first event of a fetch is the one that made it; others joined it or were answered from the store.
_FETCHES: Final = "SELECT * FROM events QUALIFY row_number() OVER (PARTITION BY fetch_id ORDER BY number) = 1"


def is_service(directory: Path) -> bool:
    """Return whether a directory belongs to a live service."""
    return (directory / DATABASE).is_file() or (directory / LOG_FOLDER).is_dir()


def is_role(directory: Path) -> bool:
    """Return whether a directory belongs to a pipeline or a worker of a cluster."""
    return not is_service(directory) and any((directory / name).is_dir() for name in ("content", "run"))


@contextmanager
def service_sql(directory: Path, *, memory_limit: int, days: Days | None = None) -> Iterator[SqlSession]:
    """Open the log of a service, or some days of it, for SQL queries.

    ``events`` has a row for each finished URL of a message, ``fetches`` one for each fetch: its first event.
    """
    if not is_service(directory):
        hint = "Pass the directory given to `scoter serve --dir`."
        raise UsageError("not the directory of a live service", where=str(directory), hint=hint)
    spill = Scratch(Path(tempfile.gettempdir()), "scoter-sql")
    try:
        files = _files(directory / LOG_FOLDER, days)
        with open_session(
            lambda connection: _make(connection, files), spill=spill.path, memory_limit=memory_limit
        ) as session:
            yield session
    finally:
        spill.close()


def _make(connection: Any, files: Sequence[str]) -> Sequence[str]:
    add_view(connection, "events", view_query(connection, files, LOG))
    add_view(connection, "fetches", _FETCHES)
    return files


def _files(folder: Path, days: Days | None) -> list[str]:
    """Return the files of some days and one hour more: the event of a fetch may fall into the next hour."""
    return [
        str(piece.path(folder))
        for piece in pieces(folder)
        if days is None or days.since - HOUR <= piece.hour <= days.until
    ]
