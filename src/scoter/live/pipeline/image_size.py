"""Reads the dimensions of a page's preview image from its first bytes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from scoter.core.bounded import BoundedMap
from scoter.core.reply import Exchange, Failed, Fetched, Moved, Reason, Reply, Request, Truncation
from scoter.core.url import Url, canonical
from scoter.errors import UrlError
from scoter.fetch.decode import content_codings
from scoter.live.pipeline.context import Context
from scoter.live.pipeline.outcome import state_of
from scoter.live.pipeline.requests import HopFetcher
from scoter.live.pipeline.shared_fetch import SharedTask
from scoter.live.ports import RequestQueues
from scoter.live.records import Priority, Related, State
from scoter.parse.documents.image_size import image_size

FIRST_BYTES: Final = 32 * 1024
_MOST_REDIRECTS: Final = 2
_MOST_KNOWN: Final = 10_000
_KNOWN_FOR: Final = 24 * 3600.0  # seconds
_TOTAL: Final = re.compile(r"bytes [0-9]+-[0-9]+/([0-9]{1,15})", re.ASCII | re.IGNORECASE)
_PASSING: Final = frozenset({Reason.STOPPED, Reason.BUSY, Reason.DEFERRED, Reason.TIMEOUT, Reason.RESET})


class _MeasuredImage(Struct, frozen=True, gc=False):
    """What is known about the file of an image."""

    state: State
    media_type: str = ""
    width: int | None = None
    height: int | None = None
    size: int = 0
    until: float = 0.0


class MeasureImage:
    """Fills in the dimensions of a preview image if the page does not state them.

    The record waits for the first bytes of the image, but only for a limited time. To keep images from delaying pages,
    no request is made while the image's domain has others, or if its next slot comes too late, or beyond ``rate``
    requests per second. Results are remembered, since many pages of a site show the same image.
    """

    def __init__(
        self,
        asking: HopFetcher,
        fetching: RequestQueues,
        *,
        wait: timedelta,
        rate: int,
        timer: Callable[[], float],
    ) -> None:
        self._asking = asking
        self._fetching = fetching
        self._wait = wait.total_seconds()
        self._rate = rate
        self._timer = timer
        self._tokens = float(rate)
        self._filled = timer()
        self._known: BoundedMap[str, _MeasuredImage] = BoundedMap(_MOST_KNOWN)
        self._under_way: dict[str, SharedTask[_MeasuredImage | None]] = {}

    async def __call__(self, context: Context) -> Context:
        read = context.read
        about = read.about if read is not None else None
        image = about.image if about is not None else None
        if read is None or about is None or image is None or (image.width and image.height):
            return context
        try:
            url = canonical(image.url)
        except UrlError:
            return context
        if any(hop.url == url.text for hop in context.hops):
            return context
        began = self._timer()
        found = await self._measured(url)
        context = replace(context, waited=context.waited + self._timer() - began)
        if found is None:
            return context
        if found.width:
            image = replace(image, width=found.width, height=found.height, media_type=found.media_type)
        return replace(
            context,
            read=replace(read, about=replace(about, image=image)),
            related=Related(image=image, bytes=found.size, state=found.state),
        )

    async def _measured(self, url: Url) -> _MeasuredImage | None:
        known = self._known.get(url.text)
        if known is not None and known.until > self._timer():
            return known
        shared = self._under_way.get(url.text)
        if shared is None or not shared.is_going_on:
            if not self._may_ask(url):
                return None
            shared = self._under_way[url.text] = SharedTask(self._ask(url))
        shared.hold()
        try:
            async with asyncio.timeout(self._wait):
                return await shared.outcome()
        except TimeoutError:
            return None
        finally:
            if await shared.let_go() and self._under_way.get(url.text) is shared:
                del self._under_way[url.text]

    def _may_ask(self, url: Url) -> bool:
        if self._fetching.seconds_to_slot(url) >= self._wait:
            return False
        now = self._timer()
        self._tokens = min(self._tokens + (now - self._filled) * self._rate, float(self._rate))
        self._filled = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    async def _ask(self, url: Url) -> _MeasuredImage | None:
        """Request an image; return ``None`` if another attempt may have another result."""
        reply, been = await self._hop(url), {url.text}
        while isinstance(reply, Moved) and reply.target is not None and len(been) <= _MOST_REDIRECTS:
            if reply.target.text in been:
                break
            been.add(reply.target.text)
            reply = await self._hop(reply.target)
        if isinstance(reply, Failed) and reply.reason in _PASSING:
            return None
        found = _MeasuredImage(state_of(reply))
        if isinstance(reply, Fetched):
            found = _described(reply.exchange)
        found = replace(found, until=self._timer() + _KNOWN_FOR)
        self._known.put(url.text, found)
        return found

    async def _hop(self, url: Url) -> Reply:
        # Not shared with redirect chains, which need whole bodies.
        request = Request(url=url, first_bytes=FIRST_BYTES)
        return self._asking.refused(url) or (await self._fetching.fetch(request, Priority.BULK)).reply


def _described(exchange: Exchange) -> _MeasuredImage:
    """Return what a response tells about the image."""
    sized = None if content_codings(exchange.headers) else image_size(exchange.body)
    declared = exchange.header("Content-Type").partition(";")[0].strip().lower()
    if sized is not None:
        return _MeasuredImage(State.OK, *sized, _whole_size(exchange))
    is_image = declared.startswith("image/")
    return (
        _MeasuredImage(State.OK, declared, None, None, _whole_size(exchange))
        if is_image
        else _MeasuredImage(State.FAILED)
    )


def _whole_size(exchange: Exchange) -> int:
    """Return the number of bytes of the whole file; 0 if unknown."""
    if exchange.truncation is Truncation.NOT:
        return len(exchange.body)
    total = _TOTAL.fullmatch(exchange.header("Content-Range"))
    if total is not None:
        return int(total[1])
    length = exchange.header("Content-Length")
    return int(length) if exchange.status == 200 and length.isascii() and length.isdigit() and len(length) < 16 else 0
