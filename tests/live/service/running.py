"""A live service, started by its command, on a synthetic web."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import quote, urlsplit

import msgspec

from scoter.live.sqlite.database import DatabaseReader
from scoter.simweb import SimWeb, WebSpec
from scoter.simweb.robots import RobotsKind

CORE = "scoter.live.service.core"
LOOKUPS = "scoter.live.service.lookup_process"
FETCHER = "scoter.live.fetching.process"
T = TypeVar("T")

PATIENCE = 20.0  # seconds until a wait fails: far more than anything takes on an idle machine


class Got(msgspec.Struct, frozen=True):
    """A response."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Service:
    """A running service: its HTTP API and its processes."""

    def __init__(self, process: subprocess.Popen[str], address: str, folder: Path) -> None:
        self.process = process
        self.folder = folder
        self.port = urlsplit(address).port or 0

    def get(self, target: str) -> Got:
        return self.ask("GET", target)

    def ask(self, method: str, target: str, body: object = None, key: str = "") -> Got:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            sent = None if body is None else json.dumps(body)
            headers = {"Content-Type": "application/json", **({"Authorization": key} if key else {})}
            connection.request(method, target, sent, headers)
            answer = connection.getresponse()
            return Got(answer.status, answer.read())
        finally:
            connection.close()

    def submit(self, *urls: str, **more: object) -> Got:
        return self.ask("POST", "/v1/messages", {"urls": urls, **more})

    def record(self, url: str) -> dict[str, Any]:
        """Wait for the record of a URL, even if the service fails meanwhile."""

        def look() -> dict[str, Any] | None:
            got = self.get(f"/v1/urls?url={quote(url, safe='')}&wait=2s")
            return got.json if got.status == 200 else None

        return self.wait_for(look)

    def wait_until_ready(self) -> None:
        """Wait until the service reports that it is ready."""
        self.wait_for(lambda: self.get("/readyz").status == 200)

    def wait_for(self, look: Callable[[], T | None]) -> T:
        """Poll until the result is true, and return it."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with suppress(OSError, HTTPException):
                if found := look():
                    return found
            time.sleep(0.02)
        raise AssertionError("it never happened")

    def pids(self, module: str) -> list[int]:
        """Return the processes that run a module."""
        return [pid for pid in family(self.process.pid) if module in words(pid)]

    def another(self, module: str, than: int) -> int:
        """Wait until a process was replaced by another."""
        return self.wait_for(lambda: [pid for pid in self.pids(module) if pid != than])[0]

    def stop(self, patience: float = PATIENCE) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(patience)


def family(pid: int) -> list[int]:
    """Return all descendants of a process."""
    found = []
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            found += [int(child), *family(int(child))]
    return found


def words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []


def settings(web: int, *more: str) -> list[str]:
    """Return options that resolve every name to a port on loopback."""
    said = [
        "agent.name=serve-test",
        f'fetch.connect_to=["*:*=127.0.0.1:{web}"]',
        'fetch.allow_ports=["1-65535"]',
        "fetch.delay=0",
        "fetch.adaptive_delay=false",
        "store.disk_floor=0",
        *more,
    ]
    return [word for setting in said for word in ("-D", setting)]


@contextmanager
def service(
    folder: Path, web: int, *more: str, log: IO[str] | None = None, options: Sequence[str] = ()
) -> Iterator[Service]:
    """Run a service until the block ends, then stop or kill it; its output goes to ``log``, or to stderr."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SCOTER")}
    command = [sys.executable, "-m", "scoter.cli.main", "serve", "--json", "--dir", str(folder), "--port", "0"]
    with subprocess.Popen(
        [*command, *options, *settings(web, *more)], stdout=subprocess.PIPE, stderr=log, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, "it did not start"
            yield Service(process, json.loads(line)["url"], folder)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(PATIENCE)
                finally:
                    process.kill()


def pages(spec: WebSpec, most: int) -> list[str]:
    """Return URLs of hosts without a robots.txt, spread over as many hosts as possible."""
    web = SimWeb(spec)
    hosts: Sequence[list[str]] = [
        [resource.url for resource in web.resources(site.name)][:20]
        for site in web.sites.all()
        if site.profile.robots is RobotsKind.ABSENT
    ]
    found = [urls[at] for at in range(20) for urls in hosts if at < len(urls)]
    return found[:most]


def announced(live: Service, message: str) -> Counter[str]:
    """Return how often each URL of a message was announced."""
    reader = DatabaseReader(live.folder / "service.sqlite")
    try:
        return Counter(url for (url,) in reader.all("SELECT url FROM events WHERE message = ?", (message,)))
    finally:
        reader.close()
