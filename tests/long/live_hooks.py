"""Somebody who is told of outcomes: a server for callbacks that now and then is not there for them."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from random import Random

from scoter.client import ClientError, verify

REFUSES = 0.1  # of all deliveries, which come again


class Hooks:
    """What was delivered: by message and URL, and by delivery; what was wrong with it."""

    def __init__(self, secret: bytes, chance: Random) -> None:
        self._secret = secret
        self._chance = chance
        self.told: Counter[tuple[str, str]] = Counter()
        self.refused = 0
        self.wrong: list[str] = []
        self._deliveries: dict[str, tuple[str, str]] = {}

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = [line.partition(": ") for line in head.decode("latin-1").split("\r\n")[1:]]
                fields = {name.lower(): value for name, _, value in lines}
                body = await reader.readexactly(int(fields.get("content-length", "0")))
                status = "503 Not Now" if self._chance.random() < REFUSES else self._take(fields, body)
                self.refused += status.startswith("503")
                writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())
                await writer.drain()
        writer.close()

    def _take(self, fields: dict[str, str], body: bytes) -> str:
        try:
            event = verify(body, fields.get("scoter-signature", ""), self._secret, datetime.now(UTC))
        except ClientError as error:
            self.wrong.append(f"a callback was not signed as it should be: {error}")
            return "400 Bad"
        what = (event.message, event.url)
        if self._deliveries.setdefault(fields["scoter-delivery"], what) != what:
            self.wrong.append(f"one delivery is of {what} and of something else")
        self.told[what] += 1
        return "204 Thanks"


@asynccontextmanager
async def listening(door: socket.socket, secret: bytes, chance: Random) -> AsyncIterator[Hooks]:
    """Take callbacks at a socket."""
    hooks = Hooks(secret, chance)
    async with await asyncio.start_server(hooks.answer, sock=door):
        yield hooks
