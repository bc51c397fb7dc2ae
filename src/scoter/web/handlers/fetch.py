"""Direct fetches: fetch one URL now, politely."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import assert_never

import msgspec
from msgspec import Struct

from scoter.api import Archived, FetchAnswer, FetchHop, FetchOrder, Problem
from scoter.core.reply import Exchange, Failed, Fetched, Gone, Moved, NotModified, Reply, Request
from scoter.core.url import Url, canonical
from scoter.errors import UrlError
from scoter.fetch.decode import content_codings, decode
from scoter.live.ports import ContentStore, DomainRuleStore, Fetching
from scoter.live.records import Priority
from scoter.web.asgi import ApiRequest, ApiResponse
from scoter.web.problems import problem
from scoter.web.routes import HandlerResult, ResponseSpec, Route


class FetchLimits(Struct, frozen=True, kw_only=True):
    """The number of simultaneous direct fetches, and the seconds that one may take with all its hops."""

    most: int = 64
    within: float = 60.0


class FetchRoutes:
    """Fetches for clients, each hop within the rate limit of its domain."""

    def __init__(
        self, fetching: Fetching, rules: DomainRuleStore, content: ContentStore | None, limits: FetchLimits
    ) -> None:
        self._fetching = fetching
        self._rules = rules
        self._content = content
        self._limits = limits
        self._count = 0

    def routes(self) -> list[Route]:
        return [
            Route(
                method="POST",
                path="/v1/fetch",
                run=self.fetch,
                summary="Fetch one URL now, within its domain's rate limit.",
                scope="submit",
                body=FetchOrder,
                responses={200: ResponseSpec("The result.", FetchAnswer)},
                problems=(403, 503, 504),
                waits=True,
            )
        ]

    async def fetch(self, call: ApiRequest[FetchOrder]) -> HandlerResult:
        """Make one fetch; whatever the server does is a result, not an error."""
        order = call.body
        try:
            url = canonical(order.url)
        except UrlError as error:
            return problem(422, "invalid", "This is not a URL.", error.message, where="/url")
        if order.body == "reference" and self._content is None:
            return problem(422, "invalid", "This service has no archive.", where="/body")
        if self._count >= self._limits.most:
            return problem(503, "crowded", "Too many fetches are in progress.", retry_after=2)
        self._count += 1
        try:
            async with asyncio.timeout(self._limits.within):
                answer = await self._follow(url, order)
        except TimeoutError:
            detail = "The domain had no free slot, or its server did not respond in time."
            return problem(504, "fetch-time", "The fetch timed out.", detail, retry_after=30)
        finally:
            self._count -= 1
        return answer if isinstance(answer, Problem) else ApiResponse(msgspec.json.encode(answer))

    async def _follow(self, url: Url, order: FetchOrder) -> FetchAnswer | Problem:
        began, waited = time.monotonic(), 0.0
        hops: list[FetchHop] = []
        while True:
            rule = self._rules.get(url.domain)
            if rule is not None and rule.blocked:
                return problem(
                    403, "blocked", "The domain is blocked.", f"This service makes no requests to {rule.domain}."
                )
            made = await self._fetching.fetch(Request(url=url), Priority[order.priority.upper()])
            waited += made.waited
            reply = made.reply
            if not isinstance(reply, Moved) or reply.target is None or len(hops) >= order.hops:
                break
            hops.append(FetchHop(url.text, reply.exchange.status))
            url = reply.target
        answer = await self._answer(reply, order)
        return msgspec.structs.replace(answer, hops=hops, waited=waited, seconds=time.monotonic() - began)

    async def _answer(self, reply: Reply, order: FetchOrder) -> FetchAnswer:
        match reply:
            case Fetched(exchange):
                answer = FetchAnswer(url=reply.url.text, outcome="fetched")
            case Moved(exchange, target):
                answer = FetchAnswer(url=reply.url.text, outcome="moved", target=target.text if target else "")
            case NotModified(exchange):
                answer = FetchAnswer(url=reply.url.text, outcome="not_modified")
            case Gone(url, reason, detail, exchange):
                answer = FetchAnswer(url=url.text, outcome="gone", reason=reason.value, detail=detail)
            case Failed(url, reason, detail):
                exchange = reply.exchange
                answer = FetchAnswer(url=url.text, outcome="failed", reason=reason.value, detail=detail)
            case _:
                assert_never(reply)
        return answer if exchange is None else await self._with_exchange(answer, exchange, order)

    async def _with_exchange(self, answer: FetchAnswer, exchange: Exchange, order: FetchOrder) -> FetchAnswer:
        body, truncated = b"", bool(exchange.truncation)
        archived: Archived | None = None
        if order.body == "inline":
            decoded = decode(exchange.body, content_codings(exchange.headers), int(order.most))
            body, truncated = decoded.body, truncated or bool(decoded.truncation)
        elif order.body == "reference" and self._content is not None:
            fetch = uuid.uuid4().hex
            archived = (await self._content.keep([exchange], message="", fetch=fetch))[0]
        return msgspec.structs.replace(
            answer,
            status=exchange.status,
            headers=list(exchange.headers),
            body=body,
            length=len(exchange.body),
            truncated=truncated,
            archived=archived,
        )
