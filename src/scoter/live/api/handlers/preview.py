"""Previews in one call: submit a URL if necessary, wait for its record, and return it."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any, Final

import msgspec

from scoter.core.url import canonical
from scoter.errors import UrlError
from scoter.http.asgi import NO_STORE, ApiRequest, ApiResponse, Caller
from scoter.http.problems import problem
from scoter.http.records import Problem
from scoter.http.routes import HandlerResult, ResponseSpec, route
from scoter.live.api.handlers.fetch import follow
from scoter.live.api.handlers.messages import overloaded, take
from scoter.live.api.handlers.urls import wait_seconds
from scoter.live.api.lookups import NOT_A_URL, canonical_text, not_changed
from scoter.live.api.records import FetchOrder, Outcome, PendingUrl, PreviewQuery, Submission
from scoter.live.api.services import Services
from scoter.live.records import Preview, UrlRecord

_MAX_OEMBED: Final = 65_536  # bytes
_OEMBED_HOPS: Final = 3
_decode_record: Final = msgspec.json.Decoder(UrlRecord).decode
_decode_object: Final = msgspec.json.Decoder(dict[str, Any]).decode


@route(
    "GET",
    "/v1/preview",
    {
        200: ResponseSpec("The record, with `oembed` if it was asked for and the page offers it.", Preview),
        202: ResponseSpec("Accepted, not finished within the wait.", PendingUrl),
        304: ResponseSpec("The record has not changed since the ETag in If-None-Match.", media_type=""),
    },
    query=PreviewQuery,
    scope="submit",
    waits=True,
)
async def preview(services: Services, call: ApiRequest[None]) -> HandlerResult:
    """Return the record of a URL; submit it and wait if there is no fresh one."""
    query: PreviewQuery = call.query
    url = canonical_text(query.url)
    if not url:
        return NOT_A_URL
    known = await services.lookup.known(url)
    if known is None or not _is_fresh(known, services.clock()):
        seconds = min(wait_seconds(query.wait), services.web.longest_wait.total_seconds())
        refused = await _finish(services, url, query, seconds, call.caller)
        if refused is not None:
            return refused
    reply = await services.lookup.one(url)
    if query.oembed and reply.status == 200:
        return await _with_oembed(services, reply)
    return not_changed(reply, call.headers.items()) or reply


def _is_fresh(value: bytes, now: datetime) -> bool:
    record = _decode_record(value)
    return record.expires_at > now and not record.is_due(now)


async def _finish(services: Services, url: str, query: PreviewQuery, seconds: float, caller: Caller) -> Problem | None:
    """Submit a URL and wait until it is finished; return why it is refused."""
    if services.waiters.is_full:
        return problem(503, "crowded", "Too many lookups are waiting.", retry_after=2)
    services.shares.waiting.check(caller.name)
    (receipt,) = await take(services, [Submission(urls=(url,), priority=query.priority)], caller.tenant)
    if receipt.status is Outcome.REFUSED:
        return overloaded([receipt])
    if receipt.unusable:
        return problem(422, "invalid", "This URL cannot be fetched.", receipt.unusable[0].why, where="?url")
    # A URL that is no longer pending was finished while its message was stored.
    if services.lookup.is_pending(url):
        with services.shares.waiting.use(caller.name):
            await services.waiters.wait(url, seconds)
    return None


async def _with_oembed(services: Services, reply: ApiResponse) -> ApiResponse:
    """Add the answer of the page's oEmbed endpoint, if it has one that answers."""
    about = _decode_record(reply.body).metadata
    embed = next((each for each in about.embeds if "json" in each.media_type), None) if about is not None else None
    found = None
    if embed is not None and not services.fetch_slots.locked():
        found = await _oembed(services, embed.url)
    if found is None:
        return reply
    body = b'%b,"oembed":%b}' % (reply.body[:-1], msgspec.json.encode(found))
    return ApiResponse(body, headers=NO_STORE)


async def _oembed(services: Services, endpoint: str) -> dict[str, Any] | None:
    order = FetchOrder(url=endpoint, hops=_OEMBED_HOPS, most=_MAX_OEMBED)
    try:
        async with services.fetch_slots, asyncio.timeout(services.web.fetch_time.total_seconds()):
            answer = await follow(services, canonical(endpoint), order)
        if isinstance(answer, Problem) or answer.outcome != "fetched" or answer.truncated:
            return None
        return _decode_object(answer.body)
    except (UrlError, TimeoutError, msgspec.DecodeError, UnicodeDecodeError):
        return None
