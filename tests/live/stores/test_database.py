from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.live.stores.fakes import LEASE, START, Time, accept, opened

from scoter.errors import Defect, StoreUnavailable, UsageError
from scoter.live.clock import boot_id, steady_now
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.journal import SqliteJournal
from scoter.live.sqlite.metadata import open_readonly
from scoter.live.sqlite.schema import FORMAT
from scoter.live.sqlite.stores import SqliteStores

Connection = sqlite3.Connection


def fact(name: str) -> Callable[[Connection], int]:
    """Return a change that inserts a fact."""
    return lambda connection: connection.execute("INSERT INTO facts VALUES (?, 'x')", (name,)).rowcount


def facts(db: ServiceDb) -> set[str]:
    return {name for (name,) in db.reader.all("SELECT name FROM facts WHERE value = 'x'")}


async def together(db: ServiceDb, *changes: Callable[[Connection], object]) -> list[object]:
    """Apply changes in one transaction: they queue up while another change blocks the writer."""
    begun, go_on = threading.Event(), threading.Event()

    def hold(connection: Connection) -> None:
        begun.set()
        go_on.wait(10)

    held = asyncio.create_task(db.write(hold))
    await asyncio.to_thread(begun.wait, 10)
    writes = [asyncio.create_task(db.write(change)) for change in changes]
    await asyncio.sleep(0)
    go_on.set()
    await held
    return list(await asyncio.gather(*writes, return_exceptions=True))


async def test_queued_writes_share_one_commit(db: ServiceDb) -> None:
    before = db.writer.counts.commits

    results = await together(db, *(fact(f"f{number}") for number in range(50)))

    assert results == [1] * 50
    assert db.writer.counts.commits - before == 2
    assert facts(db) == {f"f{number}" for number in range(50)}


async def test_failing_write_fails_alone(db: ServiceDb) -> None:
    def half(connection: Connection) -> None:
        fact("half")(connection)
        raise ValueError("no more")

    results = await together(db, fact("before"), half, fact("before"), fact("after"))

    assert results[0] == results[3] == 1
    assert isinstance(results[1], ValueError)
    assert isinstance(results[2], Defect)  # the same name twice
    assert facts(db) == {"before", "after"}
    assert db.writer.counts.failures == 2


async def test_only_durable_writes_wait_for_the_disk(db: ServiceDb) -> None:
    def waits(connection: Connection) -> bool:
        return bool(connection.execute("PRAGMA synchronous").fetchone() == (2,))  # FULL

    alone = [await db.write(waits), await db.write(waits, durable=False), await db.write(waits)]
    lazy = lambda connection: connection.execute("PRAGMA synchronous").fetchone()  # noqa: E731
    begun = await together(db, waits, lazy)

    assert alone == [True, False, True]
    assert begun == [True, (2,)]


async def test_cancelled_writer_does_not_affect_others(db: ServiceDb) -> None:
    task = asyncio.create_task(db.write(fact("a")))
    await asyncio.sleep(0)
    task.cancel()

    assert await db.write(fact("b")) == 1
    assert facts(db) == {"a", "b"}


async def test_writers_wait_when_the_queue_is_full(tmp_path: Path) -> None:
    async with ServiceDb(tmp_path / "service.sqlite", most_waiting=3) as db:
        results = await asyncio.gather(*(db.write(fact(f"f{number}")) for number in range(40)))
        assert sum(results) == 40
        assert db.writer.counts.commits >= 40 // 3


async def test_close_applies_queued_writes(tmp_path: Path) -> None:
    path = tmp_path / "service.sqlite"
    db = ServiceDb(path)
    writes = [asyncio.create_task(db.write(fact(f"f{number}"))) for number in range(20)]
    await asyncio.sleep(0)

    await asyncio.to_thread(db.close)

    assert await asyncio.gather(*writes) == [1] * 20
    with pytest.raises(Defect, match="after closing"):
        await db.write(fact("late"))
    async with ServiceDb(path) as again:
        assert len(facts(again)) == 20


async def test_acknowledged_write_is_in_a_raw_copy_of_the_files(tmp_path: Path, db: ServiceDb) -> None:
    await accept(SqliteJournal(db), "a")

    copy = tmp_path / "copy"
    copy.mkdir()
    for file in ("service.sqlite", "service.sqlite-wal"):
        shutil.copy(tmp_path / file, copy / file)

    async with ServiceDb(copy / "service.sqlite") as found:
        assert SqliteJournal(found).is_done("a") is False


async def test_locked_database_refuses_writes_until_unlocked(tmp_path: Path) -> None:
    path = tmp_path / "service.sqlite"
    async with ServiceDb(path, busy=0.01) as db:
        journal = SqliteJournal(db)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(StoreUnavailable, match="another process has locked the database"):
            await accept(journal, "a")
        assert journal.waiting() == 0
        other.execute("ROLLBACK")
        other.close()

        await accept(journal, "a")
        assert journal.waiting() == 1


async def test_full_database_refuses_writes_until_there_is_space(db: ServiceDb) -> None:
    journal = SqliteJournal(db)
    await accept(journal, "before")
    (pages,) = db.reader.one("PRAGMA page_count")
    await db.write(lambda connection: connection.execute(f"PRAGMA max_page_count = {pages}").fetchone())

    with pytest.raises(StoreUnavailable, match="Free disk space"):
        await accept(journal, *(f"name-{number:0500}" for number in range(50)))
    assert journal.waiting() == 1

    await db.write(lambda connection: connection.execute("PRAGMA max_page_count = 1000000").fetchone())
    await accept(journal, "after")
    assert await opened(journal) == ["before", "after"]


def test_failing_disk_loses_no_acknowledged_write(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.live.stores.full_disk", str(tmp_path / "service.sqlite")]

    run = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.split() == ["refused", "recovered"]


def test_second_service_is_refused_with_the_name_of_the_holder(tmp_path: Path, db: ServiceDb) -> None:
    with pytest.raises(UsageError) as refused:
        ServiceDb(db.path)

    assert f"process {os.getpid()} on " in str(refused.value)
    assert "stop that process" in str(refused.value)
    assert START.isoformat(" ", "seconds") in str(refused.value)


def test_shared_database_cannot_be_opened_exclusively(tmp_path: Path) -> None:
    path = tmp_path / "service.sqlite"
    first, second = ServiceDb(path, shared=True), ServiceDb(path, shared=True)
    first.close()

    with pytest.raises(UsageError, match="being written by"):
        ServiceDb(path)
    second.close()

    ServiceDb(path).close()


def test_newer_database_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "service.sqlite"
    ServiceDb(path).close()
    newer = sqlite3.connect(path)
    newer.execute(f"PRAGMA user_version = {FORMAT + 1}")
    newer.close()

    for opening in (ServiceDb, open_readonly):
        with pytest.raises(UsageError, match=f"newer version of Scoter .format {FORMAT + 1}, .* up to {FORMAT}"):
            opening(path)


def test_foreign_database_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "service.sqlite"
    foreign = sqlite3.connect(path)
    foreign.execute("CREATE TABLE mine (a)")
    foreign.close()

    with pytest.raises(UsageError, match="not a live service's"):
        ServiceDb(path)

    after = sqlite3.connect(path)
    assert after.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]
    after.close()


def test_file_that_is_not_a_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "service.sqlite"
    path.write_bytes(b"What is this?" * 100)

    with pytest.raises(StoreUnavailable, match="not a database"):
        ServiceDb(path)
    assert path.read_bytes() == b"What is this?" * 100


def test_lookup_without_a_service_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no live service database"):
        open_readonly(tmp_path / "service.sqlite")
    assert list(tmp_path.iterdir()) == []

    (tmp_path / "empty.sqlite").touch()
    with pytest.raises(UsageError, match="no tables"):
        open_readonly(tmp_path / "empty.sqlite")


class TestLeasesAcrossOpenings:
    async def lend(self, path: Path, time: Time) -> None:
        async with ServiceDb(path, clock=time.clock, steady_clock=time.tick, boot="one", shared=True) as db:
            await accept(SqliteJournal(db), "a")
            assert await opened(SqliteJournal(db)) == ["a"]

    async def test_exclusive_service_ends_leases_of_a_dead_one(self, tmp_path: Path, time: Time) -> None:
        await self.lend(tmp_path / "db", time)

        async with ServiceDb(tmp_path / "db", clock=time.clock, steady_clock=time.tick, boot="one") as db:
            assert await opened(SqliteJournal(db)) == ["a"]

    async def test_sharing_service_keeps_leases_of_others(self, tmp_path: Path, time: Time) -> None:
        await self.lend(tmp_path / "db", time)

        async with ServiceDb(tmp_path / "db", clock=time.clock, steady_clock=time.tick, boot="one", shared=True) as db:
            assert await opened(SqliteJournal(db)) == []
            time.passes(LEASE.total_seconds())
            assert await opened(SqliteJournal(db)) == ["a"]

    async def test_reboot_ends_all_leases(self, tmp_path: Path, time: Time) -> None:
        await self.lend(tmp_path / "db", time)
        time.ticks = 5.0  # its clock counts from nought again

        async with ServiceDb(tmp_path / "db", clock=time.clock, steady_clock=time.tick, boot="two", shared=True) as db:
            assert await opened(SqliteJournal(db)) == ["a"]

    async def test_put_off_delivery_becomes_due_only_after_a_reboot(self, tmp_path: Path, time: Time) -> None:
        from tests.live.stores.contract_announcing import HOOK, announce

        async with ServiceDb(tmp_path / "db", clock=time.clock, steady_clock=time.tick, boot="one") as db:
            stores = SqliteStores(db)
            await announce(stores, "held", "late", callback=HOOK)
            _, late = await stores.deliveries.due(2, LEASE)
            await stores.deliveries.failed(late.id, LEASE * 100, "503")

        async with ServiceDb(tmp_path / "db", clock=time.clock, steady_clock=time.tick, boot="one") as db:
            due = await SqliteStores(db).deliveries.due(2, LEASE)
            assert [each.event.message for each in due] == ["held"]

        time.ticks = 5.0
        async with ServiceDb(tmp_path / "db", clock=time.clock, steady_clock=time.tick, boot="two") as db:
            due = await SqliteStores(db).deliveries.due(2, LEASE)
            assert {each.event.message for each in due} == {"held", "late"}


def test_steady_clock_is_the_same_in_every_process() -> None:
    code = "from scoter.live.clock import boot_id, steady_now; print(boot_id(), steady_now())"

    before = steady_now()
    name, seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split()

    assert name == boot_id()
    assert before < float(seen) < steady_now()
