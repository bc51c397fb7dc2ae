"""Following redirects, for those who want it: hop by hop, each in its own host's turn."""

from __future__ import annotations

from scoter.compose import Service
from scoter.core.reply import Headers, Moved, Reply, Request
from scoter.core.url import Url

MOST_HOPS = 5
_FOR_ONE_ORIGIN = frozenset({"authorization", "cookie", "proxy-authorization"})


async def follow(service: Service[Request, Reply], request: Request, hops: int = MOST_HOPS) -> tuple[Reply, ...]:
    """Return the replies of a chain, the last one at the end.

    The last is ``Moved`` when the chain is longer than ``hops``, turns back on itself, or leads nowhere.
    """
    replies = [await service(request)]
    seen, headers = {request.url.text}, request.headers
    for _ in range(hops):
        last = replies[-1]
        if not isinstance(last, Moved) or last.target is None or last.target.text in seen:
            break
        seen.add(last.target.text)
        headers = _onward(headers, last.url, last.target)
        # What was known of the first page is not known of its target.
        replies.append(await service(Request(url=last.target, headers=headers)))
    return tuple(replies)


def _onward(headers: Headers, source: Url, target: Url) -> Headers:
    """Return the fields that go on to a target: what opens one site's doors is not shown to another (Fetch 4.4)."""
    if (source.scheme, source.host, source.port) == (target.scheme, target.host, target.port):
        return headers
    return tuple((name, value) for name, value in headers if name.lower() not in _FOR_ONE_ORIGIN)
