"""Those who wait for a URL to become known, and are told at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

MOST: Final = 10_000


class Arrivals:
    """Who waits for what; ``note`` is told of every URL that was stored."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._count = 0
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self._is_closing = False

    def __len__(self) -> int:
        return self._count

    @property
    def is_full(self) -> bool:
        return self._count >= self._most

    def note(self, urls: Iterable[str]) -> None:
        """Wake those who wait for any of these."""
        if not self._waiting:
            return
        for url in urls:
            for future in self._waiting.pop(url, ()):
                if not future.done():
                    future.set_result(None)

    def close(self) -> None:
        """Wake everybody, and let nobody wait any more: the service ends."""
        self._is_closing = True
        self.note(tuple(self._waiting))

    async def wait(self, url: str, seconds: float) -> bool:
        """Wait until a URL is noted; tell whether it was in time."""
        if self._is_closing:
            return False
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(url, set()).add(future)
        self._count += 1
        try:
            async with asyncio.timeout(seconds):
                await future
        except TimeoutError:
            return False
        finally:
            self._count -= 1
            others = self._waiting.get(url)
            if others is not None:
                others.discard(future)
                if not others:
                    del self._waiting[url]
        return not self._is_closing
