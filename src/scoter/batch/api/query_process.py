"""Runs each query in its own process: ``python -m scoter.batch.api.query_process LISTENER FOLDER``.

This process loads the libraries once and forks for every connection, because loading them takes longer than most
queries. A forked process can be killed, and its memory and CPU time are limited, whatever the query does. DuckDB sees
only the views of the crawl (``engine.session``). The request is a ``QueryTask`` as JSON after its length; the answer is
a status byte, then an Arrow stream or an error as JSON. All processes end with the server, or when its request ends.

The temporary files of a query are in a folder below FOLDER, which this process removes however the query ends.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import sys
import threading
from contextlib import suppress
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
from msgspec import Struct

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.jobs.sql import sql
from scoter.errors import UsageError, UserError
from scoter.heap import keep_memory
from scoter.store.disk import Scratch

DONE: Final = b"+"
FAILED: Final = b"-"
TRUNCATED: Final = b"truncated"
_START_UP: Final = 20  # CPU seconds
_IDLE: Final = 600.0  # seconds
_REQUEST: Final = 10.0


class QueryTask(Struct, frozen=True, kw_only=True):
    """A query and its limits; ``values`` are bound to its parameters."""

    crawl: str
    query: str
    texts: dict[str, str | int] = {}
    times: dict[str, datetime] = {}
    most: int
    memory: int
    spill: int
    seconds: float
    largest: int


class QueryFailure(Struct, frozen=True):
    """Why a query failed."""

    message: str
    where: str = ""
    hint: str = ""
    is_timeout: bool = False


def main() -> None:
    with suppress(ImportError):
        import_module("pandas")  # DuckDB looks for it, which would cost every forked process half a second
    with socket.socket(fileno=int(sys.argv[1])) as listener:
        QueryForks(listener, sys.stdin.fileno(), Path(sys.argv[2])).serve()


class QueryForks:
    """Answers connections in forked processes, until the other end of a pipe is closed or nobody asks for long."""

    def __init__(self, listener: socket.socket, owner: int, folder: Path) -> None:
        self._listener = listener
        self._owner = owner
        self._folder = folder
        self._running: dict[int, socket.socket] = {}
        self._spills: dict[int, Scratch] = {}
        self._woken, wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._stop)
        self._is_stopped = False

    def _stop(self, *_: object) -> None:
        self._is_stopped = True

    def serve(self) -> None:
        while True:
            watched: list[Any] = [self._listener, self._owner, self._woken, *self._running.values()]
            ready, _, _ = select.select(watched, [], [], None if self._running else _IDLE)
            if self._is_stopped or self._owner in ready or (not ready and not self._running):
                break
            if self._woken in ready:
                os.read(self._woken, 1024)
            if self._listener in ready:
                self._accept()
            for process, connection in list(self._running.items()):
                if connection in ready:  # the request has ended
                    self._kill(process)
            self._reap()
        for process in self._running:
            self._kill(process)
            os.waitpid(process, 0)
            self._spills[process].close()

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        try:
            connection.settimeout(_REQUEST)
            with connection.makefile("rb") as file:
                task = msgspec.json.decode(file.read(int.from_bytes(file.read(8), "big")), type=QueryTask)
            connection.settimeout(None)
            spill = Scratch(self._folder, "query")
        except (OSError, msgspec.DecodeError, UserError):
            connection.close()
            return
        process = os.fork()
        if process:
            self._running[process] = connection
            self._spills[process] = spill
            return
        try:
            os.setsid()
            out = os.dup2(connection.fileno(), 1)
            os.closerange(3, 256)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            answer(task, spill.path, os.fdopen(out, "wb", closefd=False))
        finally:
            os._exit(0)

    def _kill(self, process: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)

    def _reap(self) -> None:
        for process in list(self._running):
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                connection = self._running.pop(process)
                self._spills.pop(process).close()  # before the answer ends: the next query may then use as much
                if os.WIFSIGNALED(status):
                    is_slow = os.WTERMSIG(status) == signal.SIGXCPU
                    what = "CPU time" if is_slow else "memory"
                    failure = QueryFailure(f"the query used too much {what}", "SQL", "Select less.", is_slow)
                    with suppress(OSError):
                        connection.sendall(FAILED + msgspec.json.encode(failure))
                connection.close()


def answer(task: QueryTask, spill: Path, out: Any) -> None:
    """Run a query within its limits, and write the answer."""
    # The engine limits its own memory; this is the last resort, with room for libraries.
    resource.setrlimit(resource.RLIMIT_DATA, (task.memory + 2**30, task.memory + 2**30))
    resource.setrlimit(resource.RLIMIT_CPU, (int(task.seconds * 4) + _START_UP,) * 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (task.spill, task.spill))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Files beyond the limit fail to be written; the signal would end the process without a message.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        table = _run(task, spill)
        if table.nbytes > task.largest:
            raise UsageError("the result is too large", where="SQL", hint="Select fewer columns or rows.")
    except UsageError as error:
        out.write(FAILED + msgspec.json.encode(QueryFailure(error.message, error.where, error.hint)))
    except (MemoryError, UserError) as error:
        message = error.message if isinstance(error, UserError) else "the query needs more memory than it may use"
        out.write(FAILED + msgspec.json.encode(QueryFailure(message, "SQL", "Select less.")))
    else:
        out.write(DONE)
        with pa.ipc.new_stream(out, table.schema) as stream:
            stream.write_table(table)
    out.flush()


def _end_in_time(task: QueryTask) -> None:
    failure = QueryFailure(
        f"the query took longer than {task.seconds:g} s", "SQL", "Select less, or allow up to 60 seconds.", True
    )
    os.write(1, FAILED + msgspec.json.encode(failure))
    os._exit(0)  # a thread of the engine may not notice an interrupt for long


def _run(task: QueryTask, spill: Path) -> Any:
    """Return the rows of a query, with all views only if it fails: they are needed to say what names there are."""
    crawl = CrawlDir.open(task.crawl)
    try:
        return _rows(task, crawl, task.query, spill)
    except UsageError:
        return _rows(task, crawl, None, spill)


def _rows(task: QueryTask, crawl: CrawlDir, named_in: str | None, spill: Path) -> Any:
    """Return at most as many rows as asked for, and whether there are more."""
    with sql(crawl, memory_limit=task.memory, spill=spill, spill_limit=task.spill, query=named_in) as session:
        timer = threading.Timer(task.seconds, _end_in_time, [task])
        timer.daemon = True
        timer.start()
        schema, batches = session.batches(task.query, {**task.texts, **task.times})
        found, rows, size = [], 0, 0
        for batch in batches:
            found.append(batch.slice(0, task.most + 1 - rows))
            rows += found[-1].num_rows
            size += found[-1].nbytes
            if rows > task.most or size > task.largest:
                break
        timer.cancel()
        table = pa.Table.from_batches(found, schema)
    is_truncated = table.num_rows > task.most
    return table.slice(0, task.most).replace_schema_metadata({TRUNCATED: b"%d" % is_truncated})


if __name__ == "__main__":
    keep_memory()
    main()
