"""Upgrades of older databases, and backups."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest
from tests.live.stores.contract_announcing import HOOK
from tests.live.stores.fakes import LEASE, Time, accept, done, message, stored, url_of

from scoter.errors import UsageError
from scoter.live.sqlite.database import DatabaseReader, ServiceDb, back_up
from scoter.live.sqlite.journal import SqliteJournal
from scoter.live.sqlite.metadata import open_readonly
from scoter.live.sqlite.schema import FORMAT, WrongDatabase, prepare
from scoter.live.sqlite.stores import SqliteStores


@pytest.fixture
async def old(tmp_path: Path) -> Path:
    """A file in the current format, which a future version upgrades."""
    path = tmp_path / "service.sqlite"
    async with ServiceDb(path) as db:
        await accept(SqliteJournal(db), "a")
    return path


def version(path: Path) -> int:
    connection = sqlite3.connect(path)
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return int(found)


def opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def make_format_3(connection: sqlite3.Connection) -> None:
    for statement in (
        "DROP TRIGGER message_comes",
        "DROP TRIGGER message_shrinks",
        "DROP TABLE tenants",
        "DROP TABLE retries",
        "DROP INDEX deliveries_tenant",
        "ALTER TABLE messages DROP COLUMN digest",
        "ALTER TABLE deliveries DROP COLUMN tenant",
        "ALTER TABLE urls ADD COLUMN direct INTEGER NOT NULL DEFAULT 1",
        "ALTER TABLE overflow ADD COLUMN direct INTEGER NOT NULL DEFAULT 1",
        "PRAGMA user_version = 3",
    ):
        connection.execute(statement)


def test_older_file_is_upgraded_step_by_step_without_loss(old: Path) -> None:
    steps = {FORMAT: "CREATE TABLE more (a TEXT) STRICT;", FORMAT + 1: "ALTER TABLE more ADD COLUMN b TEXT;"}
    connection = opened(old)

    prepare(connection, to=FORMAT + 2, steps=steps)
    prepare(connection, to=FORMAT + 2, steps=steps)

    assert connection.execute("SELECT a, b FROM more").fetchall() == []
    assert connection.execute("SELECT id FROM messages").fetchall() == [("a",)]
    connection.close()
    assert version(old) == FORMAT + 2


async def test_records_of_format_3_that_no_request_has_returned_are_removed(tmp_path: Path) -> None:
    path, time = tmp_path / "service.sqlite", Time()
    async with ServiceDb(path, clock=lambda: time.now) as db:
        await SqliteStores(db).metadata.put([stored("requested"), stored("named by another page")])
    connection = opened(path)
    make_format_3(connection)
    connection.execute("UPDATE urls SET direct = 0 WHERE url = ?", (url_of("named by another page"),))
    connection.close()

    async with ServiceDb(path, clock=lambda: time.now) as db:
        metadata = SqliteStores(db).metadata
        assert await metadata.get(url_of("requested")) == stored("requested")
        assert await metadata.last(url_of("named by another page")) is None
        assert metadata.size().records == 1


async def test_records_of_format_2_are_kept_and_expire(tmp_path: Path) -> None:
    path, time = tmp_path / "service.sqlite", Time()
    async with ServiceDb(path, clock=lambda: time.now) as db:
        await SqliteStores(db).metadata.put([stored("a", lives=60)])
    connection = opened(path)
    make_format_3(connection)
    for table in ("urls", "overflow"):
        connection.execute(f"DROP INDEX {table}_expiry")
        connection.execute(f"ALTER TABLE {table} DROP COLUMN stale")
        connection.execute(f"CREATE INDEX {table}_expiry ON {table} (expires)")
    connection.execute("DROP TABLE holds")
    connection.execute("PRAGMA user_version = 2")
    connection.close()

    async with ServiceDb(path, clock=lambda: time.now) as db:
        metadata = SqliteStores(db).metadata
        assert await metadata.get(url_of("a")) == stored("a", lives=60)
        time.passes(60)
        assert await metadata.last(url_of("a")) is None
        assert await metadata.expire(10) == 1


async def test_messages_and_deliveries_of_format_3_belong_to_the_tenant_without_a_name(tmp_path: Path) -> None:
    path = tmp_path / "service.sqlite"
    async with ServiceDb(path) as db:
        stores = SqliteStores(db)
        await stores.journal.accept([(message("m", callback=HOOK), [url_of("a"), url_of("b")])])
        (entry,) = await stores.journal.open("r", 1, LEASE)
        await stores.outcomes.record("r", [done(entry)])
    connection = opened(path)
    make_format_3(connection)
    connection.close()

    async with ServiceDb(path) as db:
        stores = SqliteStores(db)
        assert stores.journal.waiting_for("") == 1
        assert [each.delivery.callback for each in await stores.deliveries.unfinished(9, "")] == [HOOK]
        (again,) = await stores.journal.accept([(message("m", digest=b"unknown before"), [url_of("a")])])
        assert (again.is_new, again.is_conflict, len(again.entries)) == (False, False, 2)
        (entry,) = await stores.journal.open("r", 1, LEASE)
        await stores.outcomes.record("r", [done(entry)])
        assert stores.journal.waiting_for("") == 0


def test_failed_upgrade_leaves_the_file_unchanged(old: Path) -> None:
    steps = {FORMAT: "CREATE TABLE more (a TEXT) STRICT;", FORMAT + 1: "ALTER TABLE nowhere ADD COLUMN b TEXT;"}
    connection = opened(old)

    with pytest.raises(sqlite3.OperationalError):
        prepare(connection, to=FORMAT + 2, steps=steps)

    assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'more'").fetchone() == (0,)
    connection.close()
    assert version(old) == FORMAT


def test_too_old_file_is_refused_and_unchanged(old: Path) -> None:
    connection = opened(old)

    with pytest.raises(WrongDatabase, match=f"too old .format {FORMAT}, this one knows {FORMAT + 2}"):
        prepare(connection, to=FORMAT + 2, steps={FORMAT + 1: "DROP TABLE messages;"})

    connection.close()
    assert version(old) == FORMAT


def test_reader_of_an_older_file_gets_a_hint(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scoter.live.sqlite.database.FORMAT", FORMAT + 1)

    with pytest.raises(UsageError, match="is of an older Scoter; a service that is started with it"):
        open_readonly(old)


async def test_backup_during_writes_is_consistent(tmp_path: Path) -> None:
    async with ServiceDb(tmp_path / "service.sqlite") as db:
        stores = SqliteStores(db)
        await accept(stores.journal, *(f"before{number}" for number in range(50)))
        going = asyncio.create_task(_go_on(stores))
        size = await asyncio.to_thread(back_up, db.path, tmp_path / "copies" / "service.sqlite")
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)

    copy = tmp_path / "copies" / "service.sqlite"
    assert size == copy.stat().st_size > 0
    assert [path.name for path in copy.parent.iterdir()] == ["service.sqlite"]
    async with ServiceDb(copy) as db:
        stores = SqliteStores(db)
        events = await stores.events.since(0, 10_000)
        # What was lent then is nobody's now, and every entry is either open or announced.
        found = await stores.journal.open("new", 10_000, LEASE)
        assert len(found) == stores.journal.waiting()
        names = {entry.message for entry in found} | {event.message for event in events}
        assert {f"before{number}" for number in range(50)} <= names
        assert len(found) + len(events) == db.reader.one("SELECT count(*) FROM messages")[0]
        assert db.reader.one("PRAGMA integrity_check") == ("ok",)


async def _go_on(stores: SqliteStores) -> None:
    number = 0
    while True:
        number += 1
        await accept(stores.journal, f"while{number}")
        for entry in await stores.journal.open("r", 2, LEASE):
            await stores.outcomes.record("r", [done(entry)])


async def test_backup_overwrites_nothing_and_leaves_no_partial_file(tmp_path: Path) -> None:
    async with ServiceDb(tmp_path / "service.sqlite"):
        (tmp_path / "taken").write_bytes(b"mine")

        with pytest.raises(UsageError, match="already exists"):
            back_up(tmp_path / "service.sqlite", tmp_path / "taken")
        with pytest.raises(UsageError, match="no live service database"):
            back_up(tmp_path / "nothing.sqlite", tmp_path / "copy")

    assert (tmp_path / "taken").read_bytes() == b"mine"
    assert not (tmp_path / "copy").exists()
    DatabaseReader(tmp_path / "service.sqlite").close()


async def test_backup_is_private_to_its_owner(tmp_path: Path) -> None:
    async with ServiceDb(tmp_path / "service.sqlite"):
        back_up(tmp_path / "service.sqlite", tmp_path / "new" / "service.sqlite")

    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "new" / "service.sqlite").stat().st_mode & 0o777 == 0o600
