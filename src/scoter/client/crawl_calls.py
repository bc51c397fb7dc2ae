"""The calls of the REST API for batch crawls, without a socket; ``crawls`` runs them, blocking or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeVar
from urllib.parse import quote, urlencode

import msgspec

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
    ReportList,
    RowPage,
    ScheduleInfo,
    ScheduleList,
    SearchResults,
    SqlResult,
    UrlExplanation,
    UrlLinks,
)
from scoter.client.calls import ApiAnswer, ApiCall, Steps, problem_of, read_answer
from scoter.client.errors import ClientError

T = TypeVar("T")
TableForm = Literal["csv", "parquet", "arrow"]
_FORMS: Mapping[str, str] = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.stream",
}
_GRACE = 30.0  # seconds that the server may take to start a query


def crawl_path(crawl: str, rest: str = "", **query: Any) -> str:
    """Return the path of a crawl or of something below it.

    >>> crawl_path("news", "urls", status="fetched", after="", limit=10)
    '/v1/crawls/news/urls?status=fetched&limit=10'
    """
    given = {name: value for name, value in query.items() if value not in ("", None)}
    path = f"/v1/crawls/{quote(crawl, safe='')}{f'/{rest}' if rest else ''}"
    return f"{path}?{urlencode(given)}" if given else path


def get(target: str, kind: type[T], within: float = 0.0) -> Steps[T]:
    return read_answer((yield ApiCall("GET", target, within=within)), kind)


def post(target: str, order: Mapping[str, Any], kind: type[T], within: float = 0.0) -> Steps[T]:
    """Post an order; it is not repeated if the connection breaks, since it may have been accepted."""
    body = msgspec.json.encode(order)
    return read_answer((yield ApiCall("POST", target, body, within=within, once=True)), kind)


def crawls() -> Steps[list[CrawlInfo]]:
    found: list[CrawlInfo] = []
    after: str | None = ""
    while after is not None:
        target = f"/v1/crawls?{urlencode({'after': after, 'limit': 1000})}"
        page = read_answer((yield ApiCall("GET", target)), CrawlList)
        found += page.crawls
        after = page.next
    return found


def create(
    name: str, seeds: Sequence[str], options: Mapping[str, Any], settings: Mapping[str, Any]
) -> Steps[CrawlInfo]:
    order = {"name": name, "seeds": list(seeds), "options": dict(options), "settings": dict(settings)}
    return post("/v1/crawls", order, CrawlInfo)


def start(crawl: str, command: str, options: Mapping[str, Any], settings: Mapping[str, Any]) -> Steps[JobInfo]:
    order = {"command": command, "options": dict(options), "settings": dict(settings)}
    return post(crawl_path(crawl, "jobs"), order, JobInfo)


def stop(crawl: str, job: str, how: str) -> Steps[JobInfo]:
    return post(crawl_path(crawl, f"jobs/{quote(job, safe='')}/stop"), {"how": how}, JobInfo)


def jobs(crawl: str) -> Steps[list[JobInfo]]:
    return read_answer((yield ApiCall("GET", crawl_path(crawl, "jobs"))), JobList).jobs


def job(crawl: str, identity: str) -> Steps[JobInfo]:
    return get(crawl_path(crawl, f"jobs/{quote(identity, safe='')}"), JobInfo)


def log(crawl: str, identity: str, lines: int) -> Steps[list[str]]:
    target = crawl_path(crawl, f"jobs/{quote(identity, safe='')}/log", lines=lines)
    return read_answer((yield ApiCall("GET", target)), JobLog).lines


def commands() -> Steps[CommandList]:
    return get("/v1/commands", CommandList)


def progress(crawl: str, points: int) -> Steps[Progress]:
    return get(crawl_path(crawl, "progress", points=points), Progress)


def schedules() -> Steps[list[ScheduleInfo]]:
    return read_answer((yield ApiCall("GET", "/v1/schedules")), ScheduleList).schedules


def schedule(
    crawl: str,
    every: str,
    start: datetime | None,
    command: str,
    options: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> Steps[ScheduleInfo]:
    order = {"crawl": crawl, "every": every, "start": start, "command": command}
    return post("/v1/schedules", {**order, "options": dict(options), "settings": dict(settings)}, ScheduleInfo)


def unschedule(identity: str) -> Steps[ScheduleInfo]:
    target = f"/v1/schedules/{quote(identity, safe='')}"
    return read_answer((yield ApiCall("DELETE", target, once=True)), ScheduleInfo)


def rows(crawl: str, what: str, **query: Any) -> Steps[RowPage]:
    return get(crawl_path(crawl, what, **query), RowPage, _GRACE)


def explain(crawl: str, url: str) -> Steps[UrlExplanation]:
    return get(crawl_path(crawl, "url", url=url), UrlExplanation)


def links(crawl: str, what: str, url: str, offset: int, limit: int) -> Steps[UrlLinks]:
    return get(crawl_path(crawl, what, url=url, offset=offset, limit=limit), UrlLinks)


def text(crawl: str, url: str, segment: str) -> Steps[PageText]:
    return get(crawl_path(crawl, "text", url=url, segment=segment), PageText)


def headers(crawl: str, url: str, segment: str) -> Steps[CopyHeaders]:
    return get(crawl_path(crawl, "headers", url=url, segment=segment), CopyHeaders)


def copy(crawl: str, url: str, segment: str) -> Steps[bytes]:
    return _bytes((yield ApiCall("GET", crawl_path(crawl, "copy", url=url, segment=segment))))


def search(crawl: str, query: str, limit: int, offset: int) -> Steps[SearchResults]:
    return get(crawl_path(crawl, "search", q=query, limit=limit, offset=offset), SearchResults)


def reports(crawl: str) -> Steps[ReportList]:
    return get(crawl_path(crawl, "reports"), ReportList)


def report(crawl: str, name: str, **query: Any) -> Steps[SqlResult]:
    return get(crawl_path(crawl, f"reports/{quote(name, safe='')}", **query), SqlResult, 60 + _GRACE)


def sql(crawl: str, query: str, limit: int, seconds: float) -> Steps[SqlResult]:
    order = {"query": query, "limit": limit, "seconds": seconds}
    return post(crawl_path(crawl, "sql"), order, SqlResult, seconds + _GRACE)


def sql_file(crawl: str, query: str, form: TableForm, limit: int, seconds: float) -> Steps[bytes]:
    body = msgspec.json.encode({"query": query, "limit": limit, "seconds": seconds})
    call = ApiCall("POST", crawl_path(crawl, "sql"), body, within=seconds + _GRACE, accept=_FORMS[form])
    return _bytes((yield call))


def _bytes(answer: ApiAnswer) -> bytes:
    if answer.status != 200:
        raise ClientError(problem_of(answer))
    return answer.body
