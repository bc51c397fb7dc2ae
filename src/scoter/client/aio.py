"""The client that awaits: the methods of ``Client``, of which several may be under way at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Self, TypeVar

from scoter.client import calls
from scoter.client.calls import Answer, Call, Steps
from scoter.client.errors import ClientError, Unreachable
from scoter.client.gathering import gathered
from scoter.client.listening import SILENCE, Listening, ended
from scoter.client.loading import BATCH, PATIENCE, Loading
from scoter.client.place import DEFAULT_URL, fields, place
from scoter.client.records import (
    ApiKey,
    BodyForm,
    DomainRule,
    FetchAnswer,
    Gap,
    KeyScope,
    Missing,
    NewKey,
    Receipt,
    Statistics,
    Submission,
    Urgency,
)
from scoter.client.sync import LARGEST_ANSWER
from scoter.client.wire import Dropped, Wire
from scoter.live.records import Event, UrlRecord

T = TypeVar("T")


class AsyncClient:
    """Speaks to a live service over at most ``connections`` connections that are kept open.

    Events come over one of their own. ``timeout`` is how many seconds the service may be silent.
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
        self._place = place(url)
        self._fields = fields(key)
        self._timeout = timeout
        self._pause = pause
        self._turns = asyncio.Semaphore(connections)
        self._idle: list[Wire] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({str(self._place)!r})"

    async def close(self) -> None:
        """Close the connections that are idle; the next call opens a new one."""
        idle, self._idle = self._idle, []
        for wire in idle:
            wire.close()
        for wire in idle:
            await wire.closed()

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
        """Submit a text with links in it, or URLs; return when it is accepted for good."""
        message = calls.submission(text, urls=urls, id=id, priority=priority, force=force, callback=callback)
        return await self._run(calls.submit(message))

    async def submit_many(
        self,
        messages: Iterable[Submission | str] | AsyncIterable[Submission | str],
        *,
        batch: int = BATCH,
        patience: float = PATIENCE,
    ) -> AsyncGenerator[Receipt, None]:
        """Submit messages in batches, as fast as they are taken; yield what became of each, as it is known.

        Messages that come one by one are not held back until a batch is full. One that finds no room is sent again,
        for ``patience`` seconds at most; see ``Loading``.
        """
        loading = Loading(batch=batch, patience=patience)
        async with aclosing(gathered(messages, batch)) as groups:
            async for group in groups:
                for message in group:
                    loading.add(message)
                while loading.has_fresh or loading.is_full:
                    for receipt in await self._run(loading.send()):
                        yield receipt
        while len(loading):
            for receipt in await self._run(loading.send()):
                yield receipt

    async def lookup(self, url: str, wait: float = 0.0) -> UrlRecord | Missing:
        """Return what is known of a URL; wait so many seconds until something is."""
        return await self._run(calls.lookup(url, wait))

    async def lookup_many(self, urls: Iterable[str]) -> AsyncGenerator[UrlRecord | Missing, None]:
        """Yield what is known of URLs, in their order."""
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
        """Have a URL fetched now, in its domain's turn; ``most`` bytes of its body are answered at most."""
        return await self._run(calls.fetch(url, hops, body, most, priority))

    async def stats(self) -> Statistics:
        """Return the service in figures."""
        return await self._run(calls.stats())

    async def domain(self, name: str) -> DomainRule:
        """Return what was set for a domain."""
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
        """Set what shall hold for a domain, in the place of what was set before; what is left out is as configured."""
        rule = DomainRule(domain=name, delay=delay, concurrency=concurrency, blocked=blocked, note=note)
        return await self._run(calls.set_domain(rule))

    async def keys(self) -> list[ApiKey]:
        """Return every API key of the service; this and the next two need one with the scope admin."""
        return await self._run(calls.keys())

    async def make_key(self, name: str, scopes: Iterable[KeyScope], *, rate: float | None = None) -> NewKey:
        """Make an API key; ``rate`` is in requests a second. Its token is told this once."""
        return await self._run(calls.make_key(name, scopes, rate))

    async def revoke_key(self, id: str) -> ApiKey:  # noqa: A002  the API's own name
        """Revoke an API key: from now on it lets nobody in."""
        return await self._run(calls.revoke_key(id))

    async def events(
        self,
        since: int | None = None,
        *,
        patience: float = float("inf"),
        on_open: Callable[[], None] = lambda: None,
        on_lost: Callable[[ClientError, float], None] = lambda error, pause: None,
    ) -> AsyncGenerator[Event | Gap, None]:
        """Yield events after a number, or those to come, without end; a lost connection is opened again.

        As ``Client.events``. Close it (``contextlib.aclosing``) to hang up at once.
        """
        listening = Listening(since, patience)
        while True:
            is_open = False
            try:
                async with aclosing(self._stream(listening)) as chunks:
                    async for chunk in chunks:
                        found = listening.feed(chunk)
                        if not is_open:  # where the stream begins is settled before the first byte comes
                            is_open = True
                            on_open()
                        for each in found:
                            yield each
                error: ClientError = ended(str(self._place))
            except ClientError as raised:
                error = raised
            pause = listening.lost(error)
            on_lost(error, pause)
            await self._pause(pause)

    async def _stream(self, listening: Listening) -> AsyncGenerator[bytes, None]:
        wire = await Wire.open(self._place, self._timeout)
        silence = max(self._timeout, SILENCE)
        try:
            await wire.ask("GET", listening.target, {**self._fields, **listening.headers}, None, silence)
            kind = wire.headers.get("content-type", "")
            if wire.status != 200 or not kind.startswith("text/event-stream"):
                raise listening.refused(await wire.answer(self._timeout, LARGEST_ANSWER))
            listening.opened()
            async for chunk in wire.pieces(silence):
                yield chunk
        except Dropped as error:
            raise Unreachable(str(self._place), str(error)) from error
        finally:
            wire.close()

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

    async def _send(self, call: Call) -> Answer:
        async with self._turns:
            while True:
                # On a new connection nobody needs to guess whether the request arrived.
                is_reused = bool(self._idle) and not call.once
                wire = self._idle.pop() if is_reused else await Wire.open(self._place, self._timeout)
                try:
                    return await self._exchange(wire, call)
                except Dropped as error:
                    # The service closes a connection that was idle for long; every call may be repeated without harm.
                    if not is_reused:
                        raise Unreachable(str(self._place), str(error)) from error

    async def _exchange(self, wire: Wire, call: Call) -> Answer:
        within = self._timeout + call.within
        try:
            await wire.ask(call.method, call.target, self._fields, call.body, within)
            answer = await wire.answer(within, LARGEST_ANSWER)
            if wire.may_go_on:
                self._idle.append(wire)
            else:
                wire.close()
        except BaseException:  # cancelled, too: half an answer must not meet the next request
            wire.close()
            raise
        return answer
