"""What happens while DuckDB works: how far it is, and what went wrong, in words."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from scoter.engine.port import Progress
from scoter.errors import UserError

_INTERVAL = 0.5  # seconds
_DISK_SIGNS = ("max_temp_directory_size", "No space left", "File too large", "Disk quota")
_KINDS: Mapping[str, type[duckdb.Error]] = {
    "INTERRUPT Error": duckdb.InterruptException,
    "IO Error": duckdb.IOException,
    "Invalid Input Error": duckdb.InvalidInputException,
    "Out of Memory Error": duckdb.OutOfMemoryException,
    "Serialization Error": duckdb.SerializationException,
}


class Steps:
    """Tells of the progress of several queries, one after the other, as that of one job; it never goes back."""

    def __init__(self, progress: Progress, count: int, interval: float = _INTERVAL) -> None:
        self._progress = progress
        self._count = count
        self._interval = interval
        self._done = 0
        self._told = 0.0

    @contextmanager
    def watched(self, connection: Any) -> Iterator[None]:
        """Tell now and then how far the query that is run inside has come; it is one step."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(self._interval):
                self._tell(min(max(connection.query_progress(), 0.0) / 100, 1.0))

        thread = threading.Thread(target=watch, name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
        self._done += 1
        self._tell(0.0)

    def _tell(self, share: float) -> None:
        whole = (self._done + share) / self._count
        if whole > self._told:
            self._told = whole
            self._progress(whole)


def streamed(reader: Any) -> Iterator[Any]:
    """Yield the record batches of an answer; what fails in the middle of it is raised as DuckDB would have.

    Arrow stands between, and makes an OSError of the same words out of whatever it was.
    """
    while True:
        try:
            batch = next(reader, None)
        except OSError as failure:
            kind = _KINDS.get(str(failure).partition(":")[0], duckdb.Error)
            raise kind(str(failure)) from failure
        if batch is None:
            return
        yield batch


def is_interrupt(failure: Exception) -> bool:
    """Whether a failure of DuckDB is Ctrl-C; which of its errors that becomes depends on where it is noticed."""
    return isinstance(failure, duckdb.InterruptException) or str(failure) == "Query interrupted"


@contextmanager
def telling(folder: Path) -> Iterator[None]:
    """Turn what DuckDB raises about memory, disks and files into messages that say what to do."""
    try:
        yield
    except (duckdb.OutOfMemoryException, duckdb.IOException) as failure:
        text = _first(failure)
        if any(sign in str(failure) for sign in _DISK_SIGNS):
            hint = f"Make room on the disk; temporary files lie in {folder}."
            raise UserError(f"the disk is full: {text}", hint=hint) from failure
        if isinstance(failure, duckdb.OutOfMemoryException):
            raise UserError(
                f"the job does not fit into its memory: {text}",
                where="engine.memory_limit",
                hint="Give it more, for example: -D engine.memory_limit=8GiB",
            ) from failure
        raise UserError(f"a file cannot be read or written: {text}") from failure
    except (duckdb.InvalidInputException, duckdb.SerializationException) as failure:
        if "parquet" in str(failure).lower():
            raise UserError(f"a file is damaged: {_first(failure)}") from failure
        raise
    except (duckdb.InterruptException, RuntimeError) as failure:
        if is_interrupt(failure):
            raise KeyboardInterrupt from failure
        raise


def _first(failure: Exception) -> str:
    return str(failure).partition("\n")[0]
