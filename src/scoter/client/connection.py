"""A small HTTP/1.1 client on asyncio: requests with a length, responses of any kind."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Final, Self

import httptools

from scoter.client.address import ServiceAddress
from scoter.client.calls import ApiAnswer
from scoter.client.errors import Unreachable, failure_reason, not_understood
from scoter.core.display import size

_CHUNK: Final = 64 * 1024


class ConnectionDropped(Exception):
    """The connection ended before the first byte of the answer."""


class _AnswerParser:
    """The answer being received."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.status = 0
        self.headers: dict[str, str] = {}
        self.parts: list[bytes] = []
        self.has_started = False
        self.has_head = False
        self.is_complete = False
        self.keeps_alive = False

    def on_message_begin(self) -> None:
        self.has_started = True
        self.headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.status = self.parser.get_status_code()
        self.has_head = self.status >= 200  # RFC 9110 15.2: interim responses may come first

    def on_body(self, body: bytes) -> None:
        self.parts.append(body)

    def on_message_complete(self) -> None:
        self.is_complete = self.has_head
        self.keeps_alive = self.parser.should_keep_alive()  # the parser forgets it on the next call

    @property
    def ends_with_connection(self) -> bool:
        """RFC 9112 6.3: an answer without a length ends with the connection."""
        return self.has_head and not {"content-length", "transfer-encoding"} & self.headers.keys()

    def take(self) -> list[bytes]:
        parts, self.parts = self.parts, []
        return parts


class ClientConnection:
    """A connection that carries one request at a time; raises ``Unreachable`` or ``ConnectionDropped``."""

    def __init__(self, where: ServiceAddress, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._where = where
        self._reader = reader
        self._writer = writer
        self.received = _AnswerParser()

    @classmethod
    async def open(cls, where: ServiceAddress, within: float) -> Self:
        context = ssl.create_default_context() if where.scheme == "https" else None
        try:
            async with asyncio.timeout(within):
                return cls(where, *await asyncio.open_connection(where.host, where.port, ssl=context))
        except TimeoutError:
            raise Unreachable(str(where), "timed out") from None
        except OSError as error:
            raise Unreachable(str(where), failure_reason(error)) from error

    @property
    def is_reusable(self) -> bool:
        """Whether the connection can carry another request."""
        return self.received.is_complete and self.received.keeps_alive and not self._reader.at_eof()

    def close(self) -> None:
        self._writer.close()

    async def closed(self) -> None:
        """Wait until it is closed."""
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def ask(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None, within: float
    ) -> None:
        """Send a request and read the head of the answer."""
        self.received = _AnswerParser()
        head = [f"{method} {self._where.prefix}{target} HTTP/1.1", f"Host: {self._where.authority}"]
        head += [f"{name}: {value}" for name, value in headers.items()]
        if body is not None:
            head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        try:
            async with asyncio.timeout(within):
                self._writer.write("\r\n".join([*head, "", ""]).encode("ascii") + (body or b""))
                await self._writer.drain()
        except TimeoutError:
            raise Unreachable(str(self._where), "the request could not be sent in time") from None
        except OSError as error:
            raise ConnectionDropped(failure_reason(error)) from error
        while not self.received.has_head:
            await self._read(within)

    async def chunks(self, within: float) -> AsyncIterator[bytes]:
        """Yield the body as it arrives."""
        while True:
            for part in self.received.take():
                yield part
            if self.received.is_complete:
                return
            await self._read(within)

    async def answer(self, within: float, most: int) -> ApiAnswer:
        """Return the whole answer."""
        parts, length = [], 0
        async for part in self.chunks(within):
            parts.append(part)
            length += len(part)
            if length > most:
                raise not_understood(str(self._where), f"more than {size(most)}")
        return ApiAnswer(self.received.status, self.received.headers, b"".join(parts))

    async def _read(self, within: float) -> None:
        try:
            async with asyncio.timeout(within):
                data = await self._reader.read(_CHUNK)
            if data:
                self.received.parser.feed_data(data)
                return
        except TimeoutError:
            raise Unreachable(str(self._where), "timed out") from None
        except OSError as error:
            if not self.received.has_started:
                raise ConnectionDropped(failure_reason(error)) from error
            raise Unreachable(str(self._where), failure_reason(error)) from error
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            raise not_understood(str(self._where), "it is not HTTP") from None
        if self.received.ends_with_connection:
            self.received.is_complete = True
        elif self.received.has_started:
            raise Unreachable(str(self._where), "the connection ended in the middle of the answer")
        else:
            raise ConnectionDropped("the connection was closed without an answer")
