"""CPU time that open viewers of the web interface cost while a crawl runs; the target is 2 %.

    python -m benchmarks.viewers --pages 40000

Crawls a synthetic web twice beside a `scoter ui`: with nobody looking, and with five viewers that make the requests of
the page of a crawl from its first round to its end. The crawl is a process of its own, so the cost of each is known
exactly: what the crawl used, and what the server and its queries used meanwhile. The synthetic web and the viewers do
not count. Opening the page costs about as much as watching it for a minute, and watching costs as much when other
programs slow the crawl down: the crawl must not be too short, and the machine otherwise idle.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from scoter.simweb import WebSpec, running

GOAL = 0.02
NAME = "news"
REFRESH = 10.0  # seconds, as in views/crawl.js
_REPORTS = ("types", "languages", "failing-hosts", "slow-hosts")
_PROGRAM = (sys.executable, "-m", "scoter.cli.main")


class Cost(NamedTuple):
    """CPU seconds of the crawl, and of the server with its queries; how long it took, and what viewers got."""

    crawl: float
    server: float
    seconds: float
    requests: int = 0
    events: int = 0

    @property
    def total(self) -> float:
        return self.crawl + self.server


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=int, default=40_000)
    parser.add_argument("--viewers", type=int, default=5)
    said = parser.parse_args(arguments)
    with running(WebSpec(hosts=50, pages=said.pages)) as web:
        costs = [measured(web.port, web.web.seeds(), viewers) for viewers in (0, said.viewers)]
    for viewers, cost in zip((0, said.viewers), costs, strict=True):
        seen = f"; {cost.requests} requests, {cost.events} events" if viewers else ""
        print(f"{viewers} viewers, {cost.seconds:.0f} s: ", end="")
        print(f"crawl {cost.crawl:.2f} CPU s, server {cost.server:.2f} CPU s{seen}")
    alone, watched = costs
    share = (watched.server - alone.server) / min(alone.crawl, watched.crawl)
    print(f"all processes: {watched.total / alone.total:.3f} of the CPU time without viewers")
    print(f"viewers: {share:.1%} of the CPU time of the crawl (target: at most {GOAL:.0%})")
    if share > GOAL:
        print("MISSED  viewers")
    return share > GOAL


def measured(port: int, seeds: Sequence[str], viewers: int) -> Cost:
    """Run a crawl to its end with so many viewers."""
    with tempfile.TemporaryDirectory() as folder:
        settings = ["agent.name=bench", "fetch.delay=0", f'fetch.connect_to=["*:*=127.0.0.1:{port}"]']
        words = [f"-D{each}" for each in settings]
        server, address = started(Path(folder), words)
        before, began = tree_seconds(server.pid), time.monotonic()
        options = ["--rounds", "6", "--scope", "any", "--quiet", *words]
        crawl = subprocess.Popen([*_PROGRAM, "crawl", NAME, *seeds, *options], cwd=folder, stdout=subprocess.DEVNULL)
        watching = [Viewer(address, crawl) for _ in range(viewers)]
        for each in watching:
            each.start()
        _, status, used = os.wait4(crawl.pid, 0)
        crawl.returncode = os.waitstatus_to_exitcode(status)
        for each in watching:
            each.join()
        spent = tree_seconds(server.pid) - before
        server.send_signal(signal.SIGINT)
        server.wait()
        if crawl.returncode:
            raise SystemExit(f"the crawl failed: {crawl.returncode}")
    return Cost(
        crawl=used.ru_utime + used.ru_stime,
        server=spent,
        seconds=time.monotonic() - began,
        requests=sum(each.requests for each in watching),
        events=sum(each.events for each in watching),
    )


def started(folder: Path, words: Sequence[str]) -> tuple[subprocess.Popen[str], str]:
    """Start the server, and return it with its address."""
    command = [*_PROGRAM, "ui", str(folder), "--port", "0", "--json", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url: str = json.loads(process.stdout.readline())["url"]
    used = -1.0
    while used < (used := tree_seconds(process.pid)):  # it still loads what queries need
        time.sleep(1.0)
    return process, url.removeprefix("http://").rstrip("/")


def tree_seconds(process: int) -> float:
    """Return the CPU seconds of a process and its children, with those of their children that have ended."""
    total = 0.0
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    for each in (str(process), *children):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return total


class Viewer(threading.Thread):
    """Makes the requests of an open page of a crawl until the crawl ends."""

    def __init__(self, address: str, crawl: subprocess.Popen[bytes]) -> None:
        super().__init__(daemon=True)
        self.requests = self.events = 0
        self._address = address
        self._crawl = crawl

    def run(self) -> None:
        while self._get(f"/v1/crawls/{NAME}") != 200:
            time.sleep(0.2)
        self._get(f"/v1/crawls/{NAME}/progress?points=1000")
        for report in _REPORTS:
            threading.Thread(
                target=self._get, args=[f"/v1/crawls/{NAME}/reports/{report}?limit=8"], daemon=True
            ).start()
        threading.Thread(target=self._listen, daemon=True).start()
        while self._is_running():
            self._get(f"/v1/crawls/{NAME}")
            time.sleep(REFRESH)

    def _is_running(self) -> bool:
        with contextlib.suppress(OSError):
            os.kill(self._crawl.pid, 0)
            return self._crawl.returncode is None
        return False

    def _get(self, path: str) -> int:
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection(self._address, timeout=60)
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            self.requests += 1
            return answer.status
        return 0

    def _listen(self) -> None:
        for line in self._lines(f"/v1/crawls/{NAME}/events"):
            self.events += line.startswith(b"event: ")

    def _lines(self, path: str) -> Iterator[bytes]:
        connection = http.client.HTTPConnection(self._address, timeout=60)
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", path)
            yield from connection.getresponse()


if __name__ == "__main__":
    sys.exit(main())
