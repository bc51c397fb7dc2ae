"""Statistics, metrics, health checks and the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from scoter.api import Health, Statistics
from scoter.web.asgi import ApiRequest, ApiResponse
from scoter.web.metrics import MEDIA_TYPE, ServiceMetrics
from scoter.web.problems import problem
from scoter.web.routes import HandlerResult, ResponseSpec, Route

HEALTHY = ApiResponse(msgspec.json.encode(Health()))


class StatusRoutes:
    """Reports the state of the service; ``describe`` returns the OpenAPI document."""

    def __init__(self, metrics: ServiceMetrics, not_ready: Callable[[], str], describe: Callable[[], bytes]) -> None:
        self._metrics = metrics
        self._not_ready = not_ready
        self._describe = describe

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/v1/stats",
                run=self.stats,
                summary="Return statistics of the service.",
                responses={200: ResponseSpec("Counts, gauges and times by stage.", Statistics)},
            ),
            Route(
                method="GET",
                path="/metrics",
                run=self.metrics,
                summary="Return all metrics in the Prometheus text format.",
                responses={200: ResponseSpec("The metrics.", None, "text/plain")},
            ),
            Route(
                method="GET",
                path="/healthz",
                run=self.health,
                summary="Check that the process responds.",
                scope=None,
                responses={200: ResponseSpec("It responds.", Health)},
            ),
            Route(
                method="GET",
                path="/readyz",
                run=self.ready,
                summary="Check whether the service is ready.",
                scope=None,
                responses={200: ResponseSpec("It is ready.", Health)},
                problems=(503,),
            ),
            Route(
                method="GET",
                path="/v1/openapi.json",
                run=self.openapi,
                summary="Describe this API.",
                scope=None,
                responses={200: ResponseSpec("An OpenAPI document.", dict)},
            ),
        ]

    async def stats(self, call: ApiRequest[None]) -> HandlerResult:
        return ApiResponse(msgspec.json.encode(self._metrics.statistics()))

    async def metrics(self, call: ApiRequest[None]) -> HandlerResult:
        return ApiResponse(self._metrics.text(), media_type=MEDIA_TYPE)

    async def health(self, call: ApiRequest[None]) -> HandlerResult:
        return HEALTHY

    async def ready(self, call: ApiRequest[None]) -> HandlerResult:
        why = self._not_ready()
        return problem(503, "not-ready", "The service is not ready.", why, retry_after=5) if why else HEALTHY

    async def openapi(self, call: ApiRequest[None]) -> HandlerResult:
        return ApiResponse(self._describe())
