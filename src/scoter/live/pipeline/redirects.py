"""Follows the redirect chain, each hop in a slot of its domain, and parses the final response."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial

from msgspec.structs import replace

from scoter.core.extract import LONGEST
from scoter.core.reply import Fetched, Moved
from scoter.core.url import Url
from scoter.live.pipeline.context import Context, OutcomeSource
from scoter.live.pipeline.lookup import FreshRecords
from scoter.live.pipeline.parser import ResponseParser, as_archived
from scoter.live.pipeline.requests import HopFetcher
from scoter.live.records import Hop, Priority, UrlRecord


class ResolveRedirects:
    """Follows HTTP redirects and pages with an immediate refresh.

    A chain that reaches a URL with a fresh record ends with that record. So a page behind thousands of short links is
    requested once.
    """

    def __init__(
        self,
        asking: HopFetcher,
        reading: ResponseParser,
        fresh: FreshRecords,
        most: int,
        clock: Callable[[], datetime],
        is_elsewhere: Callable[[Url, Priority], bool] | None = None,
    ) -> None:
        """Follow at most ``most`` redirects; stop before a URL for which another process is responsible."""
        self._is_elsewhere = is_elsewhere
        self._asking = asking
        self._reading = reading
        self._fresh = fresh
        self._most = most
        self._clock = clock

    async def __call__(self, context: Context) -> Context:
        url = context.url
        # Check again: another chain through this URL may have been recorded since the lookup.
        found = None if context.entry.force else await self._fresh.get(url.text)
        if found is not None:
            return replace(_ending_with(context, found), source=OutcomeSource.KNOWN)
        while True:
            context = await self._hop(context, url)
            onward = _onward(context)
            trail = context.entry.trail
            been = {hop.url for hop in (*trail, *context.hops)}
            # A longer URL cannot be looked up, and a record would contain it several times.
            if onward is None or onward.text in been or len(onward.text) > LONGEST:
                return context
            known = None if context.entry.force else await self._fresh.get(onward.text)
            if known is not None and any(hop.url in been for hop in known.hops):
                known = None  # the stored chain contains this one: a loop, so fetch it again
            # The limit applies to the whole chain, including the stored part.
            if len(trail) + len(context.hops) + (0 if known is None else len(known.hops) - 1) > self._most:
                return replace(context, is_truncated=True)
            if known is not None:
                return _ending_with(context, known)
            if self._is_elsewhere is not None and self._is_elsewhere(onward, context.entry.priority):
                return replace(context, continues=onward, read=None)
            url = onward

    async def _hop(self, context: Context, url: Url) -> Context:
        asked = await self._asking.ask(context, url)
        arrived = self._clock()
        reply, exchange = asked.reply, asked.reply.exchange
        hop = Hop(
            url.text,
            0 if exchange is None else exchange.status,
            isinstance(reply, Moved) and reply.permanent,
        )
        read = asked.read
        if read is None and isinstance(reply, Fetched):
            priority = partial(self._asking.priority_of, context)
            read = await self._reading(reply.exchange, apart=asked.has_crashed_worker, priority=priority)
        return replace(
            context,
            reply=reply,
            hops=(*context.hops, hop),
            exchanges=context.exchanges if exchange is None else (*context.exchanges, as_archived(exchange, read)),
            arrived=arrived,
            read=read,  # replaces that of a page with a refresh, which is not the URL's content
            withheld=context.withheld if read is None or not read.noarchive else context.withheld | {reply.url.text},
            waited=context.waited + asked.waited,
            remote=context.remote + asked.remote,
        )


def _ending_with(context: Context, known: UrlRecord) -> Context:
    return replace(context, onward=known, read=None)


def _onward(context: Context) -> Url | None:
    """Return the redirect target of the last reply."""
    if isinstance(context.reply, Moved):
        return context.reply.target
    return None if context.read is None else context.read.onward
