"""Fakes that the tests of the fetch core share: a clock, replies, a service that is told what to answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

from scoter.core.reply import Exchange, Headers, Reply, Request, reply_to
from scoter.core.url import Url, canonical

NOW = datetime(2026, 3, 1, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def request(text: str) -> Request:
    return Request(url=canonical(text))


def exchange(url: Url, status: int = 200, body: bytes = b"", headers: Headers = ()) -> Exchange:
    return Exchange(
        url=url, started=NOW, request_head=b"", response_head=b"", status=status, headers=headers, body=body
    )


def answer(url: Url, status: int = 200, body: bytes = b"", **headers: str) -> Reply:
    fields = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return reply_to(exchange(url, status, body, fields), NOW)


class Web:
    """A service that answers by URL, and remembers what was asked; unknown URLs are 404."""

    def __init__(self, answers: dict[str, Callable[[Url], Reply] | bytes | int]) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self.gate: asyncio.Event | None = None

    async def __call__(self, request: Request) -> Reply:
        self.asked.append(request.url.text)
        if self.gate is not None:
            await self.gate.wait()
        found = self.answers.get(request.url.text, 404)
        if isinstance(found, bytes):
            return answer(request.url, 200, found)
        return answer(request.url, found) if isinstance(found, int) else found(request.url)
