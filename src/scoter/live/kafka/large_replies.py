"""Replies that do not fit into a message of Kafka: they travel through an object store (``kafka.bodies``).

The worker stores the reply and sends its name. The pipeline reads it once and removes it. What a lost pipeline has not
read stays there: let the store remove objects that are older than a day.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from scoter.errors import StoreUnavailable, UsageError, UserError
from scoter.live.clock import utc_now
from scoter.store.objects.client import is_url
from scoter.store.objects.registry import client_of

_LONGEST: Final = 30.0  # seconds for one request to the store, with the retries of its client
T = TypeVar("T")


class LargeReplies:
    """A folder of an object store for replies."""

    def __init__(self, url: str) -> None:
        if not is_url(url):
            raise UsageError("it is not the URL of an object store", where=f"kafka.bodies = {url}")
        self._client, self._folder = client_of(url)

    async def put(self, data: bytes) -> str:
        """Store a reply; return its name. Raise ``StoreUnavailable``."""
        name = f"{utc_now():%Y-%m-%d}/{secrets.token_hex(16)}"
        await _within_time(lambda: self._client.put(self._key(name), data))
        return name

    async def take(self, name: str) -> bytes:
        """Return a stored reply, and remove it. Raise ``StoreUnavailable``."""
        key = self._key(name)
        found = await _within_time(lambda: self._client.get(key))
        if found is None:
            raise StoreUnavailable(f"the object store has no reply {name}")
        with suppress(StoreUnavailable):  # the store removes it when it is old
            await _within_time(lambda: self._client.delete([key]))
        return found.data

    def _key(self, name: str) -> str:
        return f"{self._folder}/{name}" if self._folder else name


async def _within_time(call: Callable[[], T]) -> T:
    try:
        async with asyncio.timeout(_LONGEST):
            return await asyncio.to_thread(call)
    except TimeoutError:
        raise StoreUnavailable("the object store (kafka.bodies) does not answer in time") from None
    except UserError as error:
        raise StoreUnavailable(f"the object store (kafka.bodies): {error.message}") from None


def large_replies(url: str) -> LargeReplies | None:
    """Return the folder for large replies, if one is configured."""
    return LargeReplies(url) if url else None
