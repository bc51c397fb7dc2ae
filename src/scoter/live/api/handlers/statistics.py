"""Statistics of the service, now and over the last hour."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from scoter.http.asgi import ApiRequest, ApiResponse
from scoter.http.handlers.status import SERVICE_ONLY
from scoter.http.routes import HandlerResult, ResponseSpec, route
from scoter.live.api.metrics import counts_of
from scoter.live.api.records import ActivityList, ActivityQuery, History, HistoryQuery, Statistics
from scoter.live.api.services import Services


@route("GET", "/v1/stats", {200: ResponseSpec("Counts, gauges and times by stage.", Statistics)})
async def stats(services: Services, call: ApiRequest[None]) -> HandlerResult:
    """Return statistics of the service, or of the tenant."""
    found = services.metrics.statistics()
    if not call.caller.sees_service:
        tenant = call.caller.tenant
        waiting = {"journal_entries": float(services.waiting_for(tenant))}
        found = Statistics(uptime=found.uptime, counts=counts_of(tenant, found.counts), gauges=waiting, stages={})
    return ApiResponse(msgspec.json.encode(found))


@route("GET", "/v1/history", {200: ResponseSpec("The last hour.", History)}, query=HistoryQuery)
async def history(services: Services, call: ApiRequest[None]) -> HandlerResult:
    """Return the statistics of the last hour, in intervals of 10 seconds."""
    query: HistoryQuery = call.query
    points = services.history.since(query.after)
    if not call.caller.sees_service:
        tenant = call.caller.tenant
        points = [replace(each, counts=counts_of(tenant, each.counts), gauges={}, stages={}) for each in points]
    return ApiResponse(msgspec.json.encode(History(points)))


@route("GET", "/v1/activity", {200: ResponseSpec("The domains.", ActivityList)}, query=ActivityQuery)
async def activity(services: Services, call: ApiRequest[None]) -> HandlerResult:
    """Return the domains that the service is busy with or holds back: rates, delays, and pauses with their reasons."""
    query: ActivityQuery = call.query
    if not call.caller.sees_service:
        return SERVICE_ONLY
    return ApiResponse(msgspec.json.encode(ActivityList(list(services.activity(query.limit)))))
