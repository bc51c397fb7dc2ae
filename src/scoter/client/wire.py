"""HTTP/1.1 on asyncio, as far as a client of one service needs it: requests with a length, answers of any kind."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Final, Self

import httptools

from scoter.client.calls import Answer
from scoter.client.errors import Unreachable, not_understood, reason
from scoter.client.place import Place
from scoter.core.display import size

_PIECE: Final = 64 * 1024


class Dropped(Exception):
    """The connection ended before a byte of the answer had come."""


class _Reading:
    """What the parser has told of the answer under way."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.status = 0
        self.headers: dict[str, str] = {}
        self.parts: list[bytes] = []
        self.has_begun = False
        self.has_head = False
        self.is_whole = False
        self.keeps_alive = False

    def on_message_begin(self) -> None:
        self.has_begun = True
        self.headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.status = self.parser.get_status_code()
        self.has_head = self.status >= 200  # RFC 9110 15.2: any number of interim answers may come first

    def on_body(self, body: bytes) -> None:
        self.parts.append(body)

    def on_message_complete(self) -> None:
        self.is_whole = self.has_head
        self.keeps_alive = self.parser.should_keep_alive()  # the parser forgets it with the next call

    @property
    def ends_with_connection(self) -> bool:
        """RFC 9112 6.3: an answer that names no length ends where the connection does."""
        return self.has_head and not {"content-length", "transfer-encoding"} & self.headers.keys()

    def taken(self) -> list[bytes]:
        parts, self.parts = self.parts, []
        return parts


class Wire:
    """One connection. It carries one request at a time; what goes wrong is ``Unreachable``, or ``Dropped`` once."""

    def __init__(self, where: Place, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._where = where
        self._reader = reader
        self._writer = writer
        self._reading = _Reading()

    @classmethod
    async def open(cls, where: Place, within: float) -> Self:
        """Connect."""
        context = ssl.create_default_context() if where.scheme == "https" else None
        try:
            async with asyncio.timeout(within):
                return cls(where, *await asyncio.open_connection(where.host, where.port, ssl=context))
        except TimeoutError:
            raise Unreachable(str(where), "nothing came in time") from None
        except OSError as error:
            raise Unreachable(str(where), reason(error)) from error

    @property
    def may_go_on(self) -> bool:
        """Whether another request may follow."""
        return self._reading.is_whole and self._reading.keeps_alive and not self._reader.at_eof()

    def close(self) -> None:
        """Close at once."""
        self._writer.close()

    async def closed(self) -> None:
        """Wait until nothing is left of it."""
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def ask(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None, within: float
    ) -> None:
        """Send a request, and read the head of its answer."""
        self._reading = _Reading()
        head = [f"{method} {self._where.prefix}{target} HTTP/1.1", f"Host: {self._where.authority}"]
        head += [f"{name}: {value}" for name, value in headers.items()]
        if body is not None:
            head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        try:
            async with asyncio.timeout(within):
                self._writer.write("\r\n".join([*head, "", ""]).encode("ascii") + (body or b""))
                await self._writer.drain()
        except TimeoutError:
            raise Unreachable(str(self._where), "the request was not taken in time") from None
        except OSError as error:
            raise Dropped(reason(error)) from error
        while not self._reading.has_head:
            await self._read(within)

    @property
    def status(self) -> int:
        return self._reading.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._reading.headers

    async def pieces(self, within: float) -> AsyncIterator[bytes]:
        """Yield the body as it comes."""
        while True:
            for part in self._reading.taken():
                yield part
            if self._reading.is_whole:
                return
            await self._read(within)

    async def answer(self, within: float, most: int) -> Answer:
        """Return the whole answer."""
        parts, length = [], 0
        async for part in self.pieces(within):
            parts.append(part)
            length += len(part)
            if length > most:
                raise not_understood(str(self._where), f"more than {size(most)}")
        return Answer(self.status, self.headers, b"".join(parts))

    async def _read(self, within: float) -> None:
        try:
            async with asyncio.timeout(within):
                data = await self._reader.read(_PIECE)
            if data:
                self._reading.parser.feed_data(data)
                return
        except TimeoutError:
            raise Unreachable(str(self._where), "nothing came in time") from None
        except OSError as error:
            if not self._reading.has_begun:
                raise Dropped(reason(error)) from error
            raise Unreachable(str(self._where), reason(error)) from error
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            raise not_understood(str(self._where), "it is not HTTP") from None
        if self._reading.ends_with_connection:
            self._reading.is_whole = True
        elif self._reading.has_begun:
            raise Unreachable(str(self._where), "the connection ended in the middle of an answer")
        else:
            raise Dropped("the connection was closed without an answer")
