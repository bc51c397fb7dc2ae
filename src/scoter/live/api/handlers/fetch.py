"""Direct fetches: fetch one URL now, politely."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import assert_never

import msgspec

from scoter.core.reply import Exchange, Failed, Fetched, Gone, Moved, NotModified, Reply, Request
from scoter.core.url import Url, typed_url
from scoter.errors import UrlError
from scoter.fetch.decode import content_codings, decode
from scoter.http.asgi import ApiRequest, ApiResponse
from scoter.http.problems import problem
from scoter.http.records import Problem
from scoter.http.routes import HandlerResult, ResponseSpec, route
from scoter.live.api.records import Archived, FetchAnswer, FetchHop, FetchOrder
from scoter.live.api.services import Services
from scoter.live.ports import ContentStore
from scoter.live.records import Priority


@route(
    "POST",
    "/v1/fetch",
    {200: ResponseSpec("The result.", FetchAnswer)},
    scope="submit",
    body=FetchOrder,
    problems=(403, 429, 503, 504),
    waits=True,
)
async def fetch(services: Services, call: ApiRequest[FetchOrder]) -> HandlerResult:
    """Fetch one URL now, within its domain's rate limit."""
    order = call.body
    try:
        url = typed_url(order.url)
    except UrlError as error:
        return problem(422, "invalid", "This is not a URL.", error.message, where="/url")
    if order.body == "reference" and services.content is None:
        return problem(422, "invalid", "This service has no archive.", where="/body")
    if services.fetch_slots.locked():
        return problem(503, "crowded", "Too many fetches are in progress.", retry_after=2)
    try:
        with services.shares.fetches.use(call.caller.name):
            async with services.fetch_slots, asyncio.timeout(services.web.fetch_time.total_seconds()):
                answer = await follow(services, url, order)
    except TimeoutError:
        detail = "The domain had no free slot, or its server did not respond in time."
        return problem(504, "fetch-time", "The fetch timed out.", detail, retry_after=30)
    return answer if isinstance(answer, Problem) else ApiResponse(msgspec.json.encode(answer))


async def follow(services: Services, url: Url, order: FetchOrder) -> FetchAnswer | Problem:
    """Fetch a URL, and follow as many redirects as ordered."""
    began, waited = time.monotonic(), 0.0
    hops: list[FetchHop] = []
    while True:
        rule = services.rules.get(url.domain)
        if rule is not None and rule.blocked:
            return problem(
                403, "blocked", "The domain is blocked.", f"This service makes no requests to {rule.domain}."
            )
        made = await services.fetching.fetch(Request(url=url), Priority[order.priority.upper()])
        waited += made.waited
        reply = made.reply
        if not isinstance(reply, Moved) or reply.target is None or len(hops) >= order.hops:
            break
        hops.append(FetchHop(url.text, reply.exchange.status))
        url = reply.target
    answer = _answer(reply)
    if reply.exchange is not None:
        answer = await _with_exchange(services.content, answer, reply.exchange, order)
    return msgspec.structs.replace(answer, hops=hops, waited=waited, seconds=time.monotonic() - began)


def _answer(reply: Reply) -> FetchAnswer:
    url = reply.url.text
    match reply:
        case Fetched():
            return FetchAnswer(url=url, outcome="fetched")
        case Moved(_, target):
            return FetchAnswer(url=url, outcome="moved", target=target.text if target else "")
        case NotModified():
            return FetchAnswer(url=url, outcome="not_modified")
        case Gone(_, reason, detail):
            return FetchAnswer(url=url, outcome="gone", reason=reason.value, detail=detail)
        case Failed(_, reason, detail):
            return FetchAnswer(url=url, outcome="failed", reason=reason.value, detail=detail)
        case _:
            assert_never(reply)


async def _with_exchange(
    content: ContentStore | None, answer: FetchAnswer, exchange: Exchange, order: FetchOrder
) -> FetchAnswer:
    body, truncated = b"", bool(exchange.truncation)
    archived: Archived | None = None
    if order.body == "inline":
        decoded = decode(exchange.body, content_codings(exchange.headers), int(order.most))
        body, truncated = decoded.body, truncated or bool(decoded.truncation)
    elif order.body == "reference" and content is not None:
        (archived,) = await content.keep([exchange], message="", fetch=uuid.uuid4().hex)
    return msgspec.structs.replace(
        answer,
        status=exchange.status,
        headers=list(exchange.headers),
        body=body,
        length=len(exchange.body),
        truncated=truncated,
        archived=archived,
    )
