"""Statistics, metrics, health checks and the OpenAPI document."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import replace

from scoter.http.asgi import HEALTHY, ApiRequest, ApiResponse
from scoter.http.metrics import MEDIA_TYPE, counts_of
from scoter.http.problems import problem
from scoter.http.routes import HandlerResult, ResponseSpec, route
from scoter.live.api.records import ActivityList, ActivityQuery, Health, History, HistoryQuery, Statistics
from scoter.live.api.services import Services

_SERVICE_ONLY: Final = problem(
    403,
    "whole-service",
    "This is about all tenants.",
    "It requires a key with the scope admin, or one without a tenant. /v1/stats has the tenant's own counts.",
)


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
        return _SERVICE_ONLY
    return ApiResponse(msgspec.json.encode(ActivityList(list(services.activity(query.limit)))))


@route("GET", "/metrics", {200: ResponseSpec("The metrics.", None, "text/plain")})
async def metrics(services: Services, call: ApiRequest[None]) -> HandlerResult:
    """Return all metrics in the Prometheus text format."""
    if not call.caller.sees_service:
        return _SERVICE_ONLY
    return ApiResponse(services.metrics.text(), media_type=MEDIA_TYPE)


@route("GET", "/healthz", {200: ResponseSpec("It responds.", Health)}, scope=None)
async def health(services: Services, call: ApiRequest[None]) -> HandlerResult:
    """Check that the process responds."""
    return HEALTHY


@route("GET", "/readyz", {200: ResponseSpec("It is ready.", Health)}, scope=None, problems=(503,))
async def ready(services: Services, call: ApiRequest[None]) -> HandlerResult:
    """Check whether the service is ready."""
    why = services.not_ready()
    return problem(503, "not-ready", "The service is not ready.", why, retry_after=5) if why else HEALTHY


@route("GET", "/v1/openapi.json", {200: ResponseSpec("An OpenAPI document.", dict)}, scope=None)
async def openapi(services: Services, call: ApiRequest[None]) -> HandlerResult:
    """Describe this API."""
    return ApiResponse(services.openapi)
