"""From a URL to the page it stands for: hop by hop, each in its own domain's turn, and what came is read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec.structs import replace

from scoter.core.extract import LONGEST
from scoter.core.reply import Fetched, Moved
from scoter.core.url import Url
from scoter.live.context import Context, OutcomeSource
from scoter.live.records import Hop, UrlRecord
from scoter.live.stages.lookup import FreshRecords
from scoter.live.stages.parser import ResponseParser
from scoter.live.stages.requests import HopFetcher


class ResolveRedirects:
    """Follows redirects of servers, and pages that send their reader on at once.

    A chain that comes to a URL which is known ends there: the rest is what is known of it. Thousands of short links may
    lead to one page, which is asked for once.
    """

    def __init__(
        self,
        asking: HopFetcher,
        reading: ResponseParser,
        lately: FreshRecords,
        most: int,
        clock: Callable[[], datetime],
    ) -> None:
        """``most`` redirects are followed."""
        self._asking = asking
        self._reading = reading
        self._lately = lately
        self._most = most
        self._clock = clock

    async def __call__(self, context: Context) -> Context:
        url = context.url
        # Once more: this may be a moment later, in which another chain that came through here was recorded.
        found = None if context.entry.force else self._lately.get(url.text)
        if found is not None:
            return replace(_ending_with(context, found), source=OutcomeSource.KNOWN)
        while True:
            context = await self._hop(context, url)
            onward = _onward(context)
            been = {hop.url for hop in context.hops}
            # Nobody can look up what is longer, and a record would hold it many times over.
            if onward is None or onward.text in been or len(onward.text) > LONGEST:
                return context
            known = None if context.entry.force else self._lately.get(onward.text, is_direct=True)
            if known is not None and any(hop.url in been for hop in known.hops):
                known = None  # it led here once; where does it lead now?
            # The same chain is too long or not, whatever is known of it.
            if len(context.hops) + (0 if known is None else len(known.hops) - 1) > self._most:
                return replace(context, is_cut=True)
            if known is not None:
                return _ending_with(context, known)
            url = onward

    async def _hop(self, context: Context, url: Url) -> Context:
        asked = await self._asking.ask(context, url)
        came = self._clock()
        reply, exchange = asked.reply, asked.reply.exchange
        hop = Hop(
            url.text,
            0 if exchange is None else exchange.status,
            isinstance(reply, Moved) and reply.permanent,
        )
        read = asked.read
        if read is None and isinstance(reply, Fetched):
            read = await self._reading(reply.exchange, apart=asked.is_deadly)
        return replace(
            context,
            reply=reply,
            hops=(*context.hops, hop),
            exchanges=context.exchanges if exchange is None else (*context.exchanges, exchange),
            came=came,
            read=read,  # none before this one counts: a page that sent its reader on is not what the URL stands for
            withheld=context.withheld if read is None or not read.noarchive else context.withheld | {reply.url.text},
            waited=context.waited + asked.waited,
            remote=context.remote + asked.remote,
        )


def _ending_with(context: Context, known: UrlRecord) -> Context:
    return replace(context, onward=known, read=None)


def _onward(context: Context) -> Url | None:
    """Return where what came points on."""
    if isinstance(context.reply, Moved):
        return context.reply.target
    return None if context.read is None else context.read.onward
