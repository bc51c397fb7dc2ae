"""What happens while DuckDB works: how far it is, and what went wrong, in words."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from scoter.engine.port import Progress
from scoter.errors import UserError

_INTERVAL = 0.5


@contextmanager
def watched(connection: Any, progress: Progress) -> Iterator[None]:
    """Tell how far the query that is run inside has come, twice a second."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_INTERVAL):
            done = connection.query_progress()
            if done >= 0:
                progress(min(done / 100, 1.0))

    thread = threading.Thread(target=watch, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def telling(folder: Path) -> Iterator[None]:
    """Turn what DuckDB raises about memory, disks and files into messages that say what to do."""
    try:
        yield
    except duckdb.OutOfMemoryException as failure:
        raise UserError(
            f"the job does not fit into its memory: {_first(failure)}",
            where="engine.memory_limit",
            hint="Give it more, for example: -D engine.memory_limit=8GiB",
        ) from failure
    except duckdb.IOException as failure:
        raise UserError(
            _first(failure), hint=f"Temporary files lie in {folder}; is there room on the disk?"
        ) from failure
    except duckdb.InvalidInputException as failure:
        if "parquet" in str(failure).lower():
            raise UserError(f"a file is damaged: {_first(failure)}") from failure
        raise


def _first(failure: Exception) -> str:
    return str(failure).partition("\n")[0]
