"""Keeping what came over the wire, the image's exchanges after the page's."""

from __future__ import annotations

from msgspec.structs import replace

from scoter.live.context import Context
from scoter.live.ports import ContentStore
from scoter.live.records import State


class Archiving:
    """Hands exchanges to the content store; what asks not to be archived is not."""

    def __init__(self, content: ContentStore) -> None:
        self._content = content

    async def __call__(self, context: Context) -> Context:
        exchanges = [
            exchange
            for exchange in (*context.exchanges, *context.related_exchanges)
            if exchange.url.text not in context.withheld
        ]
        if not exchanges:
            return context
        places = await self._content.keep(exchanges, message=context.entry.message, fetch=context.fetch)
        # A URL is asked for once in a chain, so that it names its exchange.
        kept = {exchange.url.text: place for exchange, place in zip(exchanges, places, strict=True)}
        related = context.related
        if related is not None and related.state is State.OK:
            related = replace(related, archived=kept.get(context.related_exchanges[-1].url.text))
        return replace(
            context, archived=tuple(kept.get(exchange.url.text) for exchange in context.exchanges), related=related
        )
