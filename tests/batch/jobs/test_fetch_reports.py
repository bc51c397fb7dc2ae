"""The progress of a fetch that several processes share."""

from __future__ import annotations

from scoter.batch.worker.process import FetchTaskReport
from scoter.batch.worker.progress import FetchProgress, WorkerReports
from scoter.cli.fetch import fetch_progress
from scoter.cli.output import cut
from scoter.fetch.progress import Snapshot
from scoter.fetch.queues.slots import QueueStats


def test_progress_of_several_processes_is_that_of_all_together() -> None:
    shown: list[FetchProgress] = []
    reports = WorkerReports(total=200, before=0, on_progress=shown.append)
    idle = Snapshot(done=10, stats=QueueStats(draining=True), why="0 queued, draining")
    waiting = QueueStats(queued=190, queues=2, waiting=2, next_in=3.0, next_hosts=("a.test", "b.test"))

    reports.add(FetchTaskReport(0, idle))
    reports.add(FetchTaskReport(1, Snapshot(queued=190, stats=waiting, trouble="the disk is full", why=str(waiting))))

    assert (shown[-1].queued, shown[-1].active) == (190, 0)
    assert shown[-1].why == (
        "190 queued, 2 hosts waiting for their delay (next in 3.0 s: a.test, b.test), the disk is full"
    )
    line = cut(f"round 1/5  fetch {fetch_progress(shown[-1])}", 79)
    assert line == "round 1/5  fetch 10 of 200, 190 queued, 2 hosts waiting for their delay (next …"


def test_progress_shows_rates_while_requests_are_made() -> None:
    shown: list[FetchProgress] = []
    reports = WorkerReports(total=20, before=0, on_progress=shown.append)

    reports.add(FetchTaskReport(0, Snapshot(active=2, done=5, pages_per_second=1.5, kilobytes_per_second=2.0)))

    assert fetch_progress(shown[-1]) == "5 of 20, 1.5 pages/s, 2 KiB/s, 0 errors, 2 active, 10 s left"
