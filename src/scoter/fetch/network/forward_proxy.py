"""A forward proxy on loopback, the browser's only way to the network.

A browser resolves names, connects and follows redirects by itself, and runs whatever a page contains. So it can reach
the network only through this proxy, which uses our resolver and connects only to addresses that the guard allows; DNS
rebinding has no effect. It caches nothing, changes nothing, and keeps no connections.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Collection
from contextlib import suppress
from datetime import timedelta

from scoter.core.domain import is_ip
from scoter.core.url import Url, canonical
from scoter.errors import UrlError
from scoter.fetch.network.allowed_hosts import WEB_PORTS
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.resolver import NotResolved, Resolver

MAX_CONNECTIONS = 256
MAX_BYTES = 64 * 2**20
"""Bytes that one connection may transfer."""

_HEAD = 64 * 1024
_CHUNK = 64 * 1024
_MAX_ADDRESSES = 3
_KEPT_REFUSALS = 100
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "upgrade"})


class ProxyRefusal(Exception):
    """Why the proxy refuses a request; does not leave this module."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


class ForwardProxy:
    """Serves on a loopback port until it is closed."""

    def __init__(
        self,
        guard: Guard,
        resolver: Resolver,
        *,
        timeout: timedelta = timedelta(seconds=10),
        max_bytes: int = MAX_BYTES,
        deny: Collection[str] = (),
    ) -> None:
        self._guard = guard
        self._resolver = resolver
        self._timeout = timeout.total_seconds()
        self._max_bytes = max_bytes
        self._deny = frozenset(deny)
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self.refusals: deque[str] = deque(maxlen=_KEPT_REFUSALS)

    def __repr__(self) -> str:
        return f"ForwardProxy({len(self._open)} connections, {len(self.refusals)} refused lately)"

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        if self._server is None:
            return 0
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def start(self) -> None:
        """Start serving."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_HEAD)

    async def close(self) -> None:
        """Stop serving and end all connections."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in tuple(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio runs the handler in a task
        self._open.add(task)
        try:
            if len(self._open) <= MAX_CONNECTIONS:
                await self._serve(reader, writer)
        except ProxyRefusal as refused:
            self.refusals.append(refused.why)
            await _answer(writer, refused)
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            pass  # one side has disconnected or is too slow, so no response can be sent
        except asyncio.CancelledError:
            pass  # by close(); asyncio would log a handler that was cancelled
        finally:
            self._open.discard(task)
            await _close(writer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(self._timeout):
            head = await reader.readuntil(b"\r\n\r\n")
        line, _, fields = head.decode("latin-1").partition("\r\n")
        words = line.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise ProxyRefusal(400, f"{line[:200]!r} is not a proxy request")
        method, target, _ = words
        if method == "CONNECT":
            url = _read(f"https://{target}/")
            far_reader, far_writer = await self._connect(url)
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        elif target.startswith("http://"):
            url = _read(target)
            kept, length = _end_to_end(fields)
            far_reader, far_writer = await self._connect(url)
            path = "/" + target[7:].partition("/")[2]
            far_writer.write(f"{method} {path} HTTP/1.1\r\n{kept}Connection: close\r\n\r\n".encode("latin-1"))
        else:
            raise ProxyRefusal(400, f"{target[:200]!r} is not a proxy target")
        try:
            up = asyncio.create_task(self._pump(reader, far_writer, None if method == "CONNECT" else length))
            try:
                await self._pump(far_reader, writer, None)
            finally:
                up.cancel()
                await asyncio.gather(up, return_exceptions=True)
        finally:
            await _close(far_writer)

    async def _connect(self, url: Url) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to an address that the guard allows."""
        refusal = self._guard.check_url(url)
        if refusal is not None:
            raise ProxyRefusal(403, f"{url}: {refusal.detail}")
        if url.host in self._deny:
            raise ProxyRefusal(403, f"{url}: a background request of the browser")
        failure = "no address"
        for address, port in await self._addresses(url):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            why = self._guard.open_socket_check(family, (address, port))
            if why:
                raise ProxyRefusal(403, f"{url}: {address} is not public: {why}")
            try:
                async with asyncio.timeout(self._timeout):
                    return await asyncio.open_connection(address, port, family=family, limit=_HEAD)
            except (OSError, TimeoutError) as error:
                failure = str(error) or "no answer"
        raise ProxyRefusal(502, f"{url}: {failure}")

    async def _addresses(self, url: Url) -> list[tuple[str, int]]:
        port = url.port or WEB_PORTS[url.scheme]
        override = self._guard.override(url.host, port)
        if override is not None:
            return [override]
        if is_ip(url.host):
            return [(url.host.strip("[]"), port)]
        answer = await self._resolver.resolve(url.host.removesuffix("."))
        if isinstance(answer, NotResolved):
            raise ProxyRefusal(403 if answer.refused else 502, f"{url}: {answer.reason}")
        return [(address, port) for address in answer.addresses[:_MAX_ADDRESSES]]

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, length: int | None) -> None:
        """Copy bytes until the source ends, at most ``length`` of them."""
        left = self._max_bytes if length is None else min(length, self._max_bytes)
        while left > 0:
            async with asyncio.timeout(6 * self._timeout):
                data = await source.read(min(left, _CHUNK))
            if not data:
                break
            left -= len(data)
            sink.write(data)
            async with asyncio.timeout(6 * self._timeout):
                await sink.drain()


def _read(text: str) -> Url:
    try:
        return canonical(text)
    except UrlError:
        raise ProxyRefusal(400, f"{text[:200]!r} is not a URL") from None


def _end_to_end(fields: str) -> tuple[str, int]:
    """Return the header fields to pass on, without hop-by-hop fields, and the length of the body."""
    kept: list[str] = []
    length = 0
    for line in fields.removesuffix("\r\n\r\n").split("\r\n"):
        name, _, value = line.partition(":")
        match name.strip().lower():
            case "transfer-encoding":
                raise ProxyRefusal(411, "a body without Content-Length is not passed on")
            case "content-length" if value.strip().isdecimal():
                length = int(value)
                kept.append(f"{line}\r\n")
            case known if known and known not in _HOP_BY_HOP:
                kept.append(f"{line}\r\n")
    return "".join(kept), length


async def _answer(writer: asyncio.StreamWriter, refused: ProxyRefusal) -> None:
    why = refused.why.encode("utf-8", "replace")
    head = f"HTTP/1.1 {refused.status} ProxyRefusal\r\nContent-Type: text/plain\r\nContent-Length: {len(why)}\r\n"
    writer.write(head.encode() + b"Connection: close\r\n\r\n" + why)
    with suppress(OSError):
        await writer.drain()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(1):
            await writer.wait_closed()
