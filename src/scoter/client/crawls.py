"""The blocking client of the REST API for batch crawls (`scoter ui`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Self

from scoter.batch.api.records import (
    CommandList,
    CopyHeaders,
    CrawlInfo,
    JobInfo,
    PageText,
    Progress,
    ProgressPoint,
    ReportList,
    RowPage,
    ScheduleInfo,
    SearchResults,
    SqlResult,
    UrlExplanation,
    UrlLinks,
)
from scoter.client import crawl_calls
from scoter.client.crawl_calls import TableForm, crawl_path
from scoter.client.events import EventSubscription
from scoter.client.sync import Client
from scoter.http.records import Gap

CRAWLS_URL = "http://127.0.0.1:8010"
_NONE: Mapping[str, Any] = {}
_KINDS: Mapping[str, type[Any]] = {"progress": ProgressPoint, "job": JobInfo, "gap": Gap}


class CrawlClient:
    """Starts, watches and stops the crawls of a server, and reads what they found; not thread-safe."""

    def __init__(self, url: str = CRAWLS_URL, key: str = "", timeout: float = 30.0) -> None:
        self._client = Client(url, key, timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def crawls(self) -> list[CrawlInfo]:
        """Return all crawls."""
        return self._client.run(crawl_calls.crawls())

    def crawl(self, name: str) -> CrawlInfo:
        """Return a crawl: its state, rounds, URLs by status and size."""
        return self._client.run(crawl_calls.get(crawl_path(name), CrawlInfo))

    def create(
        self, name: str, seeds: Sequence[str], *, settings: Mapping[str, Any] = _NONE, **options: Any
    ) -> CrawlInfo:
        """Create a crawl and start it; ``options`` are those of `scoter crawl`, such as ``rounds`` and ``scope``."""
        return self._client.run(crawl_calls.create(name, seeds, options, settings))

    def start(
        self, crawl: str, command: str = "crawl", *, settings: Mapping[str, Any] = _NONE, **options: Any
    ) -> JobInfo:
        """Run a command on a crawl; without arguments, resume the crawl."""
        return self._client.run(crawl_calls.start(crawl, command, options, settings))

    def stop(self, crawl: str, job: str, *, how: Literal["clean", "kill"] = "clean") -> JobInfo:
        """Stop a job, as Ctrl-C does, or kill it."""
        return self._client.run(crawl_calls.stop(crawl, job, how))

    def jobs(self, crawl: str) -> list[JobInfo]:
        """Return the jobs of a crawl, newest first."""
        return self._client.run(crawl_calls.jobs(crawl))

    def job(self, crawl: str, job: str) -> JobInfo:
        """Return a job, with its result and the end of its log."""
        return self._client.run(crawl_calls.job(crawl, job))

    def log(self, crawl: str, job: str, lines: int = 200) -> list[str]:
        """Return the last lines that a job printed."""
        return self._client.run(crawl_calls.log(crawl, job, lines))

    def commands(self) -> CommandList:
        """Return the commands that can be run, and the settings they accept."""
        return self._client.run(crawl_calls.commands())

    def progress(self, crawl: str, points: int = 500) -> Progress:
        """Return the latest progress of a crawl and its history."""
        return self._client.run(crawl_calls.progress(crawl, points))

    def schedules(self) -> list[ScheduleInfo]:
        """Return all recurring jobs."""
        return self._client.run(crawl_calls.schedules())

    def schedule(
        self,
        crawl: str,
        every: str,
        *,
        start: datetime | None = None,
        command: str = "crawl",
        settings: Mapping[str, Any] = _NONE,
        **options: Any,
    ) -> ScheduleInfo:
        """Run a command again and again; ``every`` is a duration such as 12h."""
        return self._client.run(crawl_calls.schedule(crawl, every, start, command, options, settings))

    def unschedule(self, schedule: str) -> ScheduleInfo:
        """Delete a recurring job."""
        return self._client.run(crawl_calls.unschedule(schedule))

    def segments(self, crawl: str, *, after: str = "", limit: int = 100) -> RowPage:
        """Return a page of segments, oldest first."""
        return self._client.run(crawl_calls.rows(crawl, "segments", after=after, limit=limit))

    def explain(self, crawl: str, url: str) -> UrlExplanation:
        """Return everything known about a URL."""
        return self._client.run(crawl_calls.explain(crawl, url))

    def inlinks(self, crawl: str, url: str, *, offset: int = 0, limit: int = 100) -> UrlLinks:
        """Return links to a URL."""
        return self._client.run(crawl_calls.links(crawl, "inlinks", url, offset, limit))

    def outlinks(self, crawl: str, url: str, *, offset: int = 0, limit: int = 100) -> UrlLinks:
        """Return links on a page."""
        return self._client.run(crawl_calls.links(crawl, "outlinks", url, offset, limit))

    def text(self, crawl: str, url: str, *, segment: str = "") -> PageText:
        """Return the title and texts of a page."""
        return self._client.run(crawl_calls.text(crawl, url, segment))

    def headers(self, crawl: str, url: str, *, segment: str = "") -> CopyHeaders:
        """Return the status and the header fields of the archived copy of a URL."""
        return self._client.run(crawl_calls.headers(crawl, url, segment))

    def copy(self, crawl: str, url: str, *, segment: str = "") -> bytes:
        """Return the archived body of a URL."""
        return self._client.run(crawl_calls.copy(crawl, url, segment))

    def search(self, crawl: str, query: str, *, limit: int = 10, offset: int = 0) -> SearchResults:
        """Search the pages of a crawl."""
        return self._client.run(crawl_calls.search(crawl, query, limit, offset))

    def reports(self, crawl: str) -> ReportList:
        """Return the reports that a crawl can answer."""
        return self._client.run(crawl_calls.reports(crawl))

    def report(
        self, crawl: str, name: str, *, site: str = "", since: str = "", until: str = "", limit: int = 20
    ) -> SqlResult:
        """Answer a named report."""
        return self._client.run(crawl_calls.report(crawl, name, site=site, since=since, until=until, limit=limit))

    def sql(self, crawl: str, query: str, *, limit: int = 1_000, seconds: float = 10.0) -> SqlResult:
        """Run a read-only query over the views of a crawl."""
        return self._client.run(crawl_calls.sql(crawl, query, limit, seconds))

    def sql_file(
        self, crawl: str, query: str, form: TableForm, *, limit: int = 100_000, seconds: float = 60.0
    ) -> bytes:
        """Run a query and return its rows as CSV, Parquet or an Arrow stream."""
        return self._client.run(crawl_calls.sql_file(crawl, query, form, limit, seconds))

    def urls(self, crawl: str, *, status: str = "", host: str = "") -> Iterator[dict[str, Any]]:
        """Yield the rows of the crawldb by key, in as many requests as needed."""
        after: str | None = ""
        while after is not None:
            page = self._client.run(crawl_calls.rows(crawl, "urls", status=status, host=host, after=after, limit=1000))
            yield from page.rows
            after = page.next

    def hosts(self, crawl: str) -> Iterator[dict[str, Any]]:
        """Yield the hosts of a crawl with their URLs by status."""
        after: str | None = ""
        while after is not None:
            page = self._client.run(crawl_calls.rows(crawl, "hosts", after=after, limit=1000))
            yield from page.rows
            after = page.next

    def watch(self, crawl: str, after: int | None = None) -> Iterator[ProgressPoint | JobInfo | Gap]:
        """Yield the progress of a crawl and the states of its jobs, without end."""
        subscription = EventSubscription(after, path=crawl_path(crawl, "events"), kinds=_KINDS)
        yield from self._client.follow(subscription)
