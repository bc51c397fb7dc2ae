"""The SQLite cache as a file: several processes, a kill, a foreign or broken file."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scoter.core.robots_cache import StoredRobots
from scoter.errors import UsageError
from scoter.store.robots_cache import SqliteRobotsCache

NEVER = 4e9
PUTTING = """
import asyncio, sys
from pathlib import Path
from scoter.core.robots_cache import StoredRobots
from scoter.store.robots_cache import SqliteRobotsCache
path, prefix, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
async def main():
    cache = SqliteRobotsCache(path)
    for number in range(count):
        await cache.put(f"{prefix}{number}", StoredRobots(b"%d" % number * 1000, 4e9))
        print(number, flush=True)
    print("failures", cache.failures, flush=True)
asyncio.run(main())
"""


def putting(path: Path, prefix: str, count: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", PUTTING, str(path), prefix, str(count)], stdout=subprocess.PIPE, env=dict(os.environ)
    )


async def test_processes_share_one_file(tmp_path: Path) -> None:
    path = tmp_path / "robots.sqlite"

    writers = [putting(path, prefix, 150) for prefix in "abc"]
    told = [writer.communicate(timeout=60)[0].split() for writer in writers]

    assert [each[-2:] for each in told] == [[b"failures", b"0"]] * 3
    with SqliteRobotsCache(path) as cache:
        for prefix in "abc":
            for number in range(150):
                assert await cache.get(f"{prefix}{number}") == StoredRobots(b"%d" % number * 1000, NEVER)


async def test_kill_loses_no_stored_entry(tmp_path: Path) -> None:
    path = tmp_path / "robots.sqlite"
    writer = putting(path, "k", 100_000)
    assert writer.stdout is not None

    last = [int(writer.stdout.readline()) for _ in range(200)][-1]
    writer.send_signal(signal.SIGKILL)
    writer.communicate(timeout=10)

    with SqliteRobotsCache(path) as cache:
        found = [await cache.get(f"k{number}") for number in range(last + 1)]
        assert found == [StoredRobots(b"%d" % number * 1000, NEVER) for number in range(last + 1)]
        await cache.put("after", StoredRobots(None, NEVER))
        assert await cache.get("after") == StoredRobots(None, NEVER)
        assert cache.failures == 0


def test_file_that_is_not_a_database_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, and longer than the head of one would be: " + "x" * 100, "utf-8")

    with pytest.raises(UsageError, match=r"cannot open the robots\.txt cache") as caught:
        SqliteRobotsCache(path)

    assert str(path) in str(caught.value)
    assert path.read_text("utf-8").startswith("not a database")


def test_foreign_database_is_not_modified(tmp_path: Path) -> None:
    path = tmp_path / "theirs.sqlite"
    theirs = sqlite3.connect(path)
    theirs.execute("CREATE TABLE robots (name TEXT)")
    theirs.commit()

    with pytest.raises(UsageError, match=r"this database is not a robots\.txt cache"):
        SqliteRobotsCache(path)

    assert theirs.execute("SELECT sql FROM sqlite_master").fetchall() == [("CREATE TABLE robots (name TEXT)",)]
    theirs.close()


def test_newer_format_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "robots.sqlite"
    SqliteRobotsCache(path).close()
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version = 99")
    newer.close()

    with pytest.raises(UsageError, match="this version reads up to 1"):
        SqliteRobotsCache(path)


def test_folder_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")

    with pytest.raises(UsageError, match=r"cannot open the robots\.txt cache"):
        SqliteRobotsCache(tmp_path / "file" / "robots.sqlite")


async def test_broken_cache_finds_nothing_and_counts_failures(tmp_path: Path) -> None:
    path = tmp_path / "robots.sqlite"
    with SqliteRobotsCache(path) as cache:
        await cache.put("a", StoredRobots(None, NEVER))
        other = sqlite3.connect(path)
        other.execute("DROP TABLE robots")
        other.close()

        await cache.put("b", StoredRobots(None, NEVER))

        assert await cache.get("a") is None
        assert cache.failures == 2


async def test_large_cache_shrinks_to_the_limit_when_reopened(tmp_path: Path) -> None:
    path = tmp_path / "robots.sqlite"
    with SqliteRobotsCache(path) as large:
        large._put([(f"o{number}", StoredRobots(b"x" * 10, NEVER)) for number in range(2_100)])

    with SqliteRobotsCache(path, entries=10) as small:
        await small.put("last", StoredRobots(None, NEVER))

        found = [number for number in range(2_100) if await small.get(f"o{number}") is not None]
        assert found == list(range(2_091, 2_100))


def test_new_file_can_be_opened_by_two_processes_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, connect = tmp_path / "robots.sqlite", sqlite3.connect

    class Overtaken(sqlite3.Connection):
        def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:
            found = super().execute(sql, values)
            if sql == "COMMIT":
                other = connect(path, isolation_level=None, check_same_thread=False)
                other.execute("BEGIN IMMEDIATE")
                threading.Timer(0.2, other.close).start()
            return found

    monkeypatch.setattr(sqlite3, "connect", partial(connect, factory=Overtaken))

    with SqliteRobotsCache(path) as cache:
        assert cache.failures == 0
