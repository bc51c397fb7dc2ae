"""Which writes of the service wait for the disk, so that a power failure cannot undo what was acknowledged."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.live.stores.fakes import LEASE, done, message, stored, url_of

from scoter.live.api.records import DomainRule
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.stores import SqliteStores

FULL, NORMAL = 2, 1  # values of PRAGMA synchronous
HOOK = "https://me.example/hook"


class SyncLevels:
    """How SQLite syncs each transaction, in order."""

    def __init__(self, db: ServiceDb, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[int] = []
        write = db.writer.write

        async def watched(change: Callable[[sqlite3.Connection], Any], *, durable: bool = True) -> Any:
            def and_look(connection: sqlite3.Connection) -> Any:
                result = change(connection)
                self.seen.append(connection.execute("PRAGMA synchronous").fetchone()[0])
                return result

            return await write(and_look, durable=durable)

        monkeypatch.setattr(db.writer, "write", watched)


@pytest.fixture
def levels(db: ServiceDb, monkeypatch: pytest.MonkeyPatch) -> SyncLevels:
    return SyncLevels(db, monkeypatch)


async def accepted(stores: SqliteStores) -> None:
    await stores.journal.accept([(message("m", callback=HOOK), [url_of("a")])])


async def recorded(stores: SqliteStores) -> None:
    await accepted(stores)
    (entry,) = await stores.journal.open("r", 1, LEASE)
    await stores.outcomes.record("r", [done(entry)])


async def lent(stores: SqliteStores) -> str:
    await recorded(stores)
    (delivery,) = await stores.deliveries.due(1, LEASE)
    return delivery.id


async def delivered(stores: SqliteStores) -> None:
    await stores.deliveries.delivered([await lent(stores)])


async def given_up(stores: SqliteStores) -> None:
    await stores.deliveries.failed(await lent(stores), None, "refused")


async def postponed(stores: SqliteStores) -> None:
    await stores.deliveries.failed(await lent(stores), timedelta(seconds=9), "refused")


async def resent(stores: SqliteStores) -> None:
    delivery = await lent(stores)
    await stores.deliveries.failed(delivery, None, "refused")
    await stores.deliveries.resend(delivery)


async def revoked(stores: SqliteStores) -> None:
    key, _ = await stores.keys.create("press", ["read"])
    await stores.keys.revoke(key.id)


@pytest.mark.parametrize(
    ("act", "level"),
    [
        (accepted, FULL),
        (recorded, FULL),
        (delivered, FULL),
        (given_up, FULL),
        (resent, FULL),
        (revoked, FULL),
        (lambda stores: stores.keys.create("press", ["read"]), FULL),
        (lambda stores: stores.rules.put(DomainRule(domain="a.example", delay=2.0)), FULL),
        (lambda stores: stores.metadata.put([stored("a")]), FULL),
        # A power failure also ends those who wait for these.
        (postponed, NORMAL),
        (lambda stores: stores.metadata.expire(1), NORMAL),
    ],
)
async def test_acknowledged_writes_wait_for_the_disk(
    db: ServiceDb, levels: SyncLevels, act: Callable[[SqliteStores], Awaitable[object]], level: int
) -> None:
    await act(SqliteStores(db))

    assert levels.seen[-1] == level


async def test_a_transaction_waits_for_the_disk_if_one_of_its_writes_does(db: ServiceDb, levels: SyncLevels) -> None:
    await db.write(lambda connection: None, durable=False)
    await db.write(lambda connection: None)
    await db.write(lambda connection: None, durable=False)

    assert levels.seen == [NORMAL, FULL, NORMAL]
