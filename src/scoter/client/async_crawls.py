"""The async client of the REST API for batch crawls (`scoter ui`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
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
from scoter.client.aio import AsyncClient
from scoter.client.crawl_calls import TableForm, crawl_path
from scoter.client.crawls import _KINDS, _NONE, CRAWLS_URL
from scoter.client.events import EventSubscription
from scoter.http.records import Gap


class AsyncCrawlClient:
    """Starts, watches and stops the crawls of a server, and reads what they found, as coroutines."""

    def __init__(self, url: str = CRAWLS_URL, key: str = "", timeout: float = 30.0) -> None:
        self._client = AsyncClient(url, key, timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def crawls(self) -> list[CrawlInfo]:
        """Return all crawls."""
        return await self._client.run(crawl_calls.crawls())

    async def crawl(self, name: str) -> CrawlInfo:
        """Return a crawl: its state, rounds, URLs by status and size."""
        return await self._client.run(crawl_calls.get(crawl_path(name), CrawlInfo))

    async def create(
        self, name: str, seeds: Sequence[str], *, settings: Mapping[str, Any] = _NONE, **options: Any
    ) -> CrawlInfo:
        """Create a crawl and start it; ``options`` are those of `scoter crawl`, such as ``rounds`` and ``scope``."""
        return await self._client.run(crawl_calls.create(name, seeds, options, settings))

    async def start(
        self, crawl: str, command: str = "crawl", *, settings: Mapping[str, Any] = _NONE, **options: Any
    ) -> JobInfo:
        """Run a command on a crawl; without arguments, resume the crawl."""
        return await self._client.run(crawl_calls.start(crawl, command, options, settings))

    async def stop(self, crawl: str, job: str, *, how: Literal["clean", "kill"] = "clean") -> JobInfo:
        """Stop a job, as Ctrl-C does, or kill it."""
        return await self._client.run(crawl_calls.stop(crawl, job, how))

    async def jobs(self, crawl: str) -> list[JobInfo]:
        """Return the jobs of a crawl, newest first."""
        return await self._client.run(crawl_calls.jobs(crawl))

    async def job(self, crawl: str, job: str) -> JobInfo:
        """Return a job, with its result and the end of its log."""
        return await self._client.run(crawl_calls.job(crawl, job))

    async def log(self, crawl: str, job: str, lines: int = 200) -> list[str]:
        """Return the last lines that a job printed."""
        return await self._client.run(crawl_calls.log(crawl, job, lines))

    async def commands(self) -> CommandList:
        """Return the commands that can be run, and the settings they accept."""
        return await self._client.run(crawl_calls.commands())

    async def progress(self, crawl: str, points: int = 500) -> Progress:
        """Return the latest progress of a crawl and its history."""
        return await self._client.run(crawl_calls.progress(crawl, points))

    async def schedules(self) -> list[ScheduleInfo]:
        """Return all recurring jobs."""
        return await self._client.run(crawl_calls.schedules())

    async def schedule(
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
        return await self._client.run(crawl_calls.schedule(crawl, every, start, command, options, settings))

    async def unschedule(self, schedule: str) -> ScheduleInfo:
        """Delete a recurring job."""
        return await self._client.run(crawl_calls.unschedule(schedule))

    async def segments(self, crawl: str, *, after: str = "", limit: int = 100) -> RowPage:
        """Return a page of segments, oldest first."""
        return await self._client.run(crawl_calls.rows(crawl, "segments", after=after, limit=limit))

    async def explain(self, crawl: str, url: str) -> UrlExplanation:
        """Return everything known about a URL."""
        return await self._client.run(crawl_calls.explain(crawl, url))

    async def inlinks(self, crawl: str, url: str, *, offset: int = 0, limit: int = 100) -> UrlLinks:
        """Return links to a URL."""
        return await self._client.run(crawl_calls.links(crawl, "inlinks", url, offset, limit))

    async def outlinks(self, crawl: str, url: str, *, offset: int = 0, limit: int = 100) -> UrlLinks:
        """Return links on a page."""
        return await self._client.run(crawl_calls.links(crawl, "outlinks", url, offset, limit))

    async def text(self, crawl: str, url: str, *, segment: str = "") -> PageText:
        """Return the title and texts of a page."""
        return await self._client.run(crawl_calls.text(crawl, url, segment))

    async def headers(self, crawl: str, url: str, *, segment: str = "") -> CopyHeaders:
        """Return the status and the header fields of the archived copy of a URL."""
        return await self._client.run(crawl_calls.headers(crawl, url, segment))

    async def copy(self, crawl: str, url: str, *, segment: str = "") -> bytes:
        """Return the archived body of a URL."""
        return await self._client.run(crawl_calls.copy(crawl, url, segment))

    async def search(self, crawl: str, query: str, *, limit: int = 10, offset: int = 0) -> SearchResults:
        """Search the pages of a crawl."""
        return await self._client.run(crawl_calls.search(crawl, query, limit, offset))

    async def reports(self, crawl: str) -> ReportList:
        """Return the reports that a crawl can answer."""
        return await self._client.run(crawl_calls.reports(crawl))

    async def report(
        self, crawl: str, name: str, *, site: str = "", since: str = "", until: str = "", limit: int = 20
    ) -> SqlResult:
        """Answer a named report."""
        return await self._client.run(crawl_calls.report(crawl, name, site=site, since=since, until=until, limit=limit))

    async def sql(self, crawl: str, query: str, *, limit: int = 1_000, seconds: float = 10.0) -> SqlResult:
        """Run a read-only query over the views of a crawl."""
        return await self._client.run(crawl_calls.sql(crawl, query, limit, seconds))

    async def sql_file(
        self, crawl: str, query: str, form: TableForm, *, limit: int = 100_000, seconds: float = 60.0
    ) -> bytes:
        """Run a query and return its rows as CSV, Parquet or an Arrow stream."""
        return await self._client.run(crawl_calls.sql_file(crawl, query, form, limit, seconds))

    async def urls(self, crawl: str, *, status: str = "", host: str = "") -> AsyncIterator[dict[str, Any]]:
        """Yield the rows of the crawldb by key, in as many requests as needed."""
        after: str | None = ""
        while after is not None:
            page = await self._client.run(
                crawl_calls.rows(crawl, "urls", status=status, host=host, after=after, limit=1000)
            )
            for row in page.rows:
                yield row
            after = page.next

    async def hosts(self, crawl: str) -> AsyncIterator[dict[str, Any]]:
        """Yield the hosts of a crawl with their URLs by status."""
        after: str | None = ""
        while after is not None:
            page = await self._client.run(crawl_calls.rows(crawl, "hosts", after=after, limit=1000))
            for row in page.rows:
                yield row
            after = page.next

    async def watch(self, crawl: str, after: int | None = None) -> AsyncIterator[ProgressPoint | JobInfo | Gap]:
        """Yield the progress of a crawl and the states of its jobs, without end."""
        subscription = EventSubscription(after, path=crawl_path(crawl, "events"), kinds=_KINDS)
        async for event in self._client.follow(subscription):
            yield event
