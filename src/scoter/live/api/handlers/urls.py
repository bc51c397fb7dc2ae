"""Lookups of URLs."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from scoter.config.units import read_duration
from scoter.http.asgi import ApiRequest
from scoter.http.problems import problem
from scoter.http.routes import HandlerResult, ResponseSpec, route
from scoter.live.api.lookups import LookupResults, canonical_text, not_changed
from scoter.live.api.records import MAX_WAIT, LookupBatch, LookupQuery, PendingUrl
from scoter.live.api.services import Services
from scoter.live.records import UrlRecord

_SIZE = (
    "The metadata of a page has at most `live.about_size` bytes (32 KiB): longer texts and lists are truncated."
    " No URL has more than 8,192 characters."
)


@route(
    "GET",
    "/v1/urls",
    {
        200: ResponseSpec(f"The record. {_SIZE}", UrlRecord),
        202: ResponseSpec("Accepted, not finished yet.", PendingUrl),
        304: ResponseSpec("The record has not changed since the ETag in If-None-Match.", media_type=""),
    },
    query=LookupQuery,
    problems=(404, 429, 503),
    waits=True,
)
async def look_up(services: Services, call: ApiRequest[None]) -> HandlerResult:
    """Look up a URL; with wait, wait for its record if it was submitted."""
    query: LookupQuery = call.query
    lookup, waiters, is_forced = services.lookup, services.waiters, services.is_forced
    seconds = min(wait_seconds(query.wait), services.web.longest_wait.total_seconds())
    url = canonical_text(query.url)
    # Checked before the lookup: the record found afterwards is the new one, or its fetch is still seen as pending.
    is_outdated = bool(seconds and url) and is_forced(url)
    answer = await lookup.one(query.url)
    if seconds and answer.status == 404:
        answer = await lookup.one(query.url)  # it may have been finished between the two reads
    if not seconds or not url or (answer.status != 202 and not is_outdated):
        return not_changed(answer, call.headers.items()) or answer
    if waiters.is_full:
        return problem(503, "crowded", "Too many lookups are waiting.", retry_after=2)
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    with services.shares.waiting.use(call.caller.name):
        while await waiters.wait(url, until - loop.time()) and is_forced(url):
            pass
    if is_forced(url):
        return lookup.without(url)
    answer = await lookup.one(url)
    return not_changed(answer, call.headers.items()) or answer


@route(
    "POST",
    "/v1/urls/lookup",
    {200: ResponseSpec(f"One result per URL, in the order given. {_SIZE}", LookupResults)},
    body=LookupBatch,
)
async def look_up_many(services: Services, call: ApiRequest[LookupBatch]) -> HandlerResult:
    """Look up to 300 URLs at once."""
    return await services.lookup.many(call.body.urls)


def wait_seconds(text: str) -> float:
    """Return the seconds to wait, at most ``MAX_WAIT``.

    >>> wait_seconds("500ms"), wait_seconds("5"), wait_seconds("10m")
    (0.5, 5.0, 30.0)
    """
    wait: Any = read_duration(text if text[-1].isalpha() else text + "s")
    return min(MAX_WAIT, (wait or timedelta()).total_seconds())
