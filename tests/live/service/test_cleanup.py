from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.waiting import until

from scoter.config.sections.live import LiveSettings
from scoter.live.content.log import FetchLog
from scoter.live.content.retention import Retention
from scoter.live.ports import UrlOutcome
from scoter.live.records import Message, State, UrlRecord
from scoter.live.service.cleanup import Cleanup
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.stores import SqliteStores

FOR_EVER = LiveSettings(content_for=None, log_for=None)

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = LONG_AGO

    def __call__(self) -> datetime:
        return self.now


def retention(stores: SqliteStores, log: FetchLog, clock: Clock) -> Retention:
    content = log.folder.with_name("content")
    return Retention(
        FOR_EVER,
        content=content,
        log=log,
        metadata=stores.metadata,
        events=stores.events,
        clock=clock,
    )


async def test_events_are_kept_until_they_are_logged(tmp_path: Path) -> None:
    clock = Clock()
    async with ServiceDb(tmp_path / "service.sqlite", clock=clock) as db:
        stores = SqliteStores(db, LiveSettings(events_for=timedelta(hours=1), messages_for=timedelta(hours=1)))
        log = FetchLog(tmp_path / "log", stores.events, clock=clock)
        upkeep = Cleanup(stores, retention(stores, log, clock), at_once=2)
        await finish(stores, 3)
        clock.now += timedelta(days=1)

        had_more = await upkeep.sweep()
        kept = stores.events.first()
        await log.flush()
        await upkeep.sweep()
        await upkeep.sweep()

        assert had_more  # two of three messages were removed
        assert kept == 1
        assert stores.events.first() == 4
        assert stores.journal.is_done("m0") is None


async def test_count_limits_apply_at_once_and_age_limits_wait_for_a_steady_clock(tmp_path: Path) -> None:
    clock = Clock()
    steady: list[bool] = []
    async with ServiceDb(tmp_path / "service.sqlite", clock=clock) as db:
        stores = SqliteStores(db, LiveSettings(events_most=2, messages_most=1))
        log = FetchLog(tmp_path / "log", stores.events, clock=clock)
        upkeep = Cleanup(stores, retention(stores, log, clock), is_steady=lambda: bool(steady))
        await finish(stores, 3)
        await log.flush()
        clock.now += timedelta(days=9_999)  # set by mistake
        running = asyncio.create_task(upkeep.run())
        async with asyncio.timeout(10):
            await until(lambda: stores.events.first() != 1 and stores.journal.is_done("m1") is None)
        running.cancel()

        assert (stores.events.first(), stores.journal.is_done("m2")) == (2, True)
        steady.append(True)
        await upkeep.sweep()
        assert (stores.events.first(), stores.journal.is_done("m2")) == (4, None)


async def finish(stores: SqliteStores, count: int) -> None:
    """Accept messages and record their outcomes."""
    for number in range(count):
        url = f"http://example.org/{number}"
        message = Message(id=f"m{number}", received=LONG_AGO)
        await stores.journal.accept([(message, [url])])
        (entry,) = await stores.journal.open("reader", 1, timedelta(minutes=1))
        record = UrlRecord(url=url, resolved=url, state=State.OK, fetch="f", fetched_at=LONG_AGO, expires_at=LONG_AGO)
        await stores.outcomes.record("reader", [UrlOutcome(entry=entry, record=record, rows=())])
