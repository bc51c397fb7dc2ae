"""Jobs, schedules, and the commands that can be run."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import replace

from scoter.batch.api.commands import CREATING, IMPORTING, OrderError
from scoter.batch.api.handlers.crawls import CRAWL_PATH, remove_empty
from scoter.batch.api.jobs import JobRequest
from scoter.batch.api.records import (
    CommandList,
    JobInfo,
    JobList,
    JobLog,
    JobOrder,
    LogQuery,
    ScheduleInfo,
    ScheduleList,
    ScheduleOrder,
    StopOrder,
)
from scoter.batch.api.services import ADMIN_OPTIONS, BatchServices
from scoter.batch.crawldir.directory import CrawlDir
from scoter.errors import ScoterError
from scoter.http.asgi import ApiRequest, ApiResponse
from scoter.http.problems import problem
from scoter.http.routes import HandlerResult, ResponseSpec, route
from scoter.secrets import masked

_JOBS: Final = CRAWL_PATH + "/jobs"
_JOB: Final = _JOBS + "/{id}"
_SCHEDULES: Final = "/v1/schedules"


@route("GET", "/v1/commands", {200: ResponseSpec("The commands and settings.", CommandList)})
async def list_commands(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """List the commands that can be run as jobs, with their options, and the settings that jobs accept."""
    commands = list(services.catalogue.commands())
    if not call.caller.administers(is_open=services.is_open):
        commands = [
            replace(each, options=[option for option in each.options if option.name not in ADMIN_OPTIONS])
            for each in commands
        ]
    found = CommandList(commands=commands, settings=list(services.catalogue.settings()))
    return ApiResponse(msgspec.json.encode(found))


@route("GET", _JOBS, {200: ResponseSpec("The jobs, newest first.", JobList)})
async def list_jobs(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """List the jobs of a crawl, and a command that runs elsewhere."""
    name = call.path["name"]
    found = await services.read(services.jobs.all, name)
    if not found:  # otherwise it may be an import that has not succeeded
        services.folder.path(name)
    return ApiResponse(msgspec.json.encode(JobList(found)))


@route(
    "POST",
    _JOBS,
    {202: ResponseSpec("The job, which has started.", JobInfo)},
    scope="submit",
    body=JobOrder,
    problems=(409, 429),
)
async def start_job(services: BatchServices, call: ApiRequest[JobOrder]) -> HandlerResult:
    """Run a command on a crawl; 409 if another one is changing it. Without options, this resumes the crawl.

    A command that merges others creates the crawl, if there is none of that name. An import makes a new one.
    """
    order, name = call.body, call.path["name"]
    services.check_consent(call.caller, order.options)
    request = JobRequest(
        crawl=name,
        command=order.command,
        options=order.options,
        settings=order.settings,
        owner=call.caller.name,
    )
    path = services.folder.new_path(name)
    is_new = order.command in CREATING and services.folder.is_free(name)
    if order.command in IMPORTING:
        is_free = services.folder.is_free(name)
        services.jobs.check(request, path)
        if not is_free:
            return problem(409, "exists", f"There is already a crawl or file named {name}.")
    elif is_new:
        services.jobs.check(request, path)
        CrawlDir.create(path, services.clock())
    else:
        services.folder.crawl(name)  # a damaged or newer crawl is refused here, not in the log of the job
    try:
        return ApiResponse(msgspec.json.encode(services.jobs.start(request)), 202)
    except ScoterError:
        if is_new:
            remove_empty(path)
        raise


@route("GET", _JOB, {200: ResponseSpec("The job, with its result and the end of its log.", JobInfo)})
async def show_job(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Show a job."""
    return ApiResponse(msgspec.json.encode(await services.read(services.jobs.one, call.path["name"], call.path["id"])))


@route("GET", _JOB + "/log", {200: ResponseSpec("The last lines.", JobLog)}, query=LogQuery)
async def show_log(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Return what a job printed for people."""
    query: LogQuery = call.query
    lines = await services.read(services.jobs.log, call.path["name"], call.path["id"], query.lines)
    return ApiResponse(msgspec.json.encode(JobLog(lines)))


@route(
    "POST",
    _JOB + "/stop",
    {202: ResponseSpec("The job, which may take a moment to stop.", JobInfo)},
    scope="submit",
    body=StopOrder,
    problems=(409,),
)
async def stop_job(services: BatchServices, call: ApiRequest[StopOrder]) -> HandlerResult:
    """Stop a job cleanly, as Ctrl-C does, or kill its processes."""
    found = services.jobs.stop(call.path["name"], call.path["id"], kill=call.body.how == "kill")
    return ApiResponse(msgspec.json.encode(found), 202)


@route("GET", _SCHEDULES, {200: ResponseSpec("The schedules.", ScheduleList)})
async def list_schedules(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """List the recurring jobs."""
    return ApiResponse(msgspec.json.encode(ScheduleList([_shown(each) for each in services.schedules.all()])))


@route(
    "POST",
    _SCHEDULES,
    {201: ResponseSpec("The schedule.", ScheduleInfo)},
    scope="submit",
    body=ScheduleOrder,
    problems=(404, 409),
)
async def create_schedule(services: BatchServices, call: ApiRequest[ScheduleOrder]) -> HandlerResult:
    """Run a job again and again."""
    services.check_consent(call.caller, call.body.options)
    if call.body.command in IMPORTING:
        raise OrderError("an import makes a new crawl, so it cannot be repeated", pointer="/command")
    made = services.schedules.add(call.body, services.folder.path(call.body.crawl))
    return ApiResponse(msgspec.json.encode(_shown(made)), 201)


@route("GET", _SCHEDULES + "/{id}", {200: ResponseSpec("The schedule.", ScheduleInfo)})
async def show_schedule(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Show a recurring job."""
    return ApiResponse(msgspec.json.encode(_shown(services.schedules.one(call.path["id"]))))


@route("DELETE", _SCHEDULES + "/{id}", {200: ResponseSpec("The deleted schedule.", ScheduleInfo)}, scope="submit")
async def delete_schedule(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Delete a recurring job; one that is running goes on."""
    return ApiResponse(msgspec.json.encode(_shown(services.schedules.remove(call.path["id"]))))


def _shown(schedule: ScheduleInfo) -> ScheduleInfo:
    """Return a schedule without its secrets."""
    options = {name: masked(name, value) for name, value in schedule.options.items()}
    settings = {name: masked(name, value) for name, value in schedule.settings.items()}
    return replace(schedule, options=options, settings=settings)
