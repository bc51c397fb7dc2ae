"""Lookups of URLs."""

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
    "The metadata of a page has at most `live.about_size` bytes (32 KiB): longer texts and lists are truncated."
    " No URL has more than 8,192 characters."
)


class UrlRoutes:
    """Looks up URLs, and waits for them."""

    def __init__(
        self,
        lookup: Lookup,
        waiters: UrlWaiters,
        longest: float = MAX_WAIT,
        is_forced: Callable[[str], bool] = lambda url: False,
    ) -> None:
        """``is_forced`` tells whether a forced fetch is about to replace the record of a URL."""
        self._is_forced = is_forced
        self._lookup = lookup
        self._waiters = waiters
        self._longest = longest

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/v1/urls",
                run=self.one,
                summary="Look up a URL; with wait, wait for its record.",
                query=LookupQuery,
                responses={
                    200: ResponseSpec(f"The record. {_SIZE}", UrlRecord),
                    202: ResponseSpec("Accepted, not finished yet.", PendingUrl),
                },
                problems=(404, 503),
                waits=True,
            ),
            Route(
                method="POST",
                path="/v1/urls/lookup",
                run=self.many,
                summary="Look up to 300 URLs at once.",
                body=LookupBatch,
                responses={200: ResponseSpec(f"One result per URL, in the order given. {_SIZE}", LookupResults)},
            ),
        ]

    async def one(self, call: ApiRequest[None]) -> HandlerResult:
        """Respond for one URL, at once or when its record is there."""
        query: LookupQuery = call.query
        seconds = min(wait_seconds(query.wait), self._longest)
        url = canonical_text(query.url)
        # Checked before the lookup: the record found afterwards is the new one, or its fetch is still seen as pending.
        is_forced = bool(seconds and url) and self._is_forced(url)
        answer = self._lookup.one(query.url)
        if not seconds or not url or (answer.status == 200 and not is_forced):
            return answer
        if self._waiters.is_full:
            return problem(503, "crowded", "Too many lookups are waiting.", retry_after=2)
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while await self._waiters.wait(url, until - loop.time()) and self._is_forced(url):
            pass
        return self._lookup.without(url) if self._is_forced(url) else self._lookup.one(url)

    async def many(self, call: ApiRequest[LookupBatch]) -> HandlerResult:
        """Respond for several URLs."""
        return self._lookup.many(call.body.urls)


def wait_seconds(text: str) -> float:
    """Return the seconds to wait, at most ``MAX_WAIT``.

    >>> wait_seconds("500ms"), wait_seconds("5"), wait_seconds("10m")
    (0.5, 5.0, 30.0)
    """
    wait: Any = read_duration(text if text[-1].isalpha() else text + "s")
    return min(MAX_WAIT, (wait or timedelta()).total_seconds())
