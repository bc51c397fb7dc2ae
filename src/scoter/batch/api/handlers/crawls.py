"""Crawls: the list, one of them, a new one, and progress."""

from __future__ import annotations

import shutil
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from scoter.batch.api.commands import OrderError
from scoter.batch.api.jobs import JobRequest
from scoter.batch.api.records import CrawlEvent, CrawlInfo, CrawlList, CrawlOrder, ListQuery, Progress, ProgressQuery
from scoter.batch.api.services import BatchServices
from scoter.batch.api.summaries import latest_point
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.progress import read_points
from scoter.errors import ScoterError
from scoter.http.asgi import ApiRequest, ApiResponse
from scoter.http.problems import problem
from scoter.http.records import EventsQuery
from scoter.http.routes import HandlerResult, ResponseSpec, route

CRAWL_PATH: Final = "/v1/crawls/{name}"
_MOST_DIGITS: Final = 18
_EVENTS: Final = ResponseSpec(
    "Events `progress` (a ProgressPoint), `job` (a JobInfo), and `gap`.", CrawlEvent, "text/event-stream"
)


@route("GET", "/v1/crawls", {200: ResponseSpec("Crawls by name.", CrawlList)}, query=ListQuery)
async def list_crawls(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """List the crawls below the folder."""
    query: ListQuery = call.query
    return ApiResponse(msgspec.json.encode(await services.read(_list, services, query)))


def _list(services: BatchServices, query: ListQuery) -> CrawlList:
    names = [name for name in services.folder.names() if name > query.after]
    found = []
    for name in names[: query.limit]:
        with suppress(FileNotFoundError):  # removed meanwhile
            found.append(services.summaries.one(name))
    return CrawlList(crawls=found, next=names[query.limit - 1] if len(names) > query.limit else None)


@route("GET", CRAWL_PATH, {200: ResponseSpec("The crawl.", CrawlInfo)})
async def show_crawl(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Show a crawl: its state, rounds, URLs by status, size and latest progress."""
    return ApiResponse(msgspec.json.encode(await services.read(services.summaries.one, call.path["name"])))


@route(
    "POST",
    "/v1/crawls",
    {201: ResponseSpec("The crawl, with its first job.", CrawlInfo)},
    scope="submit",
    body=CrawlOrder,
    problems=(409,),
)
async def create_crawl(services: BatchServices, call: ApiRequest[CrawlOrder]) -> HandlerResult:
    """Create a crawl and start it."""
    order = call.body
    services.check_consent(call.caller, order.options)
    if "seeds" in order.options:
        raise OrderError("give the seeds beside the options", pointer="/options/seeds")
    if not services.folder.is_free(order.name):
        return problem(409, "exists", f"There is already a crawl or file named {order.name}.", where="/name")
    path = services.folder.new_path(order.name)
    options = {**order.options, "seeds": list(order.seeds)}
    request = JobRequest(crawl=order.name, command="crawl", options=options, settings=order.settings)
    services.jobs.check(request, path)
    CrawlDir.create(path, services.clock())
    try:
        services.jobs.start(request)
    except ScoterError:
        remove_empty(path)
        raise
    return ApiResponse(msgspec.json.encode(services.summaries.one(order.name)), 201)


def remove_empty(path: Path) -> None:
    """Remove a crawl that was just created, if there is nothing in it."""
    if not any((path / "segments").iterdir()) and not (path / "crawldb").exists():
        shutil.rmtree(path, ignore_errors=True)


@route("GET", CRAWL_PATH + "/progress", {200: ResponseSpec("The progress.", Progress)}, query=ProgressQuery)
async def show_progress(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Return the latest progress of a crawl and its history: pages, errors, new URLs and the queue over time."""
    query: ProgressQuery = call.query
    path = services.folder.path(call.path["name"])
    points = await services.read(read_points, path, query.points)
    latest = points[-1] if points else await services.read(latest_point, path)
    return ApiResponse(msgspec.json.encode(Progress(latest=latest, points=points)))


@route("GET", CRAWL_PATH + "/events", {200: _EVENTS}, query=EventsQuery, problems=(429, 503))
async def watch_crawl(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Stream the progress of a crawl (SSE), starting with its latest state, or after Last-Event-ID or `after`."""
    query: EventsQuery = call.query
    name = call.path["name"]
    path = services.folder.path(name)
    after = query.after
    last = call.headers.get(b"last-event-id", b"").strip()
    if last:
        if not last.isdigit() or len(last) > _MOST_DIGITS:
            return problem(422, "invalid", "Last-Event-ID is not the number of an event.", where="Last-Event-ID")
        after = int(last)
    if services.feeds.is_full:
        return problem(503, "crowded", "Too many event streams are open.", retry_after=30)
    return services.feeds.stream(name, path, partial(services.jobs.latest, name), after, call.caller.name)
