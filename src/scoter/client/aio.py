"""The async client: the methods of ``Client``, several of which may run at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import aclosing
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from scoter.client import calls
from scoter.client.address import DEFAULT_URL, parse_address, request_headers
from scoter.client.calls import ApiAnswer, ApiCall, Steps, documented
from scoter.client.connection import ClientConnection, ConnectionDropped
from scoter.client.errors import ClientError, Unreachable
from scoter.client.events import SILENCE, STREAM_ENDED, EventSubscription
from scoter.client.submissions import BATCH, PATIENCE, SubmissionBatcher, grouped
from scoter.client.sync import LARGEST_ANSWER
from scoter.http.records import Gap
from scoter.live.api.records import Receipt, Submission
from scoter.live.records import Event

P = ParamSpec("P")
T = TypeVar("T")


class AsyncCaller:
    """Makes calls over at most ``connections`` persistent connections; an event stream has its own.

    ``timeout`` is how many seconds the service may stay silent.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        key: str = "",
        timeout: float = 30.0,
        *,
        connections: int = 8,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._address = parse_address(url)
        self._headers = request_headers(key)
        self._timeout = timeout
        self._pause = pause
        self._slots = asyncio.Semaphore(connections)
        self._idle: list[ClientConnection] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._address)!r})"

    async def close(self) -> None:
        """Close the idle connections; the next call opens a new one."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        for connection in idle:
            await connection.closed()

    async def follow(
        self,
        subscription: EventSubscription,
        on_open: Callable[[], None] = lambda: None,
        on_lost: Callable[[ClientError, float], None] = lambda error, pause: None,
    ) -> AsyncGenerator[Any, None]:
        """Yield the events of a subscription without end; reconnect when the connection is lost."""
        while True:
            is_open = False
            try:
                async with aclosing(self._stream(subscription)) as chunks:
                    async for chunk in chunks:
                        found = subscription.feed(chunk)
                        if not is_open:  # the service fixes the start of the stream before it sends the first byte
                            is_open = True
                            on_open()
                        for each in found:
                            yield each
                error: ClientError = Unreachable(str(self._address), STREAM_ENDED)
            except ClientError as raised:
                error = raised
            pause = subscription.lost(error)
            on_lost(error, pause)
            await self._pause(pause)

    async def _stream(self, subscription: EventSubscription) -> AsyncGenerator[bytes, None]:
        connection = await ClientConnection.open(self._address, self._timeout)
        silence = max(self._timeout, SILENCE)
        try:
            await connection.ask("GET", subscription.target, {**self._headers, **subscription.headers}, None, silence)
            kind = connection.received.headers.get("content-type", "")
            if connection.received.status != 200 or not kind.startswith("text/event-stream"):
                raise subscription.refused(await connection.answer(self._timeout, LARGEST_ANSWER))
            subscription.opened()
            async for chunk in connection.chunks(silence):
                yield chunk
        except ConnectionDropped as error:
            raise Unreachable(str(self._address), str(error)) from error
        finally:
            connection.close()

    async def run(self, steps: Steps[T]) -> T:
        """Make the calls of a generator (``scoter.client.calls``), and return its result."""
        try:
            call = next(steps)
            while True:
                if call.after > 0:
                    await self._pause(call.after)
                try:
                    answer = await self._send(call)
                except Unreachable as error:
                    call = steps.throw(error)
                else:
                    call = steps.send(answer)
        except StopIteration as done:
            result: T = done.value
            return result

    async def _send(self, call: ApiCall) -> ApiAnswer:
        async with self._slots:
            while True:
                # On a new connection there is no doubt whether the request arrived.
                is_reused = bool(self._idle) and not call.once
                connection = (
                    self._idle.pop() if is_reused else await ClientConnection.open(self._address, self._timeout)
                )
                try:
                    return await self._exchange(connection, call)
                except ConnectionDropped as error:
                    # The service closes idle connections; every call here is safe to repeat.
                    if not is_reused:
                        raise Unreachable(str(self._address), str(error)) from error

    async def _exchange(self, connection: ClientConnection, call: ApiCall) -> ApiAnswer:
        within = self._timeout + call.within
        try:
            await connection.ask(call.method, call.target, {**self._headers, **call.headers}, call.body, within)
            answer = await connection.answer(within, LARGEST_ANSWER)
            if connection.is_reusable:
                self._idle.append(connection)
            else:
                connection.close()
        except BaseException:  # also if cancelled: the next request must not read the rest of this answer
            connection.close()
            raise
        return answer


def awaited(call: Callable[P, Steps[T]]) -> Callable[Concatenate[AsyncCaller, P], Coroutine[Any, Any, T]]:
    """Return the coroutine method that makes a call and returns its result."""

    async def method(self: AsyncCaller, /, *arguments: P.args, **options: P.kwargs) -> T:
        return await self.run(call(*arguments, **options))

    return documented(method, call)


def awaited_rows(
    call: Callable[P, Iterator[Steps[list[T]]]],
) -> Callable[Concatenate[AsyncCaller, P], AsyncGenerator[T, None]]:
    """Return the method that makes one call after another and yields the rows of their results."""

    async def method(self: AsyncCaller, /, *arguments: P.args, **options: P.kwargs) -> AsyncGenerator[T, None]:
        for steps in call(*arguments, **options):
            for row in await self.run(steps):
                yield row

    return documented(method, call, "Iterator[Steps[list[{}]]]", "AsyncGenerator[{}, None]")


class AsyncClient(AsyncCaller):
    """Talks to a live service over at most ``connections`` persistent connections.

    An event stream has its own connection. ``timeout`` is how many seconds the service may stay silent.
    """

    submit = awaited(calls.submit)
    lookup = awaited(calls.lookup)
    lookup_many = awaited_rows(calls.lookup_many)
    preview = awaited(calls.preview)
    fetch = awaited(calls.fetch)
    stats = awaited(calls.stats)
    domain = awaited(calls.domain)
    set_domain = awaited(calls.set_domain)
    keys = awaited(calls.keys)
    make_key = awaited(calls.make_key)
    revoke_key = awaited(calls.revoke_key)

    async def submit_many(
        self,
        messages: Iterable[Submission | str] | AsyncIterable[Submission | str],
        *,
        batch: int = BATCH,
        patience: float = PATIENCE,
    ) -> AsyncGenerator[Receipt, None]:
        """Submit messages in batches, as fast as the service accepts them; yield their receipts as they are known.

        Messages that arrive one by one are sent without waiting for a full batch. A refused message is retried for
        ``patience`` seconds at most; see ``SubmissionBatcher``.
        """
        batcher = SubmissionBatcher(batch=batch, patience=patience)
        async with aclosing(grouped(messages, batch)) as groups:
            async for group in groups:
                for message in group:
                    batcher.add(message)
                while batcher.has_fresh or batcher.is_full:
                    for receipt in await self.run(batcher.send()):
                        yield receipt
        while len(batcher):
            for receipt in await self.run(batcher.send()):
                yield receipt

    async def events(
        self,
        since: int | None = None,
        *,
        patience: float = float("inf"),
        on_open: Callable[[], None] = lambda: None,
        on_lost: Callable[[ClientError, float], None] = lambda error, pause: None,
    ) -> AsyncGenerator[Event | Gap, None]:
        """Yield events after a number, or new ones, without end; reconnect when the connection is lost.

        See ``Client.events``. Wrap it in ``contextlib.aclosing`` to disconnect at once.
        """
        async for event in self.follow(EventSubscription(since, patience), on_open, on_lost):
            yield event
