"""What is known of URLs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from scoter.api import MAX_WAIT, LookupBatch, LookupQuery, PendingUrl
from scoter.config.units import read_duration
from scoter.live.records import UrlRecord
from scoter.web.asgi import ApiRequest
from scoter.web.lookups import Lookup, LookupResults, UrlWaiters, canonical_text
from scoter.web.problems import problem
from scoter.web.routes import HandlerResult, ResponseSpec, Route

_SIZE = (
    "What a page says about itself takes at most `live.about_size` bytes (32 KiB): longer texts and lists are cut."
    " No URL has more than 8,192 characters."
)


class UrlRoutes:
    """Looks URLs up, and waits for them."""

    def __init__(
        self,
        lookup: Lookup,
        arrivals: UrlWaiters,
        longest: float = MAX_WAIT,
        is_renewed: Callable[[str], bool] = lambda url: False,
    ) -> None:
        """``is_renewed`` tells that what is known of a URL is about to be replaced, since somebody wishes so."""
        self._is_renewed = is_renewed
        self._lookup = lookup
        self._arrivals = arrivals
        self._longest = longest

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/v1/urls",
                run=self.one,
                told="Look a URL up; with wait, until it is known.",
                query=LookupQuery,
                responses={
                    200: ResponseSpec(f"What is known of it. {_SIZE}", UrlRecord),
                    202: ResponseSpec("It was accepted and is not done yet.", PendingUrl),
                },
                problems=(404, 503),
                waits=True,
            ),
            Route(
                method="POST",
                path="/v1/urls/lookup",
                run=self.many,
                told="Look up to 300 URLs up.",
                body=LookupBatch,
                responses={200: ResponseSpec(f"What is known of each, in the order asked. {_SIZE}", LookupResults)},
            ),
        ]

    async def one(self, call: ApiRequest[None]) -> HandlerResult:
        """Answer for one URL, at once or when it is known."""
        query: LookupQuery = call.query
        seconds = min(wait_seconds(query.wait), self._longest)
        url = canonical_text(query.url)
        # Before the lookup: what is known afterwards is the new record, or its fetch is seen to be open.
        is_renewed = bool(seconds and url) and self._is_renewed(url)
        answer = self._lookup.one(query.url)
        if not seconds or not url or (answer.status == 200 and not is_renewed):
            return answer
        if self._arrivals.is_full:
            return problem(503, "crowded", "Too many are waiting for URLs.", retry_after=2)
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while await self._arrivals.wait(url, until - loop.time()) and self._is_renewed(url):
            pass
        return self._lookup.without(url) if self._is_renewed(url) else self._lookup.one(url)

    async def many(self, call: ApiRequest[LookupBatch]) -> HandlerResult:
        """Answer for several URLs."""
        return self._lookup.many(call.body.urls)


def wait_seconds(text: str) -> float:
    """Return for how long to wait; never for longer than anybody may.

    >>> wait_seconds("500ms"), wait_seconds("5"), wait_seconds("10m")
    (0.5, 5.0, 30.0)
    """
    wait: Any = read_duration(text if text[-1].isalpha() else text + "s")
    return min(MAX_WAIT, (wait or timedelta()).total_seconds())
