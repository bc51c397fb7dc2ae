"""Following redirects, for those who want it: hop by hop, each in its own host's turn."""

from __future__ import annotations

from scoter.compose import Service
from scoter.core.reply import Moved, Reply, Request

MOST_HOPS = 5


async def follow(service: Service[Request, Reply], request: Request, hops: int = MOST_HOPS) -> tuple[Reply, ...]:
    """Return the replies of a chain, the last one at the end.

    The last is ``Moved`` when the chain is longer than ``hops``, turns back on itself, or leads nowhere.
    """
    replies = [await service(request)]
    seen = {request.url.text}
    for _ in range(hops):
        last = replies[-1]
        if not isinstance(last, Moved) or last.target is None or last.target.text in seen:
            break
        seen.add(last.target.text)
        # What was known of the first page is not known of its target.
        replies.append(await service(Request(url=last.target, headers=request.headers)))
    return tuple(replies)
