"""Pages per second that the synthetic web serves, and their CPU cost.

    python benchmarks/bench_simweb.py [--seconds 4] [--pages 100000] [--connections 16]

The server runs in its own process, and this process requests the pages; with two cores each has one. Exits with 1 if
the target is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import cast

import uvloop

from scoter.simweb import SimWeb, WebSpec, WireBehaviour

_SERVER = (
    "import sys; from scoter.simweb import SimWeb, WebSpec, run_forever;"
    "run_forever(SimWeb(WebSpec(pages=int(sys.argv[1]))), ready=lambda s: print(s.port, flush=True))"
)
_DISTINCT = 5000
#: Plain pages per second that one core must serve.
TARGET = 2000


def cpu_seconds(pid: int) -> float:
    """Return the user and system time of a process so far."""
    # The fields after the command's name, which may itself contain spaces (man 5 proc).
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid: int) -> float:
    """Return the resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def requests(pages: int) -> list[bytes]:
    """Return requests for random ordinary pages with a Content-Length."""
    web, chance = SimWeb(WebSpec(pages=pages)), random.Random(1)
    sites = [site for site in web.sites.all() if site.profile.wire is WireBehaviour.LENGTH and not site.shut]
    chosen = ((site, chance.randrange(site.size)) for site in chance.choices(sites, k=_DISTINCT))
    return [f"GET {site.path(n)} HTTP/1.1\r\nHost: {site.name}\r\n\r\n".encode() for site, n in chosen]


class Asker(asyncio.Protocol):
    """Requests one page after another on one connection."""

    def __init__(self, wanted: list[bytes], start: int) -> None:
        self._wanted = wanted
        self._next = start
        self._missing = 0
        self._head = b""
        self.pages = 0
        self.bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._ask()

    def _ask(self) -> None:
        self._next = (self._next + 1) % len(self._wanted)
        self.transport.write(self._wanted[self._next])

    def data_received(self, data: bytes) -> None:
        self.bytes += len(data)
        if not self._missing:
            self._head += data
            head, end, body = self._head.partition(b"\r\n\r\n")
            if not end:
                return
            if not head.startswith(b"HTTP/1.1 200"):
                raise SystemExit(f"unexpected answer: {head[:200]!r}")
            self._head = b""
            self._missing = int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0]) - len(body)
        else:
            self._missing -= len(data)
        if self._missing == 0:
            self.pages += 1
            self._ask()


async def load(port: int, wanted: list[bytes], connections: int, seconds: float) -> tuple[int, int]:
    """Keep connections busy for a while; return pages and bytes."""
    loop = asyncio.get_running_loop()
    askers = []
    for number in range(connections):
        _, asker = await loop.create_connection(partial(Asker, wanted, number * 311), "127.0.0.1", port)
        askers.append(asker)
    await asyncio.sleep(seconds)
    for asker in askers:
        asker.transport.abort()
    return sum(asker.pages for asker in askers), sum(asker.bytes for asker in askers)


def main() -> int:
    """Measure, print, and return whether the target was met."""
    parser = argparse.ArgumentParser(description="Pages per second from the synthetic web.")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--connections", type=int, default=16)
    options = parser.parse_args()
    wanted = requests(options.pages)
    command = [sys.executable, "-c", _SERVER, str(options.pages)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            uvloop.run(load(port, wanted, options.connections, 0.5))  # sentences and maps are generated on first use
            cpu, began = cpu_seconds(server.pid), time.monotonic()
            pages, size = uvloop.run(load(port, wanted, options.connections, options.seconds))
            wall, cpu = time.monotonic() - began, cpu_seconds(server.pid) - cpu
            memory = memory_mib(server.pid)
        finally:
            server.terminate()
    print(f"{pages} pages of {size / max(pages, 1) / 1024:.1f} KiB in {wall:.1f} s: {pages / wall:,.0f} a second")
    print(f"{pages / cpu:,.0f} pages a CPU-second of the server ({1e6 * cpu / max(pages, 1):.0f} µs each)")
    print(f"{memory:.0f} MiB of memory in the server, for a web of {options.pages:,} pages")
    return 0 if pages / cpu >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
