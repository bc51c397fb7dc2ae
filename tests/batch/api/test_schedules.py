"""Recurring jobs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from tests.batch.api.crawls import BatchBench, until

from scoter.batch.api.jobs import JobRequest
from scoter.batch.api.records import MAX_SCHEDULES, JobInfo
from scoter.batch.api.schedules import Schedules
from scoter.batch.crawldir.directory import CrawlDir
from scoter.errors import UserError


def bench_in(tmp_path: Path) -> BatchBench:
    bench = BatchBench(tmp_path, program=["/bin/true"])
    if not (tmp_path / "news").exists():
        CrawlDir.create(tmp_path / "news", bench.clock())
    return bench


async def test_a_schedule_runs_its_job_at_its_times(tmp_path: Path) -> None:
    bench = bench_in(tmp_path)
    start = bench.clock.now + timedelta(hours=1)
    order = {"crawl": "news", "every": "12h", "start": start.isoformat(), "options": {"rounds": 1}}

    made = await bench.client.post("/v1/schedules", order)
    runs = []
    for _ in range(27):
        bench.schedules.run_due()
        await until(lambda: not bench.jobs.running())
        bench.jobs.reap()
        runs.append(len(bench.jobs.all("news")))
        bench.clock.now += timedelta(hours=1)

    assert made.status == 201
    assert [hour for hour, (one, two) in enumerate(zip([0, *runs], runs, strict=False)) if two > one] == [1, 13, 25]
    shown = (await bench.client.get(f"/v1/schedules/{made.json['id']}")).json
    assert shown["last_job"] == bench.jobs.all("news")[0].id
    assert bench.jobs.all("news")[0].schedule == made.json["id"]


async def test_missed_runs_are_made_up_for_once_after_a_restart(tmp_path: Path) -> None:
    bench = bench_in(tmp_path)
    await bench.client.post("/v1/schedules", {"crawl": "news", "every": "1h"})
    later = bench_in(tmp_path)
    later.clock.now += timedelta(days=3, minutes=10)

    for _ in range(3):
        later.schedules.run_due()
        await until(lambda: not later.jobs.running())

    assert len(later.jobs.all("news")) == 1
    (schedule,) = later.schedules.all()
    assert schedule.next_run == bench.clock.now + timedelta(days=3, hours=1)
    await until(lambda: later.jobs.reap())


async def test_a_run_waits_while_the_crawl_is_busy(tmp_path: Path) -> None:
    bench = bench_in(tmp_path)
    await bench.client.post("/v1/schedules", {"crawl": "news", "every": "1d"})

    with CrawlDir(tmp_path / "news").lock("updatedb"):
        bench.schedules.run_due()
        assert "updatedb" in bench.schedules.all()[0].problem
    assert bench.jobs.all("news") == []
    bench.schedules.run_due()

    assert len(bench.jobs.all("news")) == 1
    assert bench.schedules.all()[0].problem == ""
    await until(lambda: bench.jobs.reap())


async def test_a_schedule_is_listed_and_deleted(tmp_path: Path) -> None:
    bench = bench_in(tmp_path)
    made = (await bench.client.post("/v1/schedules", {"crawl": "news", "every": "7d", "note": "weekly"})).json

    assert (await bench.client.get("/v1/schedules")).json["schedules"] == [made]
    assert (await bench.client.ask("DELETE", f"/v1/schedules/{made['id']}")).status == 200
    assert (await bench.client.get("/v1/schedules")).json["schedules"] == []
    assert (await bench.client.get(f"/v1/schedules/{made['id']}")).status == 404


async def test_a_deleted_schedule_stays_deleted_after_a_restart(tmp_path: Path) -> None:
    bench = bench_in(tmp_path)
    kept = (await bench.client.post("/v1/schedules", {"crawl": "news", "every": "1d"})).json
    made = (await bench.client.post("/v1/schedules", {"crawl": "news", "every": "7d"})).json

    await bench.client.ask("DELETE", f"/v1/schedules/{made['id']}")

    assert [each.id for each in Schedules(bench.folder.state, bench.jobs).all()] == [kept["id"]]


async def test_a_schedule_deleted_while_its_job_starts_does_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = bench_in(tmp_path)
    made = (await bench.client.post("/v1/schedules", {"crawl": "news", "every": "1d"})).json
    start = bench.jobs.start

    def start_and_delete(request: JobRequest) -> JobInfo:
        bench.schedules.remove(made["id"])
        return start(request)

    monkeypatch.setattr(bench.jobs, "start", start_and_delete)
    bench.schedules.run_due()

    assert bench.schedules.all() == []
    assert Schedules(bench.folder.state, bench.jobs).all() == []
    await until(lambda: bench.jobs.reap())


async def test_the_number_of_schedules_is_bounded(tmp_path: Path) -> None:
    bench = bench_in(tmp_path)

    statuses = [
        (await bench.client.post("/v1/schedules", {"crawl": "news", "every": "7d"})).status
        for _ in range(MAX_SCHEDULES + 1)
    ]

    assert statuses == [201] * MAX_SCHEDULES + [409]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"crawl": "none"}, 404),
        ({"crawl": "../x"}, 422),
        ({"every": "5s"}, 422),
        ({"every": "0m"}, 422),
        ({"every": "99999w"}, 422),
        ({"command": "serve"}, 422),
        ({"options": {"rounds": 0}}, 422),
        ({"start": "1999-01-01T00:00:00Z"}, 422),
        ({"start": "tomorrow"}, 422),
    ],
)
async def test_wrong_schedules_are_refused(change: dict[str, object], status: int, tmp_path: Path) -> None:
    bench = bench_in(tmp_path)

    got = await bench.client.post("/v1/schedules", {"crawl": "news", "every": "7d", **change})

    assert got.status == status
    assert bench.schedules.all() == []


def test_a_damaged_file_of_schedules_is_reported(tmp_path: Path) -> None:
    (tmp_path / "schedules.json").write_text("[{")

    with pytest.raises(UserError, match="damaged"):
        Schedules(tmp_path, bench_in(tmp_path).jobs)
