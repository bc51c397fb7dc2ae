"""Setting the wall clock forward or back loses nothing, keeps nothing for ever, and repeats no requests."""

from __future__ import annotations

import errno
import shutil
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from tests.live.content.outcomes import NOON, Clock, FakeEvents, event, files, logged
from tests.live.fakes import page
from tests.live.memory.metadata import MemoryMetadata
from tests.live.memory.stores import MemoryStores
from tests.live.stores.fakes import LEASE, Stores, Time, message, opened, url_of
from tests.store.exchanges import ABOUT, exchange

from scoter.core.reply import Failed, reply_to
from scoter.core.url import canonical
from scoter.live.content.archive import LiveWarcWriter
from scoter.live.content.log import FetchLog
from scoter.live.content.log_files import pieces
from scoter.live.pipeline.lookup import FreshRecords
from scoter.live.ports import StoredRecord
from scoter.live.records import Priority, State, UrlRecord
from scoter.live.service.cleanup import SteadyClock
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.stores import SqliteStores
from scoter.store.warc import unfinished

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
A = "http://a.example/"


class TestWindows:
    @staticmethod
    async def known_after(jump: timedelta) -> bool:
        """Return whether a page fetched at noon is known after the clock was set."""
        clock = Clock()
        store = MemoryMetadata(clock)
        record = UrlRecord(url=A, resolved=A, state=State.OK, fetch="f", fetched_at=NOON, expires_at=NOON + 14 * DAY)
        value = msgspec.json.encode(record)
        await store.put([StoredRecord(url=A, value=value, fetched_at=NOON, expires_at=record.expires_at)])
        clock.now = NOON + jump
        return await FreshRecords(store, 14 * DAY, clock).get(A) is not None

    @pytest.mark.parametrize("jump", [-13 * DAY, -HOUR, DAY])
    async def test_setting_the_clock_does_not_repeat_a_fetch(self, jump: timedelta) -> None:
        assert await self.known_after(jump)

    @pytest.mark.parametrize("jump", [-400 * DAY, 14 * DAY])
    async def test_record_from_the_far_future_is_not_known_for_ever(self, jump: timedelta) -> None:
        assert not await self.known_after(jump)


@pytest.fixture(params=["memory", "sqlite"])
async def stores(request: pytest.FixtureRequest, tmp_path: Path, time: Time) -> AsyncIterator[Stores]:
    if request.param == "memory":
        yield MemoryStores(clock=time.clock, steady_clock=time.tick)
        return
    async with ServiceDb(tmp_path / "db", clock=time.clock, steady_clock=time.tick) as db:
        yield SqliteStores(db)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.mark.parametrize("jump", [DAY, -HOUR])
async def test_setting_the_clock_does_not_change_leases(stores: Stores, time: Time, jump: timedelta) -> None:
    await stores.journal.accept([(message("a"), [url_of("a")])])
    await opened(stores.journal, "first")
    time.now += jump

    early = await opened(stores.journal, "second")
    time.ticks += LEASE.total_seconds()
    late = await opened(stores.journal, "second")

    assert (early, late) == ([], ["a"])


async def test_old_bulk_keeps_its_share_after_the_clock_was_set_back(stores: Stores, time: Time) -> None:
    await stores.journal.accept([(message("bulk", priority=Priority.BULK, at=time.now), [url_of("bulk")])])
    time.now -= HOUR
    time.ticks += 120.0
    for number in range(20):
        name = f"p{number}"
        await stores.journal.accept([(message(name, priority=Priority.PERSON, at=time.now), [url_of(name)])])

    first = await opened(stores.journal, "r", 8)

    assert "bulk" in first


async def test_each_event_is_logged_once_when_the_clock_jumps(tmp_path: Path) -> None:
    clock = Clock()
    events = FakeEvents()
    log = FetchLog(tmp_path, events, clock=clock)
    for number, hours in enumerate([0, 0, 24, -1, 0, 24, 2, -400, 3, 3, 4], start=1):
        clock.now = NOON + hours * HOUR
        events.events.append(event(number, at=clock.now))
        await log.flush()
        await log.merge()
        if number % 3 == 0:
            log = FetchLog(tmp_path, events, clock=clock)
    clock.now = NOON + 48 * HOUR
    await log.merge()

    assert sorted(row["number"] for row in logged(tmp_path)) == list(range(1, 12))
    assert not any(piece.is_part for piece in pieces(tmp_path))


async def test_merged_parts_are_removed_after_the_clock_was_set_back(tmp_path: Path) -> None:
    clock = Clock()
    log = FetchLog(tmp_path, FakeEvents([event(1), event(2)]), clock=clock, rows=1)
    await log.flush()
    clock.now = NOON + 2 * HOUR
    assert await log.merge() == 1
    clock.now = NOON - DAY

    await log.merge()

    assert not [name for name in files(tmp_path) if name.endswith(".part")]


class TestArchives:
    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    def test_archive_file_is_finished_on_time_after_the_clock_was_set_back(self, tmp_path: Path, clock: Clock) -> None:
        seconds = 0.0
        with LiveWarcWriter(tmp_path, "live", ABOUT, size=2**30, age=HOUR, now=clock) as archive:
            archive.timer = lambda: seconds
            archive.write(exchange(A, b"body"))
            assert archive.finish_if_due() is None
            clock.now -= 30 * DAY
            seconds += 3_599.0
            early = archive.finish_if_due()
            seconds += 1.0

            assert early is None
            assert archive.finish_if_due() is not None

    def test_sealed_archive_file_takes_no_more_after_the_clock_was_set_back(
        self, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with LiveWarcWriter(tmp_path, "live", ABOUT, size=2**30, age=HOUR, now=clock) as archive:
            archive.timer = lambda: 0.0
            archive.write(exchange(A, b"body"))
            clock.now += HOUR
            with monkeypatch.context() as broken:
                broken.setattr(Path, "replace", _no_space)
                with pytest.raises(Exception, match="No space"):
                    archive.finish_if_due()
            clock.now -= HOUR

            second = archive.write(exchange(A, b"another"))

        assert second.offset > 0
        assert len(list(tmp_path.glob("*.warc.gz"))) == 2
        assert unfinished(tmp_path) == []


def _no_space(self: Path, target: Path) -> Path:
    """Rename a file, unless it is an archive."""
    if target.suffix == ".gz":
        raise OSError(errno.ENOSPC, "No space left on device")
    return Path(shutil.move(self, target))


def test_nothing_is_removed_by_age_until_the_clock_is_steady() -> None:
    now, ticks = datetime(2026, 11, 15, tzinfo=UTC), 500.0
    steady = SteadyClock(lambda: now, lambda: ticks)
    told = []
    for seconds, jump in [
        (599, 0),
        (1, 0),
        (3_600, 30),
        (60, 86_400),
        (540, 0),
        (60, 0),
        (1, -86_400),
        (599, 0),
        (1, 0),
    ]:
        ticks += seconds
        now += timedelta(seconds=seconds + jump)
        told.append(steady())

    assert told == [False, True, True, False, False, True, False, False, True]


def test_retry_after_date_is_relative_to_the_server_clock() -> None:
    headers = {"retry_after": "Sun, 15 Nov 2026 10:02:00 GMT", "date": "Sun, 15 Nov 2026 10:00:00 GMT"}
    busy = page("", 503, **headers)(canonical(A)).exchange
    assert busy is not None

    reply = reply_to(busy, datetime(2026, 11, 17, tzinfo=UTC))

    assert isinstance(reply, Failed)
    assert reply.retry_after == timedelta(minutes=2)
