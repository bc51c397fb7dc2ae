"""Fetches the preview image of a page."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from scoter.core.metadata import Image
from scoter.core.reply import Fetched, Moved
from scoter.core.url import Url, canonical
from scoter.errors import UrlError
from scoter.live.pipeline.context import Context
from scoter.live.pipeline.outcome import state_of
from scoter.live.pipeline.parser import ResponseParser, as_archived
from scoter.live.pipeline.requests import HopFetcher, Postponed
from scoter.live.ports import HopReply
from scoter.live.records import ContentSummary, Related, State


class FetchImage:
    """Fetches the preview image, to learn its type and size."""

    def __init__(self, asking: HopFetcher, reading: ResponseParser, most: int) -> None:
        """Follow at most ``most`` redirects."""
        self._asking = asking
        self._reading = reading
        self._most = most

    async def __call__(self, context: Context) -> Context:
        about = context.read.about if context.read is not None else None
        if about is None or about.image is None:
            return context
        try:
            url = canonical(about.image.url)
        except UrlError:
            return context
        if any(hop.url == url.text for hop in context.hops):
            return context
        try:
            context, asked = await self._followed(context, url)
        except Postponed:  # the page was fetched, and does not wait for its image
            return context
        return await self._with_image(context, about.image, asked)

    async def _followed(self, context: Context, url: Url) -> tuple[Context, HopReply]:
        been = {hop.url for hop in context.hops}
        for _ in range(self._most + 1):
            been.add(url.text)
            asked = await self._asking.ask(context, url, retries=0)  # the page waits for it
            reply = asked.reply
            context = replace(
                context,
                related_exchanges=(*context.related_exchanges, *([reply.exchange] if reply.exchange else ())),
                waited=context.waited + asked.waited,
                remote=context.remote + asked.remote,
            )
            onward = reply.target if isinstance(reply, Moved) else None
            if onward is None or onward.text in been:
                break
            url = onward
        return context, asked

    async def _with_image(self, context: Context, image: Image, asked: HopReply) -> Context:
        reply, read = asked.reply, asked.read
        state, size = state_of(reply), 0
        withheld = context.withheld
        if any(exchange.url.text in withheld for exchange in context.exchanges[-1:]):
            # If the page must not be archived, neither must its image.
            withheld |= {exchange.url.text for exchange in context.related_exchanges}
        if isinstance(reply, Fetched):
            if read is None:
                priority = partial(self._asking.priority_of, context)
                read = await self._reading(reply.exchange, apart=asked.has_crashed_worker, priority=priority)
            size = read.size
            if read.noarchive:
                withheld |= {reply.url.text}
            if read.media_type.startswith("image/"):
                image = _measured(image, read)
            else:
                state = State.FAILED
            related = (*context.related_exchanges[:-1], as_archived(reply.exchange, read))
            context = replace(context, related_exchanges=related)
        return replace(context, related=Related(image=image, bytes=size, state=state), withheld=withheld)


def _measured(image: Image, read: ContentSummary) -> Image:
    """Return the image with the type and size of the fetched file, which override those in the page."""
    return replace(
        image,
        media_type=read.media_type,
        width=image.width if read.width is None else read.width,
        height=image.height if read.height is None else read.height,
    )
