"""The calls of the REST API for batch crawls, without a socket.

Those with a docstring are the methods of ``CrawlClient`` and ``AsyncCrawlClient``, which run them (``calls`` says how).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from scoter.batch.api.question_records import ReportList, SearchResults, SqlResult
from scoter.batch.api.records import (
    CommandList,
    CopyHeaders,
    CrawlInfo,
    CrawlList,
    JobInfo,
    JobList,
    JobLog,
    PageText,
    Progress,
    RowPage,
    ScheduleInfo,
    ScheduleList,
    UrlExplanation,
    UrlLinks,
)
from scoter.client.calls import ApiAnswer, ApiCall, Steps, problem_of, read_answer
from scoter.client.errors import ClientError

T = TypeVar("T")
Row: TypeAlias = dict[str, Any]
TableForm = Literal["csv", "parquet", "arrow"]
_FORMS: Mapping[str, str] = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.stream",
}
_GRACE = 30.0  # seconds that the server may take to start a query
_NONE: Mapping[str, Any] = {}


def crawl_path(crawl: str, rest: str = "", **query: Any) -> str:
    """Return the path of a crawl or of something below it.

    >>> crawl_path("news", "urls", status="fetched", after="", limit=10)
    '/v1/crawls/news/urls?status=fetched&limit=10'
    """
    given = {name: value for name, value in query.items() if value not in ("", None)}
    path = f"/v1/crawls/{quote(crawl, safe='')}{f'/{rest}' if rest else ''}"
    return f"{path}?{urlencode(given)}" if given else path


def crawls() -> Steps[list[CrawlInfo]]:
    """Return all crawls."""
    found: list[CrawlInfo] = []
    after: str | None = ""
    while after is not None:
        page = yield from _get(f"/v1/crawls?{urlencode({'after': after, 'limit': 1000})}", CrawlList)
        found += page.crawls
        after = page.next
    return found


def crawl(name: str) -> Steps[CrawlInfo]:
    """Return a crawl: its state, rounds, URLs by status and size."""
    return _get(crawl_path(name), CrawlInfo)


def create(name: str, seeds: Sequence[str], *, settings: Mapping[str, Any] = _NONE, **options: Any) -> Steps[CrawlInfo]:
    """Create a crawl and start it; ``options`` are those of `scoter crawl`, such as ``rounds`` and ``scope``."""
    order = {"name": name, "seeds": list(seeds), "options": options, "settings": dict(settings)}
    return _post("/v1/crawls", order, CrawlInfo)


def start(crawl: str, command: str = "crawl", *, settings: Mapping[str, Any] = _NONE, **options: Any) -> Steps[JobInfo]:
    """Run a command on a crawl; without arguments, resume the crawl."""
    order = {"command": command, "options": options, "settings": dict(settings)}
    return _post(crawl_path(crawl, "jobs"), order, JobInfo)


def stop(crawl: str, job: str, *, how: Literal["clean", "kill"] = "clean") -> Steps[JobInfo]:
    """Stop a job, as Ctrl-C does, or kill it."""
    return _post(crawl_path(crawl, f"jobs/{quote(job, safe='')}/stop"), {"how": how}, JobInfo)


def jobs(crawl: str) -> Steps[list[JobInfo]]:
    """Return the jobs of a crawl, newest first."""
    return (yield from _get(crawl_path(crawl, "jobs"), JobList)).jobs


def job(crawl: str, job: str) -> Steps[JobInfo]:
    """Return a job, with its result and the end of its log."""
    return _get(crawl_path(crawl, f"jobs/{quote(job, safe='')}"), JobInfo)


def log(crawl: str, job: str, lines: int = 200) -> Steps[list[str]]:
    """Return the last lines that a job printed."""
    return (yield from _get(crawl_path(crawl, f"jobs/{quote(job, safe='')}/log", lines=lines), JobLog)).lines


def commands() -> Steps[CommandList]:
    """Return the commands that can be run, and the settings they accept."""
    return _get("/v1/commands", CommandList)


def progress(crawl: str, points: int = 500) -> Steps[Progress]:
    """Return the latest progress of a crawl and its history."""
    return _get(crawl_path(crawl, "progress", points=points), Progress)


def schedules() -> Steps[list[ScheduleInfo]]:
    """Return all recurring jobs."""
    return (yield from _get("/v1/schedules", ScheduleList)).schedules


def schedule(
    crawl: str,
    every: str,
    *,
    start: datetime | None = None,
    command: str = "crawl",
    settings: Mapping[str, Any] = _NONE,
    **options: Any,
) -> Steps[ScheduleInfo]:
    """Run a command again and again; ``every`` is a duration such as 12h."""
    order = {"crawl": crawl, "every": every, "start": start, "command": command}
    return _post("/v1/schedules", {**order, "options": options, "settings": dict(settings)}, ScheduleInfo)


def unschedule(schedule: str) -> Steps[ScheduleInfo]:
    """Delete a recurring job."""
    target = f"/v1/schedules/{quote(schedule, safe='')}"
    return read_answer((yield ApiCall("DELETE", target, once=True)), ScheduleInfo)


def segments(crawl: str, *, after: str = "", limit: int = 100) -> Steps[RowPage]:
    """Return a page of segments, oldest first."""
    return _get(crawl_path(crawl, "segments", after=after, limit=limit), RowPage, _GRACE)


def urls(crawl: str, *, status: str = "", host: str = "") -> Iterator[Steps[list[Row]]]:
    """Yield the rows of the crawldb by key, in as many requests as needed."""
    return _pages(crawl, "urls", status=status, host=host)


def hosts(crawl: str) -> Iterator[Steps[list[Row]]]:
    """Yield the hosts of a crawl with their URLs by status."""
    return _pages(crawl, "hosts")


def explain(crawl: str, url: str) -> Steps[UrlExplanation]:
    """Return everything known about a URL."""
    return _get(crawl_path(crawl, "url", url=url), UrlExplanation)


def inlinks(crawl: str, url: str, *, offset: int = 0, limit: int = 100) -> Steps[UrlLinks]:
    """Return links to a URL."""
    return _get(crawl_path(crawl, "inlinks", url=url, offset=offset, limit=limit), UrlLinks)


def outlinks(crawl: str, url: str, *, offset: int = 0, limit: int = 100) -> Steps[UrlLinks]:
    """Return links on a page."""
    return _get(crawl_path(crawl, "outlinks", url=url, offset=offset, limit=limit), UrlLinks)


def text(crawl: str, url: str, *, segment: str = "") -> Steps[PageText]:
    """Return the title and texts of a page."""
    return _get(crawl_path(crawl, "text", url=url, segment=segment), PageText)


def headers(crawl: str, url: str, *, segment: str = "") -> Steps[CopyHeaders]:
    """Return the status and the header fields of the archived copy of a URL."""
    return _get(crawl_path(crawl, "headers", url=url, segment=segment), CopyHeaders)


def copy(crawl: str, url: str, *, segment: str = "") -> Steps[bytes]:
    """Return the archived body of a URL."""
    return _bytes((yield ApiCall("GET", crawl_path(crawl, "copy", url=url, segment=segment))))


def search(crawl: str, query: str, *, limit: int = 10, offset: int = 0) -> Steps[SearchResults]:
    """Search the pages of a crawl."""
    return _get(crawl_path(crawl, "search", q=query, limit=limit, offset=offset), SearchResults)


def reports(crawl: str) -> Steps[ReportList]:
    """Return the reports that a crawl can answer."""
    return _get(crawl_path(crawl, "reports"), ReportList)


def report(
    crawl: str, name: str, *, site: str = "", since: str = "", until: str = "", limit: int = 20
) -> Steps[SqlResult]:
    """Answer a named report."""
    target = crawl_path(crawl, f"reports/{quote(name, safe='')}", site=site, since=since, until=until, limit=limit)
    return _get(target, SqlResult, 60 + _GRACE)


def sql(crawl: str, query: str, *, limit: int = 1_000, seconds: float = 10.0) -> Steps[SqlResult]:
    """Run a read-only query over the views of a crawl."""
    order = {"query": query, "limit": limit, "seconds": seconds}
    return _post(crawl_path(crawl, "sql"), order, SqlResult, seconds + _GRACE)


def sql_file(
    crawl: str, query: str, form: TableForm, *, limit: int = 100_000, seconds: float = 60.0, exact: bool = False
) -> Steps[bytes]:
    """Run a query and return its rows as CSV, Parquet or an Arrow stream.

    With ``exact``, CSV keeps texts that a spreadsheet would take for formulas, and control characters.
    """
    order = {"query": query, "limit": limit, "seconds": seconds} | ({"exact": True} if exact else {})
    body = msgspec.json.encode(order)
    call = ApiCall("POST", crawl_path(crawl, "sql"), body, within=seconds + _GRACE, accept=_FORMS[form])
    return _bytes((yield call))


def _get(target: str, kind: type[T], within: float = 0.0) -> Steps[T]:
    return read_answer((yield ApiCall("GET", target, within=within)), kind)


def _post(target: str, order: Mapping[str, Any], kind: type[T], within: float = 0.0) -> Steps[T]:
    """Post an order; it is not repeated if the connection breaks, since it may have been accepted."""
    body = msgspec.json.encode(order)
    return read_answer((yield ApiCall("POST", target, body, within=within, once=True)), kind)


def _pages(crawl: str, what: str, **query: Any) -> Iterator[Steps[list[Row]]]:
    after: str | None = ""

    def page() -> Steps[list[Row]]:
        nonlocal after
        found = yield from _get(crawl_path(crawl, what, **query, after=after, limit=1000), RowPage, _GRACE)
        after = found.next
        return found.rows

    while after is not None:
        yield page()


def _bytes(answer: ApiAnswer) -> bytes:
    if answer.status != 200:
        raise ClientError(problem_of(answer))
    return answer.body
