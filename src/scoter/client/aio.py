"""The async client: the methods of ``Client``, several of which may run at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Any, Self, TypeVar

from scoter.client import calls
from scoter.client.address import DEFAULT_URL, parse_address, request_headers
from scoter.client.calls import ApiAnswer, ApiCall, Steps
from scoter.client.connection import ClientConnection, ConnectionDropped
from scoter.client.errors import ClientError, Unreachable
from scoter.client.events import SILENCE, STREAM_ENDED, EventSubscription
from scoter.client.submissions import BATCH, PATIENCE, SubmissionBatcher, grouped
from scoter.client.sync import LARGEST_ANSWER
from scoter.http.records import Gap, KeyInfo, KeyScope, NewKey
from scoter.live.api.records import BodyForm, DomainRule, FetchAnswer, Missing, Receipt, Statistics, Submission, Urgency
from scoter.live.records import Event, Preview, UrlRecord

T = TypeVar("T")


class AsyncClient:
    """Talks to a live service over at most ``connections`` persistent connections.

    An event stream has its own connection. ``timeout`` is how many seconds the service may stay silent.
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
        return f"AsyncClient({str(self._address)!r})"

    async def close(self) -> None:
        """Close the idle connections; the next call opens a new one."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        for connection in idle:
            await connection.closed()

    async def submit(
        self,
        text: str = "",
        *,
        urls: Iterable[str] = (),
        id: str = "",  # noqa: A002  the API's own name
        priority: Urgency = "normal",
        force: bool = False,
        callback: str = "",
    ) -> Receipt:
        """Submit text that contains links, or URLs; return when the service has durably accepted it."""
        return await self._run(calls.submit(text, urls, id, priority, force, callback))

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
                    for receipt in await self._run(batcher.send()):
                        yield receipt
        while len(batcher):
            for receipt in await self._run(batcher.send()):
                yield receipt

    async def lookup(self, url: str, wait: float = 0.0) -> UrlRecord | Missing:
        """Return the record of a URL; wait up to ``wait`` seconds for it."""
        return await self._run(calls.lookup(url, wait))

    async def preview(
        self, url: str, wait: float = 10.0, *, priority: Urgency = "person", oembed: bool = False
    ) -> Preview | Missing:
        """Return the record of a URL; submit it if necessary, and wait up to ``wait`` seconds (30 at most) for it.

        With ``oembed``, the page's oEmbed endpoint is asked as well.
        """
        return await self._run(calls.preview(url, wait, priority, oembed))

    async def lookup_many(self, urls: Iterable[str]) -> AsyncGenerator[UrlRecord | Missing, None]:
        """Yield one result per URL, in the order given."""
        for group in calls.chunks(urls):
            for found in await self._run(calls.lookup_some(group)):
                yield found

    async def fetch(
        self,
        url: str,
        *,
        hops: int = 0,
        body: BodyForm = "inline",
        most: int | None = None,
        priority: Urgency = "person",
    ) -> FetchAnswer:
        """Fetch a URL now, within its domain's rate limit; return at most ``most`` bytes of the body."""
        return await self._run(calls.fetch(url, hops, body, most, priority))

    async def stats(self) -> Statistics:
        """Return statistics of the service."""
        return await self._run(calls.stats())

    async def domain(self, name: str) -> DomainRule:
        """Return the rule of a domain."""
        return await self._run(calls.domain(name))

    async def set_domain(
        self,
        name: str,
        *,
        delay: float | None = None,
        concurrency: int | None = None,
        blocked: bool = False,
        note: str = "",
    ) -> DomainRule:
        """Replace the rule of a domain; omitted fields fall back to the configuration."""
        rule = DomainRule(domain=name, delay=delay, concurrency=concurrency, blocked=blocked, note=note)
        return await self._run(calls.set_domain(rule))

    async def keys(self) -> list[KeyInfo]:
        """Return all API keys of the service; this and the next two methods require the scope admin."""
        return await self._run(calls.keys())

    async def make_key(
        self, name: str, scopes: Iterable[KeyScope], *, rate: float | None = None, tenant: str = ""
    ) -> NewKey:
        """Create an API key; ``rate`` is in requests per second. Its token is shown only once."""
        return await self._run(calls.make_key(name, scopes, rate, tenant))

    async def revoke_key(self, id: str) -> KeyInfo:  # noqa: A002  the API's own name
        """Revoke an API key at once."""
        return await self._run(calls.revoke_key(id))

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
        return await self._run(steps)

    async def _run(self, steps: Steps[T]) -> T:
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
