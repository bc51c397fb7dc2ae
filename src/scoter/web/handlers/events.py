"""Events as they happen."""

from __future__ import annotations

from functools import partial

from scoter.api import EventsQuery, StreamedEvent
from scoter.web.asgi import Call, Streaming
from scoter.web.problems import problem
from scoter.web.routes import Answer, Response, Route
from scoter.web.streams import FIELDS, Streams

_MOST_DIGITS = 18


class Listening:
    """Opens streams of events, so many and no more."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/v1/events",
                run=self.listen,
                told="Listen to events (SSE), from Last-Event-ID or `after` on.",
                query=EventsQuery,
                responses={
                    200: Response(
                        "Events `url`, and `gap` where some are no longer kept.", StreamedEvent, "text/event-stream"
                    )
                },
                problems=(503,),
            )
        ]

    async def listen(self, call: Call[None]) -> Answer:
        """Begin where the client left off."""
        query: EventsQuery = call.query
        after = query.after
        last = call.headers.get(b"last-event-id", b"").strip()
        if last:  # a browser that comes back sends the same query as before, and where it has got to in this field
            if not last.isdigit() or len(last) > _MOST_DIGITS:
                return problem(422, "invalid", "Last-Event-ID is not the number of an event.", where="Last-Event-ID")
            after = int(last)
        if self._streams.is_full:
            return problem(503, "crowded", "Too many are listening.", retry_after=30)
        return Streaming(partial(self._streams.serve, after), FIELDS)
