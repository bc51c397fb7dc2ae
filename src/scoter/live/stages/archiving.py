"""Keeping what came over the wire, the image's exchanges after the page's."""

from __future__ import annotations

from msgspec.structs import replace

from scoter.live.context import Context
from scoter.live.ports import ContentStore


class Archiving:
    """Hands exchanges to the content store; a page that asks not to be archived is not."""

    def __init__(self, content: ContentStore) -> None:
        self._content = content

    async def __call__(self, context: Context) -> Context:
        exchanges = (*context.exchanges, *context.related_exchanges)
        if not exchanges or (context.page is not None and context.page.noarchive):
            return context
        kept = await self._content.keep(exchanges, message=context.entry.message, fetch=context.fetch)
        related = context.related
        if related is not None and context.related_exchanges:
            related = replace(related, archived=kept[-1])
        return replace(context, archived=tuple(kept[: len(context.exchanges)]), related=related)
