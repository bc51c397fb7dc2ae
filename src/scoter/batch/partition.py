"""Which fetch list a URL belongs to: all URLs of a queue stand in one list, so that no two processes ask one server."""

from __future__ import annotations

from functools import lru_cache
from hashlib import md5

from scoter.core.url import Url, queue_key


def list_of(url: Url, mode: str, lists: int) -> int:
    """Return the number of a URL's list.

    Where queues are by address, names would have to be resolved to tell them apart; so there is one list.

    >>> from scoter.core.url import canonical
    >>> list_of(canonical("http://example.org/"), "host", 4) == list_of(canonical("https://example.org/b"), "host", 4)
    True
    """
    if lists == 1 or mode == "ip":
        return 0
    return _bucket(queue_key(url, mode), lists)


@lru_cache(maxsize=16_384)
def _bucket(key: str, lists: int) -> int:
    # The first 32 bits of an MD5, as any engine can reckon them.
    return int(md5(key.encode(), usedforsecurity=False).hexdigest()[:8], 16) % lists
