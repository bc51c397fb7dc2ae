"""What belongs to a page and is fetched with it: the image that stands for it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from scoter.core.metadata import Image
from scoter.core.reply import Exchange, Fetched, Moved, Request
from scoter.core.url import Url, canonical
from scoter.errors import UrlError
from scoter.live.context import Context
from scoter.live.ports import Fetching
from scoter.live.records import Related, State
from scoter.live.stages.concluding import state_of
from scoter.live.stages.reading import Reading


class RelatedImage:
    """Fetches the representative image, for its type and size. It never looks for images of what it fetched."""

    def __init__(self, fetching: Fetching, reading: Reading, most: int) -> None:
        self._fetching = fetching
        self._reading = reading
        self._most = most

    async def __call__(self, context: Context) -> Context:
        about = context.page.about if context.page is not None else None
        if about is None or about.image is None:
            return context
        try:
            url = canonical(about.image.url)
        except UrlError:
            return context
        seen = {hop.url for hop in context.hops}
        if url.text in seen:
            return context
        return await self._fetched(context, about.image, url)

    async def _fetched(self, context: Context, image: Image, url: Url) -> Context:
        exchanges: list[Exchange] = []
        been: set[str] = set()
        target = url
        while True:
            been.add(target.text)
            answer = await self._fetching.fetch(Request(url=target), context.entry.priority)
            reply = answer.reply
            if reply.exchange is not None:
                exchanges.append(reply.exchange)
            context = replace(
                context,
                waited=context.waited + answer.waited,
                remote=context.remote + (0.0 if reply.exchange is None else reply.exchange.timings.total),
            )
            onward = reply.target if isinstance(reply, Moved) else None
            if onward is None or onward.text in been or len(been) > self._most:
                break
            target = onward
        state = state_of(reply)
        size = 0
        if isinstance(reply, Fetched):
            read = await self._reading(reply.exchange)
            size = len(read.content.body)
            if not read.content.media_type.startswith("image/"):
                state = State.FAILED
            else:
                image = _measured(image, read.content.media_type, read.page.metadata if read.page else {})
        return replace(
            context, related=Related(image=image, bytes=size, state=state), related_exchanges=tuple(exchanges)
        )


def _measured(image: Image, media_type: str, found: Mapping[str, str]) -> Image:
    """Return the image with what its own bytes say, which counts more than what the page said."""
    width, height = found.get("image.width", ""), found.get("image.height", "")
    return replace(
        image,
        media_type=media_type,
        width=int(width) if width.isdigit() else image.width,
        height=int(height) if height.isdigit() else image.height,
    )
