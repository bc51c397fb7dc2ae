"""A fetcher over a protocol with fixed answers, and a sink that counts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from tests.fetch.fakes import answer

from scoter.config import load
from scoter.core.reply import Failed, Reply, Request
from scoter.core.url import canonical
from scoter.fetch.fetcher import Fetcher
from scoter.fetch.protocols.dispatch import Protocols

Answer = Callable[[Request], Reply]


class Fake:
    """A protocol whose answers cost nothing."""

    schemes: tuple[str, ...] = ("http", "https")

    def __init__(self, reply: Answer | None = None, robots: bytes = b"") -> None:
        self.asked: list[str] = []
        self.active: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.wait = 0.0
        self.hold: asyncio.Event | None = None
        self._reply = reply or (lambda request: answer(request.url, 200, b"page"))
        self._robots = robots

    async def fetch(self, request: Request) -> Reply:
        url = request.url
        self.asked.append(url.text)
        if url.path == "/robots.txt":
            await asyncio.sleep(0)
            return answer(url, 200, self._robots)
        self.active[url.host] += 1
        self.most[url.host] = max(self.most[url.host], self.active[url.host])
        self.most["all"] = max(self.most["all"], sum(self.active.values()))
        try:
            if self.hold is not None:
                await self.hold.wait()
            await asyncio.sleep(self.wait)
            return self._reply(request)
        finally:
            self.active[url.host] -= 1


class Sink:
    """Keeps every outcome."""

    def __init__(self) -> None:
        self.got: list[tuple[str, Reply]] = []

    def __call__(self, request: Request, reply: Reply) -> None:
        self.got.append((request.url.text, reply))

    def reasons(self) -> Counter[str]:
        return Counter(reply.reason.value if isinstance(reply, Failed) else "page" for _, reply in self.got)


async def source(urls: Iterable[str]) -> AsyncIterator[Request]:
    for text in urls:
        yield Request(url=canonical(text))


def fetcher(fake: Fake, *overrides: str, **ports: Any) -> Fetcher:
    config = load(overrides=["agent.name=testbot", "fetch.delay=0", "fetch.threads=10", *overrides])
    return Fetcher(config, protocols=Protocols([("fake", fake)]), **ports)


def urls(hosts: int, pages: int) -> list[str]:
    return [f"http://h{host}.test/{page}" for page in range(pages) for host in range(hosts)]
