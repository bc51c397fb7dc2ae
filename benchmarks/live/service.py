"""A live service started with `scoter serve`, and the resources of its processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

END_WITHIN = 30.0
_NAMES = {
    "scoter.live.service.core": "core",
    "scoter.live.service.lookup_process": "lookup process",
    "scoter.live.fetching.process": "fetcher",
    "scoter.parse.worker": "parser",
    "scoter.cli.main": "supervisor",
}


class Used(NamedTuple):
    """Resources of a process: CPU seconds, current memory and peak memory in megabytes."""

    name: str
    cpu: float
    memory: float
    most_memory: float


class Service:
    """A running service."""

    def __init__(self, process: subprocess.Popen[str], port: int, folder: Path) -> None:
        self.process = process
        self.port = port
        self.folder = folder

    def statistics(self) -> Any:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", "/v1/stats")
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def backlog(self) -> int:
        """Return the number of accepted URLs that are not done."""
        gauges: dict[str, float] = self.statistics()["gauges"]
        return int(sum(count for name, count in gauges.items() if name.startswith("journal_entries.")))

    def used(self) -> Mapping[int, Used]:
        """Return the resources of each process, by process id."""
        found = {}
        for pid in (self.process.pid, *_family(self.process.pid)):
            with suppress(OSError):
                found[pid] = _used(pid)
        return found


def _family(pid: int) -> list[int]:
    found = []
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            found += [int(child), *_family(int(child))]
    return found


def _used(pid: int) -> Used:
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    name = next((name for module, name in _NAMES.items() if module in words), "other")
    # proc(5): utime and stime are the 14th and 15th field, in ticks; VmRSS and VmHWM are in KiB.
    cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return Used(name, cpu, *(int(status[each].split()[0]) * 1024 / 1e6 for each in ("VmRSS", "VmHWM")))


def spent(before: Mapping[int, Used], after: Mapping[int, Used]) -> dict[str, float]:
    """Return the CPU seconds between two measurements, by kind of process."""
    found: dict[str, float] = {}
    for pid, used in after.items():
        found[used.name] = found.get(used.name, 0.0) + used.cpu - (before[pid].cpu if pid in before else 0.0)
    return found


@contextmanager
def serving(folder: Path, web: int, **settings: object) -> Iterator[Service]:
    """Run a service whose web is one loopback port; ``live__lookups=2`` sets ``live.lookups``."""
    said = {
        "agent.name": "bench",
        "fetch.connect_to": json.dumps([f"*:*=127.0.0.1:{web}"]),
        "fetch.allow_ports": '["1-65535"]',
        "fetch.delay": "0s",
        "fetch.min_crawl_delay": "0s",
        "fetch.adaptive_delay": "false",
        "store.disk_floor": "0",
        **{name.replace("__", "."): value for name, value in settings.items()},
    }
    command = [
        sys.executable,
        "-m",
        "scoter.cli.main",
        "serve",
        "--json",
        "--quiet",
        "--dir",
        str(folder),
        "--port",
        "0",
    ]
    flags = [word for name, value in said.items() for word in ("-D", f"{name}={value}")]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SCOTER")}
    with subprocess.Popen([*command, *flags], stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise SystemExit("the service did not start")
            yield Service(process, urlsplit(json.loads(line)["url"]).port or 0, folder)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(END_WITHIN)
            finally:
                process.kill()
