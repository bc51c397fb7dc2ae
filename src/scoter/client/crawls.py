"""The clients of the REST API for batch crawls (`scoter ui`), blocking and async."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Final

from scoter.batch.api.records import JobInfo, ProgressPoint
from scoter.client import crawl_calls
from scoter.client.aio import AsyncCaller, awaited, awaited_rows
from scoter.client.crawl_calls import crawl_path
from scoter.client.events import EventSubscription
from scoter.client.sync import BlockingCaller, blocking, blocking_rows
from scoter.http.records import Gap

CRAWLS_URL: Final = "http://127.0.0.1:8010"
_KINDS: Final[Mapping[str, type[Any]]] = {"progress": ProgressPoint, "job": JobInfo, "gap": Gap}


class CrawlClient(BlockingCaller):
    """Starts, watches and stops the crawls of a server, and reads what they found; not thread-safe."""

    def __init__(self, url: str = CRAWLS_URL, key: str = "", timeout: float = 30.0) -> None:
        super().__init__(url, key, timeout)

    crawls = blocking(crawl_calls.crawls)
    crawl = blocking(crawl_calls.crawl)
    create = blocking(crawl_calls.create)
    start = blocking(crawl_calls.start)
    stop = blocking(crawl_calls.stop)
    jobs = blocking(crawl_calls.jobs)
    job = blocking(crawl_calls.job)
    log = blocking(crawl_calls.log)
    commands = blocking(crawl_calls.commands)
    progress = blocking(crawl_calls.progress)
    schedules = blocking(crawl_calls.schedules)
    schedule = blocking(crawl_calls.schedule)
    unschedule = blocking(crawl_calls.unschedule)
    segments = blocking(crawl_calls.segments)
    urls = blocking_rows(crawl_calls.urls)
    hosts = blocking_rows(crawl_calls.hosts)
    explain = blocking(crawl_calls.explain)
    inlinks = blocking(crawl_calls.inlinks)
    outlinks = blocking(crawl_calls.outlinks)
    text = blocking(crawl_calls.text)
    headers = blocking(crawl_calls.headers)
    copy = blocking(crawl_calls.copy)
    search = blocking(crawl_calls.search)
    reports = blocking(crawl_calls.reports)
    report = blocking(crawl_calls.report)
    sql = blocking(crawl_calls.sql)
    sql_file = blocking(crawl_calls.sql_file)

    def watch(self, crawl: str, after: int | None = None) -> Iterator[ProgressPoint | JobInfo | Gap]:
        """Yield the progress of a crawl and the states of its jobs, without end."""
        yield from self.follow(_subscription(crawl, after))


class AsyncCrawlClient(AsyncCaller):
    """Starts, watches and stops the crawls of a server, and reads what they found, as coroutines."""

    def __init__(self, url: str = CRAWLS_URL, key: str = "", timeout: float = 30.0) -> None:
        super().__init__(url, key, timeout)

    crawls = awaited(crawl_calls.crawls)
    crawl = awaited(crawl_calls.crawl)
    create = awaited(crawl_calls.create)
    start = awaited(crawl_calls.start)
    stop = awaited(crawl_calls.stop)
    jobs = awaited(crawl_calls.jobs)
    job = awaited(crawl_calls.job)
    log = awaited(crawl_calls.log)
    commands = awaited(crawl_calls.commands)
    progress = awaited(crawl_calls.progress)
    schedules = awaited(crawl_calls.schedules)
    schedule = awaited(crawl_calls.schedule)
    unschedule = awaited(crawl_calls.unschedule)
    segments = awaited(crawl_calls.segments)
    urls = awaited_rows(crawl_calls.urls)
    hosts = awaited_rows(crawl_calls.hosts)
    explain = awaited(crawl_calls.explain)
    inlinks = awaited(crawl_calls.inlinks)
    outlinks = awaited(crawl_calls.outlinks)
    text = awaited(crawl_calls.text)
    headers = awaited(crawl_calls.headers)
    copy = awaited(crawl_calls.copy)
    search = awaited(crawl_calls.search)
    reports = awaited(crawl_calls.reports)
    report = awaited(crawl_calls.report)
    sql = awaited(crawl_calls.sql)
    sql_file = awaited(crawl_calls.sql_file)

    async def watch(self, crawl: str, after: int | None = None) -> AsyncIterator[ProgressPoint | JobInfo | Gap]:
        """Yield the progress of a crawl and the states of its jobs, without end."""
        async for event in self.follow(_subscription(crawl, after)):
            yield event


def _subscription(crawl: str, after: int | None) -> EventSubscription:
    return EventSubscription(after, path=crawl_path(crawl, "events"), kinds=_KINDS)
