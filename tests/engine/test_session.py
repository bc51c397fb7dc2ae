"""Errors of SQL queries."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from scoter.engine.session import SqlSession, open_session
from scoter.errors import UsageError


@pytest.fixture
def session(tmp_path: Path) -> Iterator[SqlSession]:
    with open_session(lambda connection: (), spill=tmp_path, memory_limit=2**28) as session:
        yield session


def one_thread(connection: Any) -> Sequence[str]:
    """Make DuckDB report the first error: with several threads it may report that the others were interrupted."""
    connection.execute("SET threads = 1")
    return ()


def test_failure_after_the_first_rows_is_a_query_error(tmp_path: Path) -> None:
    with open_session(one_thread, spill=tmp_path, memory_limit=2**28) as session:
        answer = session.query("SELECT CASE WHEN i = 900000 THEN error('no') ELSE 'yes' END FROM range(1000000) t(i)")

        with pytest.raises(UsageError, match="SQL: Invalid Input Error: no"):
            list(answer.rows)


def test_interrupt_without_ctrl_c_is_a_query_error(session: SqlSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(reader: Any) -> Iterator[Any]:
        yield from ()
        raise duckdb.InterruptException("INTERRUPT Error: Interrupted!")

    monkeypatch.setattr("scoter.engine.session.read_batches", interrupted)

    with pytest.raises(UsageError, match="SQL: the query failed"):
        list(session.query("SELECT 1").rows)


def test_ctrl_c_ends_a_query_as_a_keyboard_interrupt(tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from scoter.engine.session import open_session
with open_session(lambda connection: (), spill=Path({str(tmp_path)!r}), memory_limit=2**28) as session:
    print("running", flush=True)
    list(session.query("SELECT sum(sqrt(i)) FROM range(100000000000) t(i)").rows)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"

    time.sleep(0.3)  # most likely within the query
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)

    assert "KeyboardInterrupt" in errors.splitlines()[-1]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT 'infinity'::TIMESTAMP", "after the year 9999"),
        ("SELECT DATE '20000-01-01'", "after the year 9999"),
        ("SELECT '\udcff'", "not valid UTF-8"),
    ],
)
def test_unanswerable_query_is_a_user_error(session: SqlSession, query: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        list(session.query(query).rows)
