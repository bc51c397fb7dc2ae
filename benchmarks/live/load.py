"""Submit messages at a steady rate from a separate process: ``python -m benchmarks.live.load PORT RATE SECONDS OUT``.

Each message is a text with one link; its id is its number. Messages are due at fixed times, even if the service does
not keep up, and latency counts from the due time. The results are written to OUT as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path

import msgspec
import uvloop

from benchmarks.live.site import url_of

CONNECTIONS = 64
_TICK = 0.004


class Load(msgspec.Struct):
    """The messages of a run: first number, due times (seconds since 1970), and how long acceptance took."""

    first: int
    due: list[float] = []
    seconds: list[float] = []
    statuses: dict[str, int] = {}
    wall: float = 0.0
    cpu: float = 0.0


async def _post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes) -> str:
    head = (
        b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    )
    writer.write(head % len(body) + body)
    answer = (await reader.readuntil(b"\r\n\r\n")).lower()
    await reader.readexactly(int(answer.split(b"content-length: ")[1].split(b"\r\n")[0]))
    return answer[9:12].decode()


async def submit(port: int, rate: float, seconds: float, first: int, domains: int) -> Load:
    """Submit ``rate`` messages per second."""
    load = Load(first)
    count = int(rate * seconds)
    load.seconds = [0.0] * count
    free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(await asyncio.open_connection("127.0.0.1", port))
    began, since = time.perf_counter(), time.time()
    load.due = [since + number / rate for number in range(count)]

    async def one(number: int) -> None:
        text = f"have a look at {url_of(first + number, domains)} (it is good)"
        body = msgspec.json.encode({"id": str(first + number), "text": text})
        connection = await free.get()
        status = await _post(*connection, body)
        free.put_nowait(connection)
        load.seconds[number] = time.perf_counter() - began - number / rate
        load.statuses[status] = load.statuses.get(status, 0) + 1

    async with asyncio.TaskGroup() as group:
        sent = 0
        while sent < count:
            while sent < count and sent / rate <= time.perf_counter() - began:
                group.create_task(one(sent))
                sent += 1
            await asyncio.sleep(_TICK)
    load.wall, load.cpu = time.perf_counter() - began, time.process_time()
    return load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("rate", type=float)
    parser.add_argument("seconds", type=float)
    parser.add_argument("out", type=Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--domains", type=int, default=5_000)
    asked = parser.parse_args()
    load = uvloop.run(submit(asked.port, asked.rate, asked.seconds, asked.first, asked.domains))
    asked.out.write_bytes(msgspec.json.encode(load))


if __name__ == "__main__":
    main()
