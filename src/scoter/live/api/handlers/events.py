"""Event streams."""

from __future__ import annotations

from functools import partial
from typing import Final

from scoter.http.asgi import ApiRequest, ApiStream, Caller, Receive, Send
from scoter.http.problems import problem
from scoter.http.records import EventsQuery
from scoter.http.routes import HandlerResult, ResponseSpec, route
from scoter.http.streams import STREAM_HEADERS
from scoter.live.api.records import StreamedEvent
from scoter.live.api.services import Services

_MOST_DIGITS: Final = 18
_EVENTS: Final = ResponseSpec("Events `url`, and `gap` if some are no longer kept.", StreamedEvent, "text/event-stream")


@route("GET", "/v1/events", {200: _EVENTS}, query=EventsQuery, problems=(429, 503))
async def listen(services: Services, call: ApiRequest[None]) -> HandlerResult:
    """Stream the tenant's events (SSE), starting after Last-Event-ID or `after`."""
    query: EventsQuery = call.query
    after = query.after
    last = call.headers.get(b"last-event-id", b"").strip()
    if last:  # a browser that reconnects repeats the query, and sends its position in this header
        if not last.isdigit() or len(last) > _MOST_DIGITS:
            return problem(422, "invalid", "Last-Event-ID is not the number of an event.", where="Last-Event-ID")
        after = int(last)
    if services.streams.is_full:
        return problem(503, "crowded", "Too many event streams are open.", retry_after=30)
    services.shares.streams.check(call.caller.name)
    return ApiStream(partial(_serve, services, call.caller, after), STREAM_HEADERS)


async def _serve(services: Services, caller: Caller, after: int | None, receive: Receive, send: Send) -> None:
    with services.shares.streams.use(caller.name):
        await services.streams.serve(after, receive, send, tenant=caller.sees)
