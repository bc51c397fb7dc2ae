"""Retention removes what is past its limit, and nothing else."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.live.content.outcomes import NOON, Clock, FakeEvents, event, files
from tests.live.memory.metadata import MemoryMetadata
from tests.live.memory.stores import MemoryStores

from scoter.config.sections.live import LiveSettings
from scoter.config.units import Size
from scoter.errors import StoreUnavailable
from scoter.live.content.log import FetchLog
from scoter.live.content.log_files import read_state
from scoter.live.content.retention import DiskFloor, Retention, SweepResult, expire_archives
from scoter.live.ports import StoredRecord

FOR_EVER = LiveSettings(content_for=None, log_for=None)

DAY = timedelta(days=1)


def archive(folder: Path, name: str, written: datetime, size: int = 100, *, is_open: bool = False) -> None:
    path = folder / f"{name}.warc.gz{'.open' if is_open else ''}"
    path.write_bytes(bytes(size))
    os.utime(path, (written.timestamp(), written.timestamp()))
    if not is_open:
        (folder / f"{name}.cdxj").write_bytes(b"")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_old_archives_are_removed_with_their_indexes_except_the_open_one(tmp_path: Path) -> None:
    archive(tmp_path, "old", NOON - 3 * DAY)
    archive(tmp_path, "new", NOON - DAY)
    archive(tmp_path, "open", NOON - 3 * DAY, is_open=True)
    (tmp_path / "open.cdxj").write_bytes(b"")  # as between sealing and naming
    (tmp_path / "stray.cdxj").write_bytes(b"")  # its archive went before a crash

    gone = expire_archives(tmp_path, NOON - 2 * DAY, None)

    assert gone == (1, 100)
    assert names(tmp_path) == ["new.cdxj", "new.warc.gz", "open.cdxj", "open.warc.gz.open"]


def test_oldest_archives_are_removed_beyond_the_size_limit(tmp_path: Path) -> None:
    for age in range(1, 5):
        archive(tmp_path, f"{age}-days-old", NOON - age * DAY)
    archive(tmp_path, "open", NOON, 150, is_open=True)

    gone = expire_archives(tmp_path, None, 350)

    assert gone == (2, 200)
    assert [name for name in names(tmp_path) if name.endswith(".gz")] == ["1-days-old.warc.gz", "2-days-old.warc.gz"]


def test_nothing_is_removed_without_limits(tmp_path: Path) -> None:
    archive(tmp_path, "old", NOON - 999 * DAY)

    assert expire_archives(tmp_path, None, None) == (0, 0)


async def test_sweep_removes_old_archives_log_files_records_and_events(tmp_path: Path) -> None:
    clock = Clock()
    content = tmp_path / "content"
    content.mkdir()
    archive(content, "old", NOON - 3 * DAY)
    metadata = MemoryStores(clock=clock).metadata
    await metadata.put([_stored("http://a.org/", NOON + DAY), _stored("http://b.org/", NOON + 9 * DAY)])
    events = FakeEvents([event(1), event(2), event(3, at=NOON + 3 * DAY)])
    log = FetchLog(tmp_path / "log", events, clock=clock)
    await log.flush()
    keeping = LiveSettings(content_for=2 * DAY, log_for=2 * DAY)
    retention = Retention(keeping, content=content, log=log, metadata=metadata, events=events, clock=clock)
    clock.now = NOON + 4 * DAY

    swept = await retention.sweep()

    assert swept == SweepResult(archives=1, archived_bytes=100, log_files=1, records=1, events=3)
    assert names(content) == []
    assert files(tmp_path / "log") == ["2026-11-08/12-1-000000000003-000000000003.parquet.part"]
    assert await metadata.get("http://b.org/") is not None


async def test_sweep_without_age_removes_archives_by_size_only(tmp_path: Path) -> None:
    clock = Clock()
    content = tmp_path / "content"
    content.mkdir()
    for age in (1, 2, 3):
        archive(content, f"{age}-days-old", NOON - age * DAY)
    metadata = MemoryStores(clock=clock).metadata
    await metadata.put([_stored("http://a.org/", NOON + DAY)])
    events = FakeEvents([event(1), event(2, at=NOON + 3 * DAY)])
    log = FetchLog(tmp_path / "log", events, clock=clock)
    await log.flush()
    keeping = LiveSettings(content_for=DAY, content_size=Size(200), log_for=DAY)
    retention = Retention(keeping, content=content, log=log, metadata=metadata, events=events, clock=clock)
    clock.now = NOON + 9 * DAY

    swept = await retention.sweep(by_age=False)

    assert (swept.archives, swept.archived_bytes, swept.log_files, swept.records) == (1, 100, 0, 0)
    assert [name for name in names(content) if name.endswith(".gz")] == ["1-days-old.warc.gz", "2-days-old.warc.gz"]
    assert await metadata.expire(9) == 1


async def test_unlogged_event_is_not_pruned(tmp_path: Path) -> None:
    events = FakeEvents([event(1), event(2)])
    log = FetchLog(tmp_path / "log", events)
    metadata = MemoryStores().metadata
    retention = Retention(FOR_EVER, content=tmp_path, log=log, metadata=metadata, events=events)

    assert (await retention.sweep()).events == 0
    await log.flush()
    events.events.append(event(3))
    assert (await retention.sweep()).events == 2

    await log.flush()
    assert log.number == 3


async def test_sweep_frees_space_on_a_full_disk(small_disk: Path) -> None:
    clock = Clock()
    content = small_disk / "content"
    content.mkdir()
    metadata = MemoryStores(clock=clock).metadata
    await metadata.put([_stored("http://a.org/", NOON + DAY)])
    events = FakeEvents([event(1), event(2, at=NOON + DAY), event(3, at=NOON + DAY)])
    log = FetchLog(small_disk / "log", events, clock=clock)
    await log.flush()
    retention = Retention(
        LiveSettings(log_for=timedelta(hours=1), content_for=None),
        content=content,
        log=log,
        metadata=metadata,
        events=events,
        clock=clock,
    )
    clock.now = NOON + 4 * DAY
    with (small_disk / "ballast").open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass

    swept = await retention.sweep()

    # The newest hour stays: its name alone tells how far the log has come, until that can be noted.
    assert swept == SweepResult(log_files=1, records=1, events=3)
    assert len(files(small_disk / "log")) == 1
    (small_disk / "ballast").unlink()
    assert (await retention.sweep()).log_files == 1
    assert read_state(small_disk / "log").number == 3


async def test_failing_step_of_a_sweep_does_not_stop_the_others(tmp_path: Path) -> None:
    class Locked(MemoryMetadata):
        async def expire(self, most: int) -> int:
            raise StoreUnavailable("another process has locked the database")

    clock = Clock()
    events = FakeEvents([event(1)])
    log = FetchLog(tmp_path / "log", events, clock=clock)
    await log.flush()
    retention = Retention(
        FOR_EVER,
        content=tmp_path,
        log=log,
        metadata=Locked(clock),
        events=events,
        clock=clock,
    )

    with pytest.raises(StoreUnavailable):
        await retention.sweep()

    assert events.events == []


def test_free_space_is_read_once_per_second_and_is_zero_without_disk(tmp_path: Path) -> None:
    readings = [500, 50]
    now = 0.0
    floor = DiskFloor(tmp_path, 100, timer=lambda: now, free=lambda path: readings.pop(0))

    assert floor.has_room()
    now = 0.9
    assert floor.has_room()
    now = 1.1
    assert not floor.has_room()
    assert not DiskFloor(tmp_path / "gone", 1).has_room()


def _stored(url: str, expires: datetime) -> StoredRecord:
    return StoredRecord(url=url, value=b"{}", fetched_at=NOON, expires_at=expires)
