"""The holds of hosts as a file: several processes, a kill, bounds and wrong clocks."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fetch.fakes import Clock

from scoter.errors import UsageError
from scoter.store.host_holds import ENTRIES, HostHold, SqliteHostHolds

PUTTING = """
import sys, time
from pathlib import Path
from scoter.store.host_holds import SqliteHostHolds
holds = SqliteHostHolds(Path(sys.argv[1]))
for number in range(100_000):
    holds.put([(f"h{number}.test", time.time() + 80_000, 5.0)])
    print(number, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "holds.sqlite"


def test_hold_lasts_until_its_end_in_every_process(path: Path) -> None:
    clock = Clock()
    with SqliteHostHolds(path, clock=clock) as one, SqliteHostHolds(path, clock=clock) as other:
        one.put([("a.test", 1_300.0, 5.0), ("b.test", 1_100.0, 0.0)])

        assert [other.until(host) for host in ("a.test", "b.test", "c.test")] == [1_300.0, 1_100.0, 0.0]
        assert other.current() == [HostHold("b.test", 1_100.0, 0.0), HostHold("a.test", 1_300.0, 5.0)]
        clock.now = 1_100.0
        assert (other.until("a.test"), other.until("b.test")) == (1_300.0, 0.0)
        assert other.current() == [HostHold("a.test", 1_300.0, 5.0)]


def test_hold_does_not_become_shorter(path: Path) -> None:
    with SqliteHostHolds(path, clock=Clock()) as holds:
        holds.put([("a.test", 5_000.0, 5.0)])
        holds.put([("a.test", 1_010.0, 5.0)])

        assert holds.until("a.test") == 5_000.0


def test_kill_loses_no_stored_hold(path: Path) -> None:
    writer = subprocess.Popen([sys.executable, "-c", PUTTING, str(path)], stdout=subprocess.PIPE, env=dict(os.environ))
    assert writer.stdout is not None

    last = [int(writer.stdout.readline()) for _ in range(100)][-1]
    writer.send_signal(signal.SIGKILL)
    writer.communicate(timeout=60)

    with SqliteHostHolds(path) as holds:
        assert all(holds.until(f"h{number}.test") for number in range(last + 1))


def test_file_is_bounded_and_keeps_the_longest_holds(path: Path) -> None:
    with SqliteHostHolds(path, entries=10, clock=Clock()) as holds:
        for number in range(100):
            holds.put([(f"h{number}.test", 2_000.0 + number, 0.0)])

        assert [each.host for each in holds.current()] == [f"h{number}.test" for number in range(90, 100)]
        assert ENTRIES < 10**6


def test_holds_that_are_over_are_deleted(path: Path) -> None:
    clock = Clock()
    with SqliteHostHolds(path, clock=clock) as holds:
        holds.put([("a.test", 1_010.0, 0.0)])
        clock.now = 1_020.0
        holds.put([("b.test", 1_030.0, 0.0)])

    with sqlite3.connect(path) as file:
        assert file.execute("SELECT host FROM holds").fetchall() == [("b.test",)]


def test_clock_that_was_wrong_does_not_block_a_host_for_years(path: Path) -> None:
    clock = Clock(4e9)
    with SqliteHostHolds(path, clock=clock) as holds:
        holds.put([("a.test", 4e9 + 600, 0.0)])
        clock.now = 2e9

        assert (holds.until("a.test"), holds.current()) == (0.0, [])


def test_no_hold_lasts_longer_than_a_day(path: Path) -> None:
    with SqliteHostHolds(path, clock=Clock()) as holds:
        holds.put([("a.test", 1e9, 0.0)])

        assert holds.until("a.test") == 1_000.0 + 86_400.0


def test_foreign_file_is_an_error(path: Path) -> None:
    path.write_text("not a database, and longer than the head of one would be: " + "x" * 100, "utf-8")

    with pytest.raises(UsageError, match="cannot open the file of host holds"):
        SqliteHostHolds(path)


def test_full_disk_is_counted_and_the_fetch_continues(path: Path) -> None:
    with SqliteHostHolds(path, clock=Clock()) as holds:
        with sqlite3.connect(path) as file:
            file.execute("DROP TABLE holds")

        holds.put([("a.test", 2_000.0, 0.0)])

        assert (holds.until("a.test"), holds.failures) == (0.0, 2)
