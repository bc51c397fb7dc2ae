"""What belongs to a page and is fetched with it: the image that stands for it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from scoter.core.metadata import Image
from scoter.core.reply import Fetched, Moved, Reply
from scoter.core.url import Url, canonical
from scoter.errors import UrlError
from scoter.live.context import Context
from scoter.live.records import Related, State
from scoter.live.stages.asking import Asking, Postponed
from scoter.live.stages.concluding import state_of
from scoter.live.stages.reading import Reading


class RelatedImage:
    """Fetches the representative image, for its type and size. It never looks for images of what it fetched."""

    def __init__(self, asking: Asking, reading: Reading, most: int) -> None:
        """``most`` redirects are followed."""
        self._asking = asking
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
        if any(hop.url == url.text for hop in context.hops):
            return context
        try:
            context, reply = await self._followed(context, url)
        except Postponed:  # the page itself has come, and does not wait for its image
            return context
        return await self._told(context, about.image, reply)

    async def _followed(self, context: Context, url: Url) -> tuple[Context, Reply]:
        been = {hop.url for hop in context.hops}
        for _ in range(self._most + 1):
            been.add(url.text)
            asked = await self._asking.ask(context, url)
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
        return context, reply

    async def _told(self, context: Context, image: Image, reply: Reply) -> Context:
        state, size = state_of(reply), 0
        withheld = context.withheld
        if any(exchange.url.text in withheld for exchange in context.exchanges[-1:]):
            # A page that is not to be archived has an image that is not.
            withheld |= {exchange.url.text for exchange in context.related_exchanges}
        if isinstance(reply, Fetched):
            read = await self._reading(reply.exchange)
            size = len(read.content.body)
            if read.noarchive:
                withheld |= {reply.url.text}
            if read.content.media_type.startswith("image/"):
                image = _measured(image, read.content.media_type, read.page.metadata if read.page else {})
            else:
                state = State.FAILED
        return replace(context, related=Related(image=image, bytes=size, state=state), withheld=withheld)


def _measured(image: Image, media_type: str, found: Mapping[str, str]) -> Image:
    """Return the image with what its own bytes say, which counts more than what the page said."""
    width, height = found.get("image.width", ""), found.get("image.height", "")
    return replace(
        image,
        media_type=media_type,
        width=int(width) if width.isdigit() else image.width,
        height=int(height) if height.isdigit() else image.height,
    )
