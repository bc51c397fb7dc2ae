"""Fetching without a core: ask the fetchers of a folder directly, until one of them holds the URL's domain.

This is for when the rest of the service is down; what goes through the core is fetched with all others. Politeness is
the same: a fetcher asks only what it holds, in its domain's turn.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from scoter.core.reply import Failed, Reason, Reply, Request
from scoter.live.fetching.answers import resting
from scoter.live.fetching.frames import Frames
from scoter.live.fetching.messages import Ask, Done, Message, Refused, Why
from scoter.live.records import Priority

_BUSY_AGAIN: Final = 0.1  # seconds


async def fetch_directly(folder: Path, request: Request, priority: Priority = Priority.NORMAL) -> Reply:
    """Make one hop by whichever fetcher holds the domain; that there is none is a reply, too."""
    # All at once: one that stands still must not keep us from the one that holds the domain.
    asking = [asyncio.ensure_future(_ask_patiently(path, request, priority)) for path in _sockets(folder)]
    try:
        for answered in asyncio.as_completed(asking):
            answer = await answered
            if isinstance(answer, Done):
                reply: Reply = answer.reply
                return reply
            if isinstance(answer, Refused) and answer.why is Why.RESTING:
                return resting(request, answer.rest)
    finally:
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    return Failed(request.url, Reason.STOPPED, "no fetching process holds its domain", blames_host=False)


def _sockets(folder: Path) -> list[Path]:
    return sorted(folder.glob("fetcher-*.sock"))


async def _ask_patiently(path: Path, request: Request, priority: Priority) -> Message | None:
    """Return a fetcher's answer, when its queue has room; none if it is not there, or ends."""
    answer = await _ask(path, request, priority)
    while isinstance(answer, Refused) and answer.why is Why.BUSY:
        await asyncio.sleep(_BUSY_AGAIN)
        answer = await _ask(path, request, priority)
    return answer


async def _ask(path: Path, request: Request, priority: Priority) -> Message | None:
    """Return a fetcher's answer; none if it is not there, or ends."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Message | None] = loop.create_future()

    def settle(message: Message | None = None) -> None:
        if not answer.done():
            answer.set_result(message)

    try:
        _, frames = await loop.create_unix_connection(lambda: Frames(settle, settle), str(path))
    except OSError:
        return None
    try:
        frames.send(Ask(1, request, priority))
        return await answer
    finally:
        frames.close()
