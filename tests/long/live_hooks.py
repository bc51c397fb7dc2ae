"""A webhook receiver that refuses some deliveries."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from random import Random

from scoter.client import ClientError, verify

REFUSED_SHARE = 0.1  # of all deliveries; they are retried


class HookReceiver:
    """Counts deliveries by message and URL, and collects errors."""

    def __init__(self, secret: bytes, chance: Random) -> None:
        self._secret = secret
        self._chance = chance
        self.delivered: Counter[tuple[str, str]] = Counter()
        self.refused = 0
        self.wrong: list[str] = []
        self._deliveries: dict[str, tuple[str, str]] = {}

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = [line.partition(": ") for line in head.decode("latin-1").split("\r\n")[1:]]
                fields = {name.lower(): value for name, _, value in lines}
                body = await reader.readexactly(int(fields.get("content-length", "0")))
                status = "503 Not Now" if self._chance.random() < REFUSED_SHARE else self._take(fields, body)
                self.refused += status.startswith("503")
                writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())
                await writer.drain()
        writer.close()

    def _take(self, fields: dict[str, str], body: bytes) -> str:
        try:
            event = verify(body, fields.get("scoter-signature", ""), self._secret, datetime.now(UTC))
        except ClientError as error:
            self.wrong.append(f"a callback has a wrong signature: {error}")
            return "400 Bad"
        what = (event.message, event.url)
        if self._deliveries.setdefault(fields["scoter-delivery"], what) != what:
            self.wrong.append(f"one delivery id was used for {what} and something else")
        self.delivered[what] += 1
        return "204 Thanks"


@asynccontextmanager
async def receiving(listener: socket.socket, secret: bytes, chance: Random) -> AsyncIterator[HookReceiver]:
    """Receive callbacks on a socket."""
    hooks = HookReceiver(secret, chance)
    async with await asyncio.start_server(hooks.answer, sock=listener):
        yield hooks
