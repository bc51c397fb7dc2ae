"""How the service is: for people, for Prometheus, for whoever starts and stops it; and what it can do."""

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
    """Tells how the service is; ``describe`` returns the OpenAPI document."""

    def __init__(self, measures: ServiceMetrics, not_ready: Callable[[], str], describe: Callable[[], bytes]) -> None:
        self._measures = measures
        self._not_ready = not_ready
        self._describe = describe

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/v1/stats",
                run=self.stats,
                told="Show the service in figures.",
                responses={200: ResponseSpec("Counts, gauges, and times by stage.", Statistics)},
            ),
            Route(
                method="GET",
                path="/metrics",
                run=self.metrics,
                told="Show all metrics as Prometheus reads them.",
                responses={200: ResponseSpec("The metrics.", None, "text/plain")},
            ),
            Route(
                method="GET",
                path="/healthz",
                run=self.health,
                told="Tell that the process answers.",
                scope=None,
                responses={200: ResponseSpec("It does.", Health)},
            ),
            Route(
                method="GET",
                path="/readyz",
                run=self.ready,
                told="Tell whether the service can work.",
                scope=None,
                responses={200: ResponseSpec("It can.", Health)},
                problems=(503,),
            ),
            Route(
                method="GET",
                path="/v1/openapi.json",
                run=self.described,
                told="Describe this API.",
                scope=None,
                responses={200: ResponseSpec("An OpenAPI document.", dict)},
            ),
        ]

    async def stats(self, call: ApiRequest[None]) -> HandlerResult:
        return ApiResponse(msgspec.json.encode(self._measures.statistics()))

    async def metrics(self, call: ApiRequest[None]) -> HandlerResult:
        return ApiResponse(self._measures.text(), media_type=MEDIA_TYPE)

    async def health(self, call: ApiRequest[None]) -> HandlerResult:
        return HEALTHY

    async def ready(self, call: ApiRequest[None]) -> HandlerResult:
        why = self._not_ready()
        return problem(503, "not-ready", "The service cannot work now.", why, retry_after=5) if why else HEALTHY

    async def described(self, call: ApiRequest[None]) -> HandlerResult:
        return ApiResponse(self._describe())
