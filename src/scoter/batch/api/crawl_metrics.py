"""Metrics of the crawls below the folder, for dashboards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, get_args

from scoter.batch.api.crawl_folder import CrawlFolder
from scoter.batch.api.records import CrawlInfo, CrawlState
from scoter.batch.crawldir.directory import MARKER
from scoter.batch.crawldir.progress import PROGRESS
from scoter.http.metrics import Gauge

MOST_CRAWLS: Final = 100
"""Crawls that are shown: those that have changed last."""


class CrawlMetrics:
    """The gauges of crawls."""

    def __init__(self, crawls: Sequence[CrawlInfo] = ()) -> None:
        self.crawls = Gauge("scoter_crawls", "Crawls below the folder, at most 100.", ("state",))
        self.urls = _of_crawl("urls", "URLs in the crawldb.", "status")
        self.rounds = _of_crawl("rounds", "Rounds in the crawldb.")
        self.size = _of_crawl("size_bytes", "Size of the crawl's files.")
        self.running = _of_crawl("running", "1 while a command works on the crawl.")
        self.active = _of_crawl("last_activity_seconds", "Time of the last change, in seconds since 1970.")
        self.pages = _of_crawl("page_rate", "Pages fetched per second.")
        self.bytes = _of_crawl("byte_rate", "Bytes received per second.")
        self.requests = _of_crawl("requests", "Requests in progress.")
        self.queued = _of_crawl("queued", "URLs that the fetch has queued.")
        self.errors = _of_crawl("fetch_errors", "URLs of the current segment that gave no page.", "reason")
        self.left = _of_crawl("left_seconds", "Estimated time until the fetch is finished.")

        states = Counter(each.state for each in crawls)
        for state in get_args(CrawlState):
            self.crawls.set(state, value=states[state])
        for crawl in crawls:
            self._add(crawl)

    @property
    def gauges(self) -> Sequence[Gauge]:
        counts = (self.crawls, self.urls, self.rounds, self.size, self.running, self.active)
        return (*counts, self.pages, self.bytes, self.requests, self.queued, self.errors, self.left)

    def _add(self, crawl: CrawlInfo) -> None:
        name = crawl.name
        for status, count in crawl.by_status.items():
            self.urls.set(name, status, value=count)
        is_running = crawl.state == "running"
        for gauge, value in ((self.rounds, crawl.rounds), (self.size, crawl.size), (self.running, int(is_running))):
            gauge.set(name, value=value)
        if crawl.last_activity is not None:
            self.active.set(name, value=crawl.last_activity.timestamp())
        if crawl.progress is None or not is_running:
            return
        point = crawl.progress
        for gauge, current in (
            (self.pages, point.pages_per_second),
            (self.bytes, point.bytes_per_second),
            (self.requests, point.active),
            (self.queued, point.queued),
            (self.left, point.seconds_left),
        ):
            if current is not None:
                gauge.set(name, value=current)
        for reason, count in point.errors.items():
            self.errors.set(name, reason, value=count)


def read_crawls(folder: CrawlFolder, summary: Callable[[str], CrawlInfo]) -> CrawlMetrics:
    """Return the gauges of the crawls that have changed last."""

    def changed(name: str) -> float:
        path = folder.path(name)
        return max((file.stat().st_mtime for file in (path / PROGRESS, path / MARKER) if file.exists()), default=0.0)

    found = []
    for name in sorted(folder.names(), key=changed, reverse=True)[:MOST_CRAWLS]:
        with suppress(FileNotFoundError):  # removed meanwhile
            found.append(summary(name))
    return CrawlMetrics(found)


def _of_crawl(name: str, help_text: str, *labels: str) -> Gauge:
    return Gauge(f"scoter_crawl_{name}", help_text, ("crawl", *labels))
