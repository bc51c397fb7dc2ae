"""Errors of SQL queries."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scoter.engine.session import SqlSession, open_session
from scoter.errors import UsageError


@pytest.fixture
def session(tmp_path: Path) -> Iterator[SqlSession]:
    with open_session(lambda connection: (), spill=tmp_path, memory_limit=2**28) as session:
        yield session


def test_failure_after_the_first_rows_is_a_query_error(session: SqlSession) -> None:
    answer = session.query("SELECT CASE WHEN i = 900000 THEN error('no') ELSE 'yes' END FROM range(1000000) t(i)")

    with pytest.raises(UsageError, match="SQL: Invalid Input Error: no"):
        list(answer.rows)


def test_ctrl_c_ends_a_query_as_a_keyboard_interrupt(session: SqlSession) -> None:
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.3, interrupt).start()

    with pytest.raises(KeyboardInterrupt):
        list(session.query("SELECT sum(sqrt(i)) FROM range(100000000000) t(i)").rows)

    assert time.monotonic() - sent[0] < 60  # the timeout of a test also ends the query, but later


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
