"""Metrics, health checks and the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from scoter.http.asgi import HEALTHY, ApiRequest, ApiResponse
from scoter.http.metrics import MEDIA_TYPE
from scoter.http.problems import problem
from scoter.http.records import Health
from scoter.http.routes import HandlerResult, ResponseSpec, route


class MetricsText(Protocol):
    """All metrics of a server."""

    def text(self) -> bytes:
        """Return them in the Prometheus text format."""


class StatusServices(Protocol):
    """What these handlers need."""

    @property
    def metrics(self) -> MetricsText: ...

    @property
    def not_ready(self) -> Callable[[], str]: ...

    @property
    def openapi(self) -> bytes: ...


SERVICE_ONLY: Final = problem(
    403,
    "whole-service",
    "This is about all tenants.",
    "It requires a key with the scope admin, or one without a tenant. /v1/stats has the tenant's own counts.",
)


@route("GET", "/metrics", {200: ResponseSpec("The metrics.", None, "text/plain")})
async def metrics(services: StatusServices, call: ApiRequest[None]) -> HandlerResult:
    """Return all metrics in the Prometheus text format."""
    if not call.caller.sees_service:
        return SERVICE_ONLY
    return ApiResponse(services.metrics.text(), media_type=MEDIA_TYPE)


@route("GET", "/healthz", {200: ResponseSpec("It responds.", Health)}, scope=None)
async def health(services: StatusServices, call: ApiRequest[None]) -> HandlerResult:
    """Check that the process responds."""
    return HEALTHY


@route("GET", "/readyz", {200: ResponseSpec("It is ready.", Health)}, scope=None, problems=(503,))
async def ready(services: StatusServices, call: ApiRequest[None]) -> HandlerResult:
    """Check whether the service is ready."""
    why = services.not_ready()
    return problem(503, "not-ready", "The service is not ready.", why, retry_after=5) if why else HEALTHY


@route("GET", "/v1/openapi.json", {200: ResponseSpec("An OpenAPI document.", dict)}, scope=None)
async def openapi(services: StatusServices, call: ApiRequest[None]) -> HandlerResult:
    """Describe this API."""
    return ApiResponse(services.openapi)
