"""The roles of a cluster, started by their command, on a synthetic web."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from tests.live.kafka.conftest import cluster_settings
from tests.live.service.running import PATIENCE, Service, settings

from scoter.config import load
from scoter.errors import StoreUnavailable
from scoter.live.kafka.kafka import TopicNames
from scoter.live.kafka.messages import event_values
from scoter.live.kafka.topic_reader import read_partition
from scoter.live.records import Event

ROLE_MODULES = {role: f"scoter.live.service.roles.{role}" for role in ("api", "pipeline", "worker")}


_STOP_WITHIN = 120.0  # a role gives requests in progress and its last transactions half a minute each


class RunningRole(Service):
    """A running role: its command, and for an api its HTTP API."""

    def __init__(self, role: str, process: subprocess.Popen[str], address: str, folder: Path) -> None:
        super().__init__(process, address, folder)
        self.role = role

    @property
    def worker_pid(self) -> int | None:
        """The process that does the work, below the supervisor."""
        return next(iter(self.pids(ROLE_MODULES[self.role])), None)


@contextmanager
def started(
    role: str,
    folder: Path,
    options: Sequence[str],
    log: IO[str] | None = None,
    *,
    within: Sequence[str] = (),
    port: int = 0,
) -> Iterator[RunningRole]:
    """Run a role until the block ends; ``within`` is a command that starts it, in another network for example."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SCOTER")}
    run = [*within, sys.executable, "-m", "scoter.cli.main"]
    command = [*run, "serve", "--json", "--role", role, "--dir", str(folder), "--port", str(port)]
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=log, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, f"the {role} did not start"
            address = json.loads(line)["url"] or "http://127.0.0.1:1/"
            yield RunningRole(role, process, address, folder)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(60)
                finally:
                    process.kill()


class Cluster:
    """Several roles that share their servers."""

    def __init__(self, folder: Path, prefix: str, options: Sequence[str], log: IO[str] | None = None) -> None:
        self.prefix = prefix
        self.roles: list[RunningRole] = []
        self._folder = folder
        self._options = options
        self._log = log
        self._stack = ExitStack()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.close()

    def start(self, role: str, *, within: Sequence[str] = (), port: int = 0) -> RunningRole:
        """Start one more process of a role."""
        running = self._run(role, self._folder / f"{role}-{len(self.roles)}", within, port)
        self.roles.append(running)
        return running

    def restart(self, old: RunningRole, *, within: Sequence[str] = (), port: int = 0) -> RunningRole:
        """End a role in order and start it again, with the same directory."""
        assert old.stop(_STOP_WITHIN) == 0
        new = self._run(old.role, old.folder, within, port)
        self.roles[self.roles.index(old)] = new
        return new

    def _run(self, role: str, folder: Path, within: Sequence[str], port: int) -> RunningRole:
        return self._stack.enter_context(started(role, folder, self._options, self._log, within=within, port=port))

    def of(self, role: str) -> list[RunningRole]:
        return [each for each in self.roles if each.role == role]

    @property
    def api(self) -> RunningRole:
        return self.of("api")[0]

    def events(self) -> list[Event]:
        """Return all events, as every reader sees them."""
        kafka = load(overrides=cluster_settings(self.prefix)).kafka
        found = read_partition(kafka, TopicNames(self.prefix).events, 0, 0, 10_000_000)
        return [event_values.decode(message.value) for message in found]

    def announced(self) -> Counter[tuple[str, str]]:
        return Counter((event.message, event.url) for event in self.events())

    def wait_until_announced(self, wanted: set[tuple[str, str]], within: float = PATIENCE) -> None:
        """Wait until every URL of these messages has an event."""
        until = time.monotonic() + within
        while missing := wanted - self._announced_now():
            assert time.monotonic() < until, f"{len(missing)} URLs have no event: {sorted(missing)[:5]}"
            time.sleep(0.2)

    def _announced_now(self) -> set[tuple[str, str]]:
        try:
            return set(self.announced())
        except StoreUnavailable:
            return set()


@contextmanager
def cluster(
    folder: Path, web: int, prefix: str, roles: Sequence[str], *more: str, log: IO[str] | None = None
) -> Iterator[Cluster]:
    """Run roles on a synthetic web."""
    said = settings(web, *cluster_settings(prefix), "kafka.fetch_lease=1s", *more)
    with Cluster(folder, prefix, said, log) as running:
        for role in roles:
            running.start(role)
        yield running


def stream_of(api: RunningRole, after: int | None, count: int) -> list[dict[str, Any]]:
    """Read some events from the stream of an api process."""
    connection = HTTPConnection("127.0.0.1", urlsplit(f"http://127.0.0.1:{api.port}").port, timeout=PATIENCE)
    found: list[dict[str, Any]] = []
    try:
        connection.request("GET", "/v1/events" + ("" if after is None else f"?after={after}"))
        answer = connection.getresponse()
        while len(found) < count:
            line = answer.readline()
            if line.startswith(b"data: "):
                found.append(json.loads(line[6:]))
    finally:
        with suppress(OSError):
            connection.close()
    return found
