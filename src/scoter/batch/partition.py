"""Which fetch list a URL belongs to: all URLs of a queue stand in one list, so that no two processes ask one server."""

from __future__ import annotations

import os
from functools import lru_cache
from hashlib import md5

from scoter.config import Config
from scoter.core.url import Url, queue_key


def most_processes(config: Config) -> int:
    """Return how many processes a fetch is dealt out to, if there is enough for them to do."""
    return config.fetch.processes or os.cpu_count() or 1


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
