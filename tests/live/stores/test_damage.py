"""A damaged, empty or missing database is noticed, reported and not written."""

from __future__ import annotations

import logging
import shutil
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
from tests.live.stores.fakes import START, Time, accept

from scoter.errors import StoreDamaged, StoreUnavailable
from scoter.live.ports import StoredRecord
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.health import DatabaseHealth, store_error
from scoter.live.sqlite.metadata import open_readonly
from scoter.live.sqlite.probe import DatabaseProbe
from scoter.live.sqlite.stores import SqliteStores

PAGE = 4096
URLS = [f"http://site{n}.example/" for n in range(200)]


async def filled(path: Path) -> None:
    """Write a database with records, and put all of them into its main file."""
    async with ServiceDb(path) as db:
        stores = SqliteStores(db)
        value = b'{"state":"ok","title":"%s"}' % (b"x" * 900)
        later = START + timedelta(days=14)
        rows = [StoredRecord(url=url, value=value, fetched_at=START, expires_at=later) for url in URLS]
        await stores.metadata.put(rows)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def overwrite_middle(path: Path) -> None:
    """Overwrite a quarter of a file behind its middle, whole pages: records, not the roots of the tables."""
    pages = path.stat().st_size // PAGE
    with path.open("r+b") as file:
        file.seek(pages // 2 * PAGE)
        file.write(b"\xa5" * (pages // 4 * PAGE))


@pytest.fixture
async def damaged(tmp_path: Path) -> Path:
    path = tmp_path / "service.sqlite"
    await filled(path)
    overwrite_middle(path)
    return path


async def read_all(db: ServiceDb) -> int:
    """Look up all URLs; return how many reads failed."""
    failed = 0
    for url in URLS:
        try:
            await SqliteStores(db).metadata.value(url)
        except StoreUnavailable:
            failed += 1
    return failed


async def test_damage_found_by_a_lookup_is_counted_logged_once_and_stops_intake(
    damaged: Path, time: Time, caplog: pytest.LogCaptureFixture
) -> None:
    async with ServiceDb(damaged, clock=time.clock) as db:
        with caplog.at_level(logging.CRITICAL):
            failed = await read_all(db)
            with pytest.raises(StoreDamaged, match="the database is damaged"):
                await accept(SqliteStores(db).journal, "late")

        assert failed > 10
        assert db.health.read_failures == failed
        assert "damaged" in db.health.trouble
        assert [record.levelname for record in caplog.records] == ["CRITICAL"]
        assert "restore a backup" in caplog.text


async def test_damage_that_nothing_has_read_is_found_by_the_probe(damaged: Path) -> None:
    async with ServiceDb(damaged) as db:
        probe = DatabaseProbe(db)

        await probe.check_structure()
        await probe.check()

        assert db.health.damage.startswith("the database is damaged")
        assert db.health.trouble == db.health.damage


async def test_lookup_process_notices_damage(damaged: Path, time: Time) -> None:
    health = DatabaseHealth(damaged)
    with open_readonly(damaged, clock=time.clock, health=health) as records:
        for url in URLS:
            try:
                await records.value(url)
            except StoreDamaged:
                break

    assert (health.read_failures, bool(health.damage)) == (1, True)


async def test_sound_database_passes_the_probe_and_is_ready_only_then(tmp_path: Path) -> None:
    path = tmp_path / "service.sqlite"
    await filled(path)
    async with ServiceDb(path) as db:
        probe = DatabaseProbe(db)
        before = db.health.trouble

        await probe.check_structure()
        await probe.check()

        assert before == "the database has not been checked yet"
        assert db.health.trouble == ""


async def test_probe_fails_while_another_process_locks_the_database(tmp_path: Path) -> None:
    path = tmp_path / "service.sqlite"
    async with ServiceDb(path, busy=0.01) as db:
        probe = DatabaseProbe(db)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        await probe.check()
        locked = db.health.trouble
        other.execute("ROLLBACK")
        other.close()
        await probe.check()

        assert "locked" in locked
        assert (db.health.trouble, db.health.damage) == ("", "")


async def test_database_that_is_removed_or_replaced_while_open_counts_as_damaged(tmp_path: Path) -> None:
    path = tmp_path / "service.sqlite"
    async with ServiceDb(path) as db:
        probe = DatabaseProbe(db)
        shutil.copy(path, tmp_path / "copy")
        (tmp_path / "copy").replace(path)

        await probe.check()

        assert "replaced" in db.health.trouble
        with pytest.raises(StoreDamaged):
            await accept(SqliteStores(db).journal, "late")


@pytest.mark.parametrize("state", ["empty", "missing"])
@pytest.mark.parametrize("trace", ["service.sqlite-wal", "content/one.warc.gz", "history.json"])
def test_service_does_not_start_without_the_database_it_had(tmp_path: Path, state: str, trace: str) -> None:
    path = tmp_path / "service.sqlite"
    if state == "empty":
        path.touch()
    (tmp_path / "content").mkdir()
    (tmp_path / trace).write_bytes(b"something")

    with pytest.raises(StoreDamaged) as raised:
        ServiceDb(path, traces=(tmp_path / "content", tmp_path / "history.json"))

    assert Path(trace).parts[0] in str(raised.value)
    assert f"is {state}" in str(raised.value)
    assert (tmp_path / trace).read_bytes() == b"something"
    assert not path.exists() or path.stat().st_size == 0


def test_empty_file_in_an_unused_directory_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "service.sqlite"
    path.touch()
    (tmp_path / "content").mkdir()

    ServiceDb(path, traces=(tmp_path / "content", tmp_path / "history.json")).close()

    assert path.stat().st_size > 0


def test_text_that_cannot_be_decoded_is_damage(tmp_path: Path) -> None:
    with sqlite3.connect(":memory:") as connection, pytest.raises(sqlite3.OperationalError) as raised:
        connection.execute("SELECT CAST(x'ff41' AS TEXT)").fetchone()
    connection.close()

    assert isinstance(store_error(raised.value, tmp_path), StoreDamaged)
