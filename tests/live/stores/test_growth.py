"""The size of the database stays bounded."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
from tests.live.stores.fakes import LEASE, Time, message

from scoter.config.sections.live import LiveSettings
from scoter.live.content.log import FetchLog
from scoter.live.content.retention import Retention
from scoter.live.ports import StoredRecord, UrlOutcome
from scoter.live.records import State, UrlRecord
from scoter.live.service.cleanup import Cleanup
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.stores import SqliteStores

FOR_EVER = LiveSettings(content_for=None, log_for=None)

AT_ONCE = 60
HOUR = timedelta(hours=1)


async def go_through(stores: SqliteStores, time: Time, number: int) -> None:
    """Accept, finish and announce a batch of messages whose callbacks fail."""
    named = [f"m{number}-{each}" for each in range(AT_ONCE)]
    urls = {name: f"http://{name}.example/" for name in named}
    await stores.journal.accept(
        [(message(name, callback="http://me.example/", at=time.now), [urls[name]]) for name in named]
    )
    done = []
    for entry in await stores.journal.open("r", AT_ONCE, LEASE):
        record = UrlRecord(
            url=entry.url,
            resolved=entry.url,
            state=State.OK,
            fetch="f",
            fetched_at=time.now,
            expires_at=time.now + HOUR,
        )
        row = StoredRecord(url=entry.url, value=b"x" * 500, fetched_at=time.now, expires_at=record.expires_at)
        done.append(UrlOutcome(entry=entry, record=record, rows=[row]))
    await stores.outcomes.record("r", done)
    due = await stores.deliveries.due(AT_ONCE, LEASE)
    await asyncio.gather(*(stores.deliveries.failed(each.id, None, "410 Gone") for each in due))


async def test_database_size_stays_bounded_under_constant_load(tmp_path: Path, time: Time) -> None:
    """A small service: two hours of records, and as many messages, events and deliveries as are kept."""
    sizes = []
    async with ServiceDb(tmp_path / "service.sqlite", clock=time.clock, steady_clock=time.tick, apart=0.0) as db:
        stores = SqliteStores(db, LiveSettings(messages_most=240, events_most=240), most_given_up=240)
        log = FetchLog(tmp_path / "log", stores.events, clock=time.clock)
        retention = Retention(
            LiveSettings(log_for=HOUR, content_for=None),
            content=tmp_path / "content",
            log=log,
            metadata=stores.metadata,
            events=stores.events,
            clock=time.clock,
        )
        upkeep = Cleanup(stores, retention)
        for number in range(26):
            await go_through(stores, time, number)
            await log.flush()
            time.passes(900)
            await upkeep.sweep()
            sizes.append(stores.metadata.size().file_bytes)
        counts = {
            table: db.reader.one(f"SELECT count(*) FROM {table}")[0]
            for table in ("messages", "entries", "backlog", "urls", "events", "deliveries")
        }

    assert max(sizes[9:]) <= 1.1 * max(sizes[:9])
    assert counts["entries"] == counts["backlog"] == 0
    assert max(counts.values()) <= 240 + AT_ONCE
    assert (tmp_path / "service.sqlite").stat().st_size < 4_000_000


async def test_wal_stops_growing_when_a_long_reader_ends(tmp_path: Path) -> None:
    path = tmp_path / "service.sqlite"
    wal = path.with_name("service.sqlite-wal")

    async def write(megabytes: int) -> None:
        for _ in range(megabytes):
            await db.write(
                lambda connection: connection.execute("INSERT OR REPLACE INTO facts VALUES ('x', ?)", ("x" * 2**20,)),
                durable=False,
            )

    async with ServiceDb(path, apart=0.0) as db:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM facts").fetchone()
        await write(40)
        held = wal.stat().st_size
        other.execute("ROLLBACK")
        other.close()

        await write(80)

        assert held > 40 * 2**20
        assert wal.stat().st_size < held + 20 * 2**20
        assert db.log_bytes == wal.stat().st_size


async def test_wal_kept_by_a_long_reader_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scoter.live.service.cleanup._LONG_LOG", 0)
    async with ServiceDb(tmp_path / "service.sqlite") as db:
        stores = SqliteStores(db)
        log = FetchLog(tmp_path / "log", stores.events)
        retention = Retention(
            FOR_EVER,
            content=tmp_path / "content",
            log=log,
            metadata=stores.metadata,
            events=stores.events,
        )

        await Cleanup(stores, retention).sweep()

    assert "has been reading the database for long" in caplog.text
