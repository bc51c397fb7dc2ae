"""Progress and errors of DuckDB queries."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import duckdb

from scoter.engine.port import Progress
from scoter.errors import OutOfMemory, UserError

_INTERVAL = 0.5  # seconds
_DISK_FULL = ("max_temp_directory_size", "No space left", "File too large", "Disk quota")
_ERRORS: Mapping[str, type[duckdb.Error]] = {
    "INTERRUPT Error": duckdb.InterruptException,
    "IO Error": duckdb.IOException,
    "Invalid Input Error": duckdb.InvalidInputException,
    "Out of Memory Error": duckdb.OutOfMemoryException,
    "Serialization Error": duckdb.SerializationException,
}


class JobProgress:
    """Reports the progress of several consecutive queries as that of one job; it never decreases."""

    def __init__(self, progress: Progress, count: int, interval: float = _INTERVAL) -> None:
        self._progress = progress
        self._count = count
        self._interval = interval
        self._done = 0
        self._reported = 0.0

    def add_step(self) -> None:
        """Count one more query, because one is split into two."""
        self._count += 1

    @contextmanager
    def watch(self, connection: Any) -> Iterator[None]:
        """Report the progress of the query that runs inside the context; it counts as one step."""
        ended = threading.Event()

        def poll() -> None:
            while not ended.wait(self._interval):
                self._report(min(max(connection.query_progress(), 0.0) / 100, 1.0))

        thread = threading.Thread(target=poll, name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
        self._done += 1
        self._report(0.0)

    def _report(self, share: float) -> None:
        total = (self._done + share) / self._count
        if total > self._reported:
            self._reported = total
            self._progress(total)


def read_batches(reader: Any) -> Iterator[Any]:
    """Yield the record batches of a result; raise DuckDB's own error if the query fails on the way.

    Arrow wraps every such error in an OSError with the same text.
    """
    while True:
        try:
            batch = next(reader, None)
        except OSError as failure:
            error = _ERRORS.get(str(failure).partition(":")[0], duckdb.Error)
            raise error(str(failure)) from failure
        if batch is None:
            return
        yield batch


class CtrlC:
    """Whether Ctrl-C was pressed."""

    seen = False


@contextmanager
def watch_ctrl_c() -> Iterator[CtrlC]:
    """Notice Ctrl-C while the context is open, before it is handled as usual; only the main thread can."""
    found = CtrlC()
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield found
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        found.seen = True
        before(number, frame)

    signal.signal(signal.SIGINT, on_signal)
    try:
        yield found
    finally:
        signal.signal(signal.SIGINT, before)


def is_interrupt(failure: Exception) -> bool:
    """Return whether a DuckDB error means Ctrl-C; its class depends on where DuckDB notices the interrupt."""
    return isinstance(failure, duckdb.InterruptException) or str(failure) == "Query interrupted"


@contextmanager
def translate_errors(folder: Path) -> Iterator[None]:
    """Turn DuckDB's errors about memory, disks and files into messages that say what to do."""
    try:
        yield
    except (duckdb.OutOfMemoryException, duckdb.IOException) as failure:
        text = _first_line(failure)
        if any(sign in str(failure) for sign in _DISK_FULL):
            hint = f"Free some disk space; temporary files are in {folder}."
            raise UserError(f"the disk is full: {text}", hint=hint) from failure
        if isinstance(failure, duckdb.OutOfMemoryException):
            raise OutOfMemory(
                f"the job needs more memory than it may use: {text}",
                where="engine.memory_limit",
                hint="Raise the limit, for example: -D engine.memory_limit=8GiB",
            ) from failure
        raise UserError(f"cannot read or write a file: {text}") from failure
    except (duckdb.InvalidInputException, duckdb.SerializationException) as failure:
        if "parquet" in str(failure).lower():
            raise UserError(f"a file is damaged: {_first_line(failure)}") from failure
        raise
    except (duckdb.InterruptException, RuntimeError) as failure:
        if is_interrupt(failure):
            raise KeyboardInterrupt from failure
        raise


def _first_line(failure: Exception) -> str:
    return str(failure).partition("\n")[0]
