"""A fake service on loopback that sends given bytes, and both kinds of client behind one interface."""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Self

from msgspec import Struct

from scoter.client import AsyncClient, AsyncCrawlClient, Client, CrawlClient


class Asked(Struct, frozen=True):
    """A received request."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Said(Struct, frozen=True):
    """A raw response; ``closes`` closes the connection after it, ``hangs`` keeps it open and silent."""

    raw: bytes
    closes: bool = False
    hangs: bool = False


def said(status: int, body: Any, kind: str = "application/json", **headers: str) -> Said:
    """Return a response with a length."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(raw)}\r\n{more}\r\n"
    return Said(head.encode() + raw)


def problem(status: int, name: str = "overloaded", **fields: Any) -> Said:
    """Return a problem response."""
    body = {"type": f"urn:scoter:problem:{name}", "title": "It is so.", "status": status, **fields}
    later = {"Retry_After": str(round(fields["retry_after"]))} if "retry_after" in fields else {}
    return said(status, body, "application/problem+json", **later)


def stream(*pieces: bytes, ends: bool = False) -> Said:
    """Return an event stream, one chunk per piece; unless ``ends``, the connection breaks after the last."""
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return Said(head + chunks + (b"0\r\n\r\n" if ends else b""), closes=True)


DROP = Said(b"", closes=True)


class FakeService:
    """Answers requests in order from ``replies``; a function among them makes its response from the request."""

    def __init__(self, *replies: Said | Callable[[Asked], Said]) -> None:
        self.replies: deque[Said | Callable[[Asked], Said]] = deque(replies)
        self.asked: list[Asked] = []
        self.connections = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._ended = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._ended.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for each in self._open:
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            while (asked := _read(lines)) is not None:
                self.asked.append(asked)
                reply = self.replies.popleft() if self.replies else DROP
                answer = reply if isinstance(reply, Said) else reply(asked)
                connection.sendall(answer.raw)
                if answer.hangs:
                    self._ended.wait()
                if answer.closes or answer.hangs:
                    return


def _read(lines: Any) -> Asked | None:
    try:
        first = lines.readline().decode().split()
        headers: dict[str, str] = {}
        while line := lines.readline().decode().strip():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = lines.read(int(headers.get("content-length", 0)))
    except (OSError, ValueError):
        return None
    return Asked(first[0], first[1], headers, body) if first else None


class Driven:
    """An async client with the interface of a blocking one, so that one suite tests both."""

    def __init__(self, runner: asyncio.Runner, client: AsyncClient | AsyncCrawlClient) -> None:
        self._runner = runner
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(*arguments: Any, **options: Any) -> Any:
            made = method(*arguments, **options)
            return self._drawn(made) if inspect.isasyncgen(made) else self._runner.run(made)

        return call

    def _drawn(self, made: Any) -> Iterator[Any]:
        try:
            while True:
                try:
                    yield self._runner.run(_next(made))
                except StopAsyncIteration:
                    return
        finally:
            self._runner.run(made.aclose())


async def _next(made: Any) -> Any:
    return await anext(made)


class Clients:
    """Makes clients of one kind; ``pauses`` records the pauses they would have made."""

    def __init__(self, is_async: bool) -> None:
        self.pauses: list[float] = []
        self._is_async = is_async
        self._runner = asyncio.Runner() if is_async else None
        self._made: list[Any] = []

    def __call__(self, service: FakeService | str, **options: Any) -> Client:
        url = service if isinstance(service, str) else service.url
        options.setdefault("timeout", 5.0)
        client: Any
        if self._runner is None:
            client = Client(url, pause=self.pauses.append, **options)
        else:
            client = Driven(self._runner, AsyncClient(url, pause=self._pause, **options))
        self._made.append(client)
        return client  # type: ignore[no-any-return]

    def crawls(self, service: FakeService) -> CrawlClient:
        client: Any
        if self._runner is None:
            client = CrawlClient(service.url, timeout=5.0)
        else:
            client = Driven(self._runner, AsyncCrawlClient(service.url, timeout=5.0))
        self._made.append(client)
        return client  # type: ignore[no-any-return]

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def close(self) -> None:
        for each in self._made:
            each.close()
        if self._runner is not None:
            self._runner.close()


def receipts(asked: Asked) -> Said:
    """Accept all submitted messages, each with one URL."""
    messages = asked.json if isinstance(asked.json, list) else [asked.json]
    return said(202, {"messages": [accepted(each["id"]) for each in messages]})


def accepted(id: str) -> dict[str, Any]:  # noqa: A002
    return {"id": id, "status": "accepted", "entries": {"http://a.example/": 1}}


RECORD: dict[str, Any] = {
    "url": "http://a.example/",
    "resolved": "http://a.example/",
    "state": "ok",
    "fetch": "f1",
    "fetched_at": "2026-05-01T12:00:00Z",
    "expires_at": "2026-05-15T12:00:00Z",
    "status": 200,
}


def event(number: int, message: str = "m", url: str = "http://a.example/") -> bytes:
    """Return an event as the service frames it."""
    told = {"number": number, "message": message, "url": url, "at": "2026-05-01T12:00:00Z", "record": RECORD}
    return b"id: %d\nevent: url\ndata: %b\n\n" % (number, json.dumps(told).encode())
