"""A service's log as tables that can be asked by SQL: ``events`` and ``fetches``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from scoter.engine.session import Session, add_view, asking, scan
from scoter.errors import UsageError
from scoter.live.content.hours import HOUR, pieces
from scoter.live.content.rows import LOG
from scoter.live.reports.days import Days
from scoter.store.disk import Scratch

DATABASE: Final = "service.sqlite"
LOG_FOLDER: Final = "log"

# Those who were answered by another's fetch, or from the store, come after the one who fetched.
_FETCHES: Final = "SELECT * FROM events QUALIFY row_number() OVER (PARTITION BY fetch_id ORDER BY number) = 1"


def is_service(directory: Path) -> bool:
    """Tell whether a directory is a live service's."""
    return (directory / DATABASE).is_file() or (directory / LOG_FOLDER).is_dir()


@contextmanager
def service_sql(directory: Path, *, memory_limit: int, days: Days | None = None) -> Iterator[Session]:
    """Open a service's log for questions, that of some days only or all of it.

    ``events`` has a row for each URL of a message that is done, ``fetches`` one for each fetch: its first event.
    """
    if not is_service(directory):
        hint = "Name the directory that `scoter serve` was given."
        raise UsageError("this is not the directory of a live service", where=str(directory), hint=hint)
    spill = Scratch(Path(tempfile.gettempdir()), "scoter-sql")
    try:
        files = _files(directory / LOG_FOLDER, days)
        with asking(
            lambda connection: _make(connection, files), spill=spill.path, memory_limit=memory_limit
        ) as session:
            yield session
    finally:
        spill.close()


def _make(connection: Any, files: Sequence[str]) -> Sequence[str]:
    add_view(connection, "events", scan(connection, files, LOG))
    add_view(connection, "fetches", _FETCHES)
    return files


def _files(folder: Path, days: Days | None) -> list[str]:
    """Return the files of some days, and an hour beyond: what was fetched in one may be announced in the next."""
    return [
        str(piece.path(folder))
        for piece in pieces(folder)
        if days is None or days.since - HOUR <= piece.hour <= days.until
    ]
