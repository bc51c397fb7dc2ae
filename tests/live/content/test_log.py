"""The log contains every event once, hour by hour, despite kills and full disks."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.effort import examples
from tests.live.content.outcomes import NOON, Clock, FakeEvents, event, files, logged

from scoter.core.metadata import Image
from scoter.errors import UserError
from scoter.live.api.records import Archived
from scoter.live.content.log import FetchLog
from scoter.live.content.log_files import STATE, merge, pieces
from scoter.live.content.log_rows import LOG, OutcomeTiming, OutcomeTimings, row_of
from scoter.live.ports import UrlOutcome
from scoter.live.records import ContentKind, Message, Related, StaleReason, State
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.stores import SqliteStores

HOUR = timedelta(hours=1)


async def test_row_contains_the_facts_of_an_outcome(tmp_path: Path) -> None:
    image = Image(url="http://cdn.example.net/i.png", width=2**40, height=20, media_type="image/png")
    outcome = event(
        1,
        "http://t.co/x",
        message="m",
        resolved="http://www.bbc.co.uk/news",
        title="News",
        related=Related(image=image, bytes=77),
        archived=Archived("live-1.warc.gz", 5, 6),
    )
    timings = OutcomeTimings()
    timings.put(
        "m", "http://t.co/x", OutcomeTiming((("resolve", 30.0), ("record", 2.0)), waited=4.0, remote=20.0, total=40.0)
    )

    await FetchLog(tmp_path, FakeEvents([outcome]), timings).flush()

    (row,) = logged(tmp_path)
    assert list(row) == LOG.names
    assert (row["number"], row["time"], row["message_id"], row["fetch_id"]) == (1, outcome.at, "m", "f1")
    assert (row["submitted"], row["submitted_domain"]) == ("http://t.co/x", "t.co")
    assert (row["resolved"], row["host"], row["domain"]) == ("http://www.bbc.co.uk/news", "www.bbc.co.uk", "bbc.co.uk")
    assert (row["state"], row["status"], row["reason"], row["kind"]) == ("ok", 200, None, "page")
    assert (row["hops"], [hop["status"] for hop in row["chain"]]) == (2, [301, 200])
    assert (row["title"], row["language"]) == ("News", None)
    assert (row["image_url"], row["image_type"], row["image_bytes"]) == (image.url, "image/png", 77)
    assert (row["image_width"], row["image_height"]) == (2**31 - 1, 20)
    assert row["stages"] == {"resolve": 30.0, "record": 2.0}
    assert (row["waited_ms"], row["remote_ms"], row["total_ms"]) == (4.0, 20.0, 40.0)
    assert (row["warc_file"], row["warc_offset"], row["warc_length"]) == ("live-1.warc.gz", 5, 6)
    assert len(timings) == 0


async def test_outcome_without_page_timing_or_host_has_a_row(tmp_path: Path) -> None:
    outcome = event(1, "not a url", state=State.FAILED, status=None, reason="timeout", kind=ContentKind.OTHER)

    await FetchLog(tmp_path, FakeEvents([outcome])).flush()

    (row,) = logged(tmp_path)
    assert (row["domain"], row["status"], row["reason"], row["stages"]) == (None, None, "timeout", None)


def test_row_of_a_stale_record_says_why_it_was_not_fetched_again() -> None:
    good = event(1, "http://a.example/", title="A")
    stale = StaleReason(reason="busy", detail="HTTP 503", failed_at=good.at, retry_at=good.at)

    row = row_of(replace(good, record=replace(good.record, stale=stale)), None)

    named = dict(zip(LOG.names, row, strict=True))
    assert (named["state"], named["reason"], named["detail"], named["title"]) == ("ok", "busy", "HTTP 503", "A")


async def test_event_is_exported_one_call_later_with_its_timing(tmp_path: Path) -> None:
    events = FakeEvents([event(1)])
    log = FetchLog(tmp_path, events)

    assert await log.export() == 0
    events.events.append(event(2))
    assert await log.export() == 1
    assert await log.export() == 1
    assert await log.export() == 0

    assert [row["number"] for row in logged(tmp_path)] == [1, 2]


async def test_finished_hour_is_merged_and_its_parts_stay_for_readers(
    tmp_path: Path,
) -> None:
    clock = Clock()
    events = FakeEvents([event(number) for number in range(1, 251)])
    log = FetchLog(tmp_path, events, clock=clock, rows=100)
    await log.flush()

    assert await log.merge() == 0
    assert files(tmp_path) == [
        "2026-11-05/12-1-000000000001-000000000100.parquet.part",
        "2026-11-05/12-1-000000000101-000000000200.parquet.part",
        "2026-11-05/12-1-000000000201-000000000250.parquet.part",
    ]
    clock.now = NOON + HOUR + timedelta(minutes=1)
    assert await log.merge() == 1
    assert [piece.is_part for piece in pieces(tmp_path)] == [False]
    assert len(files(tmp_path)) == 4
    clock.now += timedelta(minutes=10)
    assert await log.merge() == 0

    assert files(tmp_path) == ["2026-11-05/12-1-000000000001-000000000250.parquet"]
    assert [row["number"] for row in logged(tmp_path)] == list(range(1, 251))
    found = duckdb.sql(f"select count(*), min(number) from '{tmp_path}/*/*.parquet'").fetchall()
    assert found == [(250, 1)]


async def test_hour_is_not_merged_before_all_its_events_are_logged(tmp_path: Path) -> None:
    clock = Clock(NOON + 2 * HOUR)
    events = FakeEvents([event(1)])
    log = FetchLog(tmp_path, events, clock=clock)
    await log.flush()
    events.events.append(event(2))

    assert await log.merge() == 0
    await log.flush()
    assert await log.merge() == 1


async def test_parts_end_with_the_hour_even_if_the_clock_is_set_back(
    tmp_path: Path,
) -> None:
    early, late = NOON, NOON + HOUR
    events = FakeEvents([event(1, at=early), event(2, at=late), event(3, at=early), event(4, at=early)])
    clock = Clock(NOON + 5 * HOUR)
    log = FetchLog(tmp_path, events, clock=clock)

    await log.flush()
    await log.merge()
    events.events.append(event(5, at=early))
    await log.flush()
    await log.merge()

    assert [(piece.hour.hour, piece.first, piece.last) for piece in pieces(tmp_path)] == [
        (12, 1, 4),
        (12, 5, 5),
        (13, 2, 2),
    ]
    assert sorted(row["number"] for row in logged(tmp_path)) == [1, 2, 3, 4, 5]


async def test_parts_left_by_a_crash_during_a_merge_are_ignored_and_removed(tmp_path: Path) -> None:
    events = FakeEvents([event(number) for number in range(1, 21)])
    log = FetchLog(tmp_path, events, clock=Clock(), rows=10)
    await log.flush()
    parts = pieces(tmp_path)
    merge(tmp_path, parts)
    draft = tmp_path / "2026-11-05" / "13-1-000000000021-000000000030.parquet.part.open"
    draft.write_bytes(b"half")

    assert [row["number"] for row in logged(tmp_path)] == list(range(1, 21))
    again = FetchLog(tmp_path, events, clock=Clock())

    assert files(tmp_path) == ["2026-11-05/12-1-000000000001-000000000020.parquet"]
    assert again.number == 20
    assert await again.flush() == 0


async def test_removed_hours_are_not_exported_again(tmp_path: Path) -> None:
    events = FakeEvents([event(1), event(2)])
    log = FetchLog(tmp_path, events, clock=Clock())
    await log.flush()

    assert await log.expire(NOON + HOUR - timedelta(seconds=1)) == 0
    assert await log.expire(NOON + HOUR) == 1

    assert files(tmp_path) == []
    assert not (tmp_path / "2026-11-05").exists()
    assert await FetchLog(tmp_path, events).flush() == 0


async def test_another_database_starts_a_new_generation_without_gaps(tmp_path: Path) -> None:
    await FetchLog(tmp_path, FakeEvents([event(1), event(2), event(3)])).flush()
    new = FakeEvents()
    log = FetchLog(tmp_path, new)
    new.events = [event(1, message="new")]

    await log.flush()
    again = FetchLog(tmp_path, new)

    assert [(row["message_id"], row["number"]) for row in logged(tmp_path)] == [
        ("m1", 1),
        ("new", 1),
        ("m2", 2),
        ("m3", 3),
    ]
    assert again.number == 1
    assert await again.flush() == 0


async def test_old_backup_of_the_database_is_not_logged_again(tmp_path: Path) -> None:
    await FetchLog(tmp_path, FakeEvents([event(1), event(2), event(3)])).flush()
    copy = FakeEvents([event(1), event(2)])
    log = FetchLog(tmp_path, copy)
    copy.events.append(event(3, message="another third"))

    await log.flush()

    assert sorted(row["message_id"] for row in logged(tmp_path)) == ["another third", "m1", "m2", "m3"]


def test_damaged_state_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / STATE).write_text("{")

    with pytest.raises(UserError, match="damaged"):
        FetchLog(tmp_path, FakeEvents())


async def test_parts_of_an_older_version_get_the_current_columns(tmp_path: Path) -> None:
    log = FetchLog(tmp_path, FakeEvents([event(1, title="T")]), clock=Clock(NOON + 2 * HOUR))
    await log.flush()
    (piece,) = pieces(tmp_path)
    path = piece.path(tmp_path)
    table = pq.ParquetFile(path).read().drop_columns(["title"])
    pq.write_table(table, path)

    await log.merge()

    (row,) = logged(tmp_path)
    assert (row["title"], row["number"]) == (None, 1)


async def test_damaged_part_is_an_error_and_other_hours_are_merged(tmp_path: Path) -> None:
    events = FakeEvents([event(1, at=NOON), event(2, at=NOON + HOUR)])
    log = FetchLog(tmp_path, events, clock=Clock(NOON + 5 * HOUR))
    await log.flush()
    first, _ = pieces(tmp_path)
    first.path(tmp_path).write_bytes(b"PAR1 no PAR1")

    with pytest.raises(UserError, match="damaged"):
        await log.merge()

    assert [piece.is_part for piece in pieces(tmp_path)] == [True, False]


def test_oldest_timings_are_dropped_beyond_the_limit() -> None:
    timings = OutcomeTimings(most=2)
    for number in range(3):
        timings.put("m", str(number), OutcomeTiming(total=float(number)))

    assert len(timings) == 2
    assert timings.get("m", "0") is None
    assert timings.get("m", "2") == OutcomeTiming(total=2.0)


@settings(max_examples=examples(25), deadline=None)
@given(
    hours=st.lists(st.integers(0, 3), min_size=1, max_size=12),
    steps=st.lists(st.sampled_from(["export", "flush", "merge", "restart", "later"]), max_size=12),
)
async def test_each_event_is_logged_once_in_any_order_of_operations(
    tmp_path_factory: pytest.TempPathFactory, hours: list[int], steps: list[str]
) -> None:
    folder, clock, events = tmp_path_factory.mktemp("log"), Clock(), FakeEvents()
    coming = [event(number, at=NOON + HOUR * hour) for number, hour in enumerate(hours, 1)]
    log = FetchLog(folder, events, clock=clock, rows=3)

    for step in steps:
        events.events += coming[:2]
        del coming[:2]
        if step == "restart":
            log = FetchLog(folder, events, clock=clock, rows=3)
        elif step == "later":
            clock.now += HOUR
        else:
            await getattr(log, step)()
    await log.flush()

    assert sorted(row["number"] for row in logged(folder)) == [each.number for each in events.events]


async def test_full_disk_loses_nothing_and_the_log_continues(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    events = FakeEvents([event(number, title=f"{number} " * 500) for number in range(1, 201)])
    timings = OutcomeTimings()
    timings.put("m1", events.events[0].url, OutcomeTiming(total=7.0))
    log = FetchLog(small_disk / "log", events, timings, clock=Clock(NOON + 2 * HOUR))
    ballast.write_bytes(bytes(2_095_000 - 4_096))

    with pytest.raises(UserError, match="Make room on the disk"):
        await log.flush()
    assert logged(small_disk / "log") == []
    ballast.unlink()
    assert await log.flush() == 200
    with ballast.open("wb") as file, pytest.raises(OSError, match="No space"):
        file.write(bytes(3_000_000))
    with pytest.raises(UserError, match="Make room on the disk"):
        await log.merge()
    assert len(logged(small_disk / "log")) == 200
    ballast.unlink()
    assert await log.merge() == 1

    rows = logged(small_disk / "log")
    assert [row["number"] for row in rows] == list(range(1, 201))
    assert rows[0]["total_ms"] == 7.0


async def test_recorded_outcomes_are_logged(tmp_path: Path) -> None:
    clock = Clock()
    stores = SqliteStores(ServiceDb(tmp_path / "service.sqlite", clock=clock))
    outcome = event(1, "http://a.org/", title="A").record
    message = Message(id="m", urls=("http://a.org/",), received=NOON)
    await stores.journal.accept([(message, message.urls)])
    (entry,) = await stores.journal.open("reader", 1, HOUR)
    await stores.outcomes.record("reader", [UrlOutcome(entry=entry, record=outcome, rows=())])

    log = FetchLog(tmp_path / "log", stores.events, clock=clock)
    done = await log.flush()
    stores.close()

    (row,) = logged(tmp_path / "log")
    assert done == 1
    assert (row["message_id"], row["submitted"], row["title"], row["time"]) == ("m", "http://a.org/", "A", NOON)


EXPORTER = """
import asyncio, sys
from datetime import timedelta
from pathlib import Path
from tests.live.content.outcomes import NOON, Clock, FakeEvents, event
from scoter.live.content.log import FetchLog

HOUR = timedelta(hours=1)

async def main():
    events = FakeEvents([event(n, at=NOON + timedelta(seconds=60 * n)) for n in range(1, 601)])
    log = FetchLog(Path(sys.argv[1]), events, clock=Clock(NOON + 24 * HOUR), rows=7)
    print("open", flush=True)
    upto = log.number
    while upto < 600:
        upto += 7
        await log._export(min(upto, 600))
        print(log.number, flush=True)
        if upto % 3 == 0:
            await log.merge()
    print("done", flush=True)

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_killed_exporter_loses_nothing_and_repeats_nothing(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    said: list[str] = []

    for _ in range(30):
        lines = dice.randrange(1, 40)
        with subprocess.Popen([sys.executable, "-c", EXPORTER, tmp_path], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            said = []
            while len(said) < lines and (line := process.stdout.readline()):
                said.append(line.strip())
            process.send_signal(signal.SIGKILL)
        rows = [row["number"] for row in logged(tmp_path)]
        known = [int(word) for word in said if word.isdigit()]
        assert rows == list(range(1, len(rows) + 1))
        assert len(rows) >= max(known, default=0)
        if "done" in said:
            break

    assert said[-1] == "done"
    assert len(rows) == 600
