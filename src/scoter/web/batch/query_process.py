"""Runs one query in its own process: ``python -m scoter.web.batch.query_process``, with a ``QueryTask`` on stdin.

The process can be killed, and its memory and CPU time are limited, whatever the query does. DuckDB sees only the views
of the crawl (``engine.session``). The answer on stdout is a status byte, then an Arrow stream or an error as JSON.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from datetime import datetime
from typing import Any, Final

import msgspec
import pyarrow as pa
from msgspec import Struct

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.sql import sql
from scoter.errors import UsageError, UserError
from scoter.heap import keep_memory

DONE: Final = b"+"
FAILED: Final = b"-"
TRUNCATED: Final = b"truncated"
_START_UP: Final = 20  # CPU seconds


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
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=QueryTask)
    out = sys.stdout.buffer
    # The engine limits its own memory; this is the last resort, with room for libraries.
    resource.setrlimit(resource.RLIMIT_DATA, (task.memory + 2**30, task.memory + 2**30))
    resource.setrlimit(resource.RLIMIT_CPU, (int(task.seconds * 4) + _START_UP,) * 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (task.spill, task.spill))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Files beyond the limit fail to be written; the signal would end the process without a message.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        table = _run(task)
        if table.nbytes > task.largest:
            raise UsageError("the result is too large", where="SQL", hint="Select fewer columns or rows.")
    except UsageError as error:
        out.write(FAILED + msgspec.json.encode(QueryFailure(error.message, error.where, error.hint)))
        return
    except (MemoryError, UserError) as error:
        message = error.message if isinstance(error, UserError) else "the query needs more memory than it may use"
        out.write(FAILED + msgspec.json.encode(QueryFailure(message, "SQL", "Select less.")))
        return
    out.write(DONE)
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)


def _end_in_time(task: QueryTask) -> None:
    failure = QueryFailure(
        f"the query took longer than {task.seconds:g} s", "SQL", "Select less, or allow up to 60 seconds.", True
    )
    os.write(sys.stdout.fileno(), FAILED + msgspec.json.encode(failure))
    os._exit(0)  # a thread of the engine may not notice an interrupt for long


def _run(task: QueryTask) -> Any:
    """Return the rows of a query, one more than asked for at most."""
    with sql(CrawlDir.open(task.crawl), memory_limit=task.memory, spill_limit=task.spill) as session:
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
