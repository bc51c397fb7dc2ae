"""From a URL to the page it stands for: hop by hop, each in its own domain's turn, and what came is read."""

from __future__ import annotations

from msgspec.structs import replace

from scoter.core.page import Page
from scoter.core.reply import Fetched, Moved, Request
from scoter.core.url import Url
from scoter.live.context import Context
from scoter.live.ports import Fetching
from scoter.live.records import Hop
from scoter.live.stages.reading import Reading


class Resolving:
    """Follows redirects of servers, and pages that send their reader on at once."""

    def __init__(self, fetching: Fetching, reading: Reading, most: int) -> None:
        """``most`` redirects are followed."""
        self._fetching = fetching
        self._reading = reading
        self._most = most

    async def __call__(self, context: Context) -> Context:
        url: Url | None = context.url
        while url is not None:
            context = await self._hop(context, url)
            context, onward = await self._onward(context)
            has_been = onward is not None and any(hop.url == onward.text for hop in context.hops)
            url = None if has_been or len(context.hops) > self._most else onward
        return context

    async def _hop(self, context: Context, url: Url) -> Context:
        answer = await self._fetching.fetch(Request(url=url), context.entry.priority)
        reply, exchange = answer.reply, answer.reply.exchange
        hop = Hop(
            url.text,
            0 if exchange is None else exchange.status,
            isinstance(reply, Moved) and reply.permanent,
        )
        return replace(
            context,
            reply=reply,
            hops=(*context.hops, hop),
            exchanges=context.exchanges if exchange is None else (*context.exchanges, exchange),
            waited=context.waited + answer.waited,
            remote=context.remote + (0.0 if exchange is None else exchange.timings.total),
        )

    async def _onward(self, context: Context) -> tuple[Context, Url | None]:
        """Read what came, if it can be read; return where it points on."""
        reply = context.reply
        if isinstance(reply, Moved):
            return context, reply.target
        if not isinstance(reply, Fetched):
            return context, None
        read = await self._reading(reply.exchange)
        context = replace(context, content=read.content, page=read.page, doubt=read.problem)
        return context, _refreshed(read.page)


def _refreshed(page: Page | None) -> Url | None:
    return page.refresh.target if page is not None and page.refresh is not None and page.refresh.is_redirect else None
