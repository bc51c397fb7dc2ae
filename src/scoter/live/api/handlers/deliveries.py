"""Webhook deliveries: what was not received, and sending it again."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

import msgspec

from scoter.http.asgi import ApiRequest, ApiResponse
from scoter.http.problems import problem
from scoter.http.routes import HandlerResult, ResponseSpec, route
from scoter.live.api.records import DeliveriesQuery, DeliveryInfo, DeliveryList, Resent
from scoter.live.api.services import Services
from scoter.live.ports import DeliveryStatus


@route("GET", "/v1/deliveries", {200: ResponseSpec("The deliveries.", DeliveryList)}, query=DeliveriesQuery)
async def list_deliveries(services: Services, call: ApiRequest[None]) -> HandlerResult:
    """List the tenant's webhook deliveries that were not received, newest first."""
    query: DeliveriesQuery = call.query
    caller = call.caller
    found = [_info(each, caller.tenant) for each in await services.deliveries.unfinished(query.limit, caller.sees)]
    return ApiResponse(msgspec.json.encode(DeliveryList(found)))


@route(
    "POST",
    "/v1/deliveries/{id}/resend",
    {202: ResponseSpec("It is sent again now.", Resent)},
    scope="submit",
    problems=(404,),
)
async def resend_delivery(services: Services, call: ApiRequest[None]) -> HandlerResult:
    """Send a delivery again now, even one that was given up."""
    if not await services.deliveries.resend(call.path["id"], call.caller.sees):
        return problem(404, "unknown-delivery", "There is no such delivery.", "It was received, or removed.")
    services.wake_deliveries()
    return ApiResponse(msgspec.json.encode(Resent(call.path["id"])), 202)


def _info(found: DeliveryStatus, own: str) -> DeliveryInfo:
    delivery, tenant = found.delivery, found.delivery.event.tenant
    state: Literal["waiting", "retrying", "given-up"] = "retrying" if delivery.tries else "waiting"
    return DeliveryInfo(
        id=delivery.id,
        tenant=tenant,
        callback=delivery.callback if tenant == own else _origin(delivery.callback),
        message=delivery.event.message,
        url=delivery.event.url,
        state="given-up" if found.given_up is not None else state,
        tries=delivery.tries,
        why=found.why,
        retry_in=None if found.again_in is None else found.again_in.total_seconds(),
        given_up=found.given_up,
    )


def _origin(callback: str) -> str:
    """Return the origin of a callback: path and query may contain a secret.

    >>> _origin("https://hooks.example:8443/t/0a1b?key=2c3d")
    'https://hooks.example:8443'
    """
    parts = urlsplit(callback)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
