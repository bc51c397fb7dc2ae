"""Composing services: a filter may answer without calling the service, a stage only transforms.

A ``Service`` is an async function from a request to a response. A ``Filter`` wraps a service and decides whether, when
and with what to call it; ``guard`` stacks filters, the first outermost. A ``Stage`` turns one value into the next;
``a >> b`` runs one after the other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeAlias, TypeVar

Ask = TypeVar("Ask")
Answer = TypeVar("Answer")
Before = TypeVar("Before")
After = TypeVar("After")
Later = TypeVar("Later")

Service: TypeAlias = Callable[[Ask], Awaitable[Answer]]


class Filter(Protocol[Ask, Answer]):
    """Wraps a service: may answer by itself, wait, change the request, or inspect the response."""

    async def __call__(self, request: Ask, service: Service[Ask, Answer], /) -> Answer: ...


def guard(service: Service[Ask, Answer], *filters: Filter[Ask, Answer]) -> Service[Ask, Answer]:
    """Return the service behind its filters; the first filter sees a request first."""
    for each in reversed(filters):
        service = _behind(each, service)
    return service


def _behind(first: Filter[Ask, Answer], service: Service[Ask, Answer]) -> Service[Ask, Answer]:
    # Not a coroutine: a request passes several filters, each of which would cost one more.
    def ask(request: Ask) -> Awaitable[Answer]:
        return first(request, service)

    return ask


class Stage(Generic[Before, After]):
    """One step of a pipeline: ``Stage(fetch) >> Stage(parse)`` fetches, then parses."""

    def __init__(self, run: Service[Before, After]) -> None:
        self._run = run

    async def __call__(self, value: Before) -> After:
        return await self._run(value)

    def __rshift__(self, then: Service[After, Later]) -> Stage[Before, Later]:
        async def both(value: Before) -> Later:
            return await then(await self._run(value))

        return Stage(both)
