"""The progress of commands is recorded for programs, in a file of bounded size."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.cli.conftest import run_in_process

from scoter.batch.crawldir.progress import PROGRESS, ProgressLog, read_points
from scoter.simweb import WebSpec, running

NOW = datetime(2026, 11, 17, tzinfo=UTC)


class Clocks:
    """A wall clock and a timer that move together."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def clock(self) -> datetime:
        return NOW + timedelta(seconds=self.seconds)

    def timer(self) -> float:
        return self.seconds


def log_in(folder: Path, clocks: Clocks, max_size: int = 2**20) -> ProgressLog:
    return ProgressLog(folder, "crawl", clock=clocks.clock, timer=clocks.timer, max_size=max_size)


def test_points_of_a_step_are_a_second_apart_and_a_new_step_is_recorded_at_once(tmp_path: Path) -> None:
    clocks = Clocks()
    log = log_in(tmp_path, clocks)

    for _ in range(24):
        log.add("fetch", round=1, done=int(clocks.seconds * 10))
        clocks.seconds += 0.125
    log.add("updatedb", round=1)

    found = read_points(tmp_path)
    assert [each.step for each in found] == ["fetch"] * 4 + ["updatedb"]
    assert found[3].done == 28
    assert [each.time for each in found[:3]] == [NOW + timedelta(seconds=second) for second in range(3)]


def test_a_long_history_stays_small_and_keeps_its_start_its_rounds_and_its_end(tmp_path: Path) -> None:
    clocks = Clocks()
    log = log_in(tmp_path, clocks, max_size=200_000)

    for second in range(20_000):
        clocks.seconds = float(second)
        log.add("fetch", round=second // 5_000, is_last=second % 5_000 == 4_999, **_round_end(second))

    found = read_points(tmp_path)
    assert (tmp_path / PROGRESS).stat().st_size <= 200_000
    assert [each.new_urls for each in found if each.new_urls is not None] == [4_999, 9_999, 14_999, 19_999]
    assert found[-1].time == NOW + timedelta(seconds=19_999)
    assert [each.time for each in found] == sorted(each.time for each in found)
    assert len(read_points(tmp_path, 100)) <= 100
    assert read_points(tmp_path, 100)[-1] == found[-1]


def _round_end(second: int) -> dict[str, int]:
    return {"new_urls": second} if second % 5_000 == 4_999 else {}


def test_damaged_lines_are_skipped(tmp_path: Path) -> None:
    log_in(tmp_path, Clocks()).add("fetch")
    with (tmp_path / PROGRESS).open("ab") as file:
        file.write(b'{"time": \n\xff\n')
    log_in(tmp_path, Clocks()).add("updatedb")

    assert [each.step for each in read_points(tmp_path)] == ["fetch", "updatedb"]


def test_a_crawl_that_cannot_record_its_progress_goes_on(tmp_path: Path) -> None:
    (tmp_path / PROGRESS).mkdir()

    log_in(tmp_path, Clocks()).add("fetch")

    assert read_points(tmp_path) == []


def test_a_crawl_records_its_rounds_steps_rates_and_its_end(tmp_path: Path) -> None:
    with running(WebSpec(hosts=2, pages=3)) as web:
        settings = ["fetch.delay=0", "agent.name=testbot", f'fetch.connect_to=["*:*=127.0.0.1:{web.port}"]']
        done = run_in_process(
            tmp_path, "crawl", "c", *web.web.seeds(), "--rounds", "2", *(f"-D{each}" for each in settings)
        )
    assert done.code == 0, done.err

    found = read_points(tmp_path / "c")
    assert {"generate", "fetch", "updatedb", "invertlinks"} <= {each.step for each in found}
    fetching = [each for each in found if each.step == "fetch" and each.total]
    assert fetching[-1].done == fetching[-1].total
    assert all(each.pages_per_second is not None and each.bytes_per_second is not None for each in fetching)
    rounds = [each for each in found if each.new_urls is not None]
    assert [each.round for each in rounds] == [1, 2]
    assert found[-1].ended.startswith("2 rounds done")
    assert found[-1].is_done is False
