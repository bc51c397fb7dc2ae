"""Fakes shared by the tests of the fetch core: a clock, replies, a service and a resolver with fixed answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from scoter.core.reply import Exchange, Headers, Reply, Request, reply_to
from scoter.core.url import Url, canonical
from scoter.fetch.network.resolver import Answer, NotResolved, Resolved

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


class FakeResolver:
    """Answers from a table; a sequence gives one answer after the other and repeats the last."""

    def __init__(self, table: Mapping[str, Answer | str | Sequence[Answer | str]], ttl: float = 300.0) -> None:
        self.asked: list[str] = []
        self._table = {
            name: (answers,) if isinstance(answers, str | Resolved | NotResolved) else tuple(answers)
            for name, answers in table.items()
        }
        self._ttl = ttl

    async def resolve(self, host: str) -> Answer:
        """Return the next answer for a name; a name that is not in the table does not exist."""
        looks = self.asked.count(host)
        self.asked.append(host)
        answers = self._table.get(host)
        if not answers:
            return NotResolved("no such name", transient=False)
        answer = answers[min(looks, len(answers) - 1)]
        return Resolved(tuple(answer.split()), self._ttl) if isinstance(answer, str) else answer
