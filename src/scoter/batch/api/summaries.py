"""Summaries of crawls from manifests, names and small aggregates, without scanning a table per request.

URLs by status are those of the hosts, which are counted once per version of the crawldb (``host_tables``).
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow.compute as pc
from msgspec import Struct

from scoter.batch.api.crawl_folder import CrawlFolder
from scoter.batch.api.host_tables import HostTables
from scoter.batch.api.jobs import Jobs
from scoter.batch.api.records import CrawlInfo, CrawlState, JobInfo, ProgressPoint
from scoter.batch.api.rows import file_sizes
from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import recorded_statuses, table_exists
from scoter.batch.crawldir.directory import MARKER, CrawlDir, CrawlMarker, applied_segments
from scoter.batch.crawldir.progress import PROGRESS, parse_points
from scoter.core.bounded import BoundedMap
from scoter.errors import UserError
from scoter.store.tables import Table
from scoter.store.tables.local import LocalStorage
from scoter.store.tables.versions import Manifest, current_manifest

_MAX_CRAWLS: Final = 1_000
_SIZE_AGE: Final = 10.0  # seconds for which the size of a crawl is not measured again
_TAIL: Final = 16 * 1024


class StatusCounts(Struct, frozen=True):
    """The URLs of a version of the crawldb by status, and when they were counted."""

    version: int
    by_status: dict[str, int]
    counted: datetime


class Summaries:
    """Summarises crawls; safe to use from several threads."""

    def __init__(
        self,
        folder: CrawlFolder,
        jobs: Jobs,
        hosts: HostTables,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._jobs = jobs
        self._hosts = hosts
        self._clock = clock
        self._timer = timer
        self._counts: BoundedMap[str, StatusCounts] = BoundedMap(_MAX_CRAWLS)
        self._sizes: BoundedMap[str, tuple[float, int]] = BoundedMap(_MAX_CRAWLS)
        self._lock = threading.Lock()
        self._counter = ThreadPoolExecutor(1, "count")
        self._counting: set[str] = set()

    def close(self) -> None:
        self._counter.shutdown(wait=False, cancel_futures=True)

    def one(self, name: str) -> CrawlInfo:
        """Return the summary of a crawl; one that cannot be used says why."""
        path = self._folder.path(name)
        job = self._jobs.latest(name)
        try:
            crawl = CrawlDir.open(path)
            return self._summary(name, crawl, job)
        except UserError as error:
            problem = self.relative(str(error).replace("\n", " "))
            return CrawlInfo(name=name, state="unusable", job=job, problem=problem)

    def relative(self, text: str) -> str:
        """Return a message without the path of the folder, which is nobody's business."""
        return text.replace(f"{self._folder.root}/", "")

    def _summary(self, name: str, crawl: CrawlDir, job: JobInfo | None) -> CrawlInfo:
        manifest = current_manifest(LocalStorage(crawl.crawldb)) if crawl.crawldb.is_dir() else None
        counts = self._count(name, crawl, manifest)
        latest = latest_point(crawl.path)
        segments = crawl.all_segments()
        applied = applied_segments(crawl.crawldb) or frozenset()
        has_open = any(segment.name not in applied and not segment.is_in(applied) for segment in segments[-3:])
        marker = msgspec.json.decode((crawl.path / MARKER).read_bytes(), type=CrawlMarker)
        return CrawlInfo(
            name=name,
            state=_state(job, latest, has_open=has_open or manifest is None),
            rounds=len(applied),
            urls=manifest.rows if manifest is not None else 0,
            by_status=counts.by_status if counts is not None else {},
            counted=counts.counted if counts is not None else None,
            size=self._size(name, crawl.path),
            created=marker.created,
            last_activity=_last_activity(crawl.path, job),
            job=job,
            progress=latest,
        )

    def _count(self, name: str, crawl: CrawlDir, manifest: Manifest | None) -> StatusCounts | None:
        """Return the latest known counts; start counting if the crawldb has changed since."""
        with self._lock:
            known = self._counts.get(name)
            is_outdated = manifest is not None and (known is None or known.version != manifest.version)
            if is_outdated and name not in self._counting:
                self._counting.add(name)
                self._counter.submit(self._count_now, name, crawl)
        return known

    def _count_now(self, name: str, crawl: CrawlDir) -> None:
        try:
            if table_exists(crawl.crawldb):
                with Table.open(crawl.crawldb, schemas.CRAWLDB) as table:
                    by_status = recorded_statuses(table.manifest) or self._hosts.statuses(name, crawl, table.version)
                    if by_status is not None and sum(by_status.values()) != table.manifest.rows:  # too many hosts
                        by_status = dict(count_column(table, "status"))
                if by_status is not None:  # otherwise the hosts are being counted
                    with self._lock:
                        found = StatusCounts(table.version, dict(sorted(by_status.items())), self._clock())
                        self._counts.put(name, found)
        except UserError:
            pass  # the crawl is damaged, as its summary says
        finally:
            with self._lock:
                self._counting.discard(name)

    def _size(self, name: str, path: Path) -> int:
        with self._lock:
            known = self._sizes.get(name)
        if known is not None and self._timer() - known[0] < _SIZE_AGE:
            return known[1]
        size = sum(file_sizes(path))
        with self._lock:
            self._sizes.put(name, (self._timer(), size))
        return size


def count_column(table: Any, name: str) -> Iterator[tuple[str, int]]:
    """Yield the values of a column and their numbers."""
    counts: Counter[str] = Counter()
    for batch in table.scan([name]):
        for each in pc.value_counts(batch[name]).to_pylist():
            counts[each["values"]] += each["counts"]
    yield from counts.items()


def latest_point(path: Path) -> ProgressPoint | None:
    """Return the last point of a crawl's progress."""
    with suppress(OSError), (path / PROGRESS).open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
        points = parse_points(file.read(_TAIL))
        return points[-1] if points else None
    return None


def _state(job: JobInfo | None, latest: ProgressPoint | None, *, has_open: bool) -> CrawlState:
    if job is not None:
        match job.state:
            case "running" | "stopping" | "elsewhere":
                return "running"
            case "failed":
                return "failed"
            case "stopped":
                return "stopped"
    if latest is not None and latest.ended and latest.is_failed:
        return "failed"
    if has_open or (latest is not None and latest.ended.startswith("stopped")):
        return "stopped"
    return "finished"


def _last_activity(path: Path, job: JobInfo | None) -> datetime | None:
    times = []
    for name in (MARKER, PROGRESS, "crawldb/CURRENT", "linkdb/CURRENT", "segments"):
        with suppress(OSError):
            times.append(datetime.fromtimestamp((path / name).stat().st_mtime, UTC))
    if job is not None:
        times += [each for each in (job.started, job.ended) if each is not None]
    return max(times, default=None)
