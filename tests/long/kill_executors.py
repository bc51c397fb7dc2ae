"""Fetch on a Spark cluster while its executors are killed, suspended and cut off.

    python -m tests.long.kill_executors [--events 12] [--seed N]

A master and three workers run in network namespaces of their own, each with one link to the driver and one to the web.
Executors get SIGKILL, or SIGSTOP for longer than every timeout and then SIGCONT, or lose the link to the driver while
they can still reach the web. The driver is killed as well, and started again. Every URL must be fetched and recorded
once, the tables must equal those of a fetch on this machine, and the web's request log must show each host's delay
between any two requests. Needs root and Java.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from tests.batch.jobs.test_fetch_job import rows_of, segment_of
from tests.live.fetching.webs import impolite
from tests.long import web
from tests.long.batch_truth import settings
from tests.servers.networks import can_isolate
from tests.servers.running import free_port

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import Segment
from scoter.batch.jobs.fetch import fetch
from scoter.config import load
from scoter.engine.duckdb import DuckDbEngine
from scoter.simweb import SimWeb, WebSpec
from scoter.simweb.robots import RobotsKind

WEB = WebSpec(hosts=18, pages=700, page_bytes=3_000, seed=31, latency=0.02)
DELAY = 0.4
LEASE, GRACE = 4.0, 2.0
SILENCE = 26.0  # mostly longer than every timeout
DRIVER, SERVER = "10.90.0.1", "10.90.0.2"
WORKERS, LISTS = 3, 2  # one executor is spare
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_PYSPARK = find_spec("pyspark")
_CONF = (
    "spark.network.timeout=20s",  # an executor takes seconds to start on a busy machine
    "spark.network.timeoutInterval=5s",
    "spark.executor.heartbeatInterval=2s",
    "spark.task.maxFailures=20",
    f"spark.driver.host={DRIVER}",
    f"spark.driver.bindAddress={DRIVER}",
    f"spark.pyspark.python={sys.executable}",
    "spark.executor.memory=512m",
)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


class WorkerNetwork:
    """The namespace of one Spark worker: ``c`` is its link to the driver, ``w`` the one to the web."""

    def __init__(self, number: int, stack: ExitStack) -> None:
        self.name = f"scoter-executor-{number}"
        self.address = f"10.91.{number}.2"
        self._gateway = f"10.91.{number}.1"
        _ip("netns", "add", self.name)
        stack.callback(subprocess.run, ["ip", "netns", "delete", self.name], check=False)
        self.inside("ip", "link", "set", "lo", "up")
        for link, net, target in (("c", 91, DRIVER), ("w", 92, SERVER)):
            outside = f"sct{link}{number}"
            _ip("link", "add", outside, "type", "veth", "peer", "name", link, "netns", self.name)
            _ip("addr", "add", f"10.{net}.{number}.1/24", "dev", outside)
            _ip("link", "set", outside, "up")
            self.inside("ip", "addr", "add", f"10.{net}.{number}.2/24", "dev", link)
            self.inside("ip", "link", "set", link, "up")
            self.inside("ip", "route", "add", target, "via", f"10.{net}.{number}.1")

    def inside(self, *command: str) -> None:
        subprocess.run(["ip", "netns", "exec", self.name, *command], check=True)

    def cut(self) -> None:
        """Cut the link to the driver."""
        self.inside("ip", "link", "set", "c", "down")

    def join(self) -> None:
        """Restore the link to the driver."""
        self.inside("ip", "link", "set", "c", "up")
        self.inside("ip", "route", "add", DRIVER, "via", self._gateway)

    def executors(self) -> list[int]:
        """Return the processes of executors: the JVM and its Python processes, not the worker that starts them."""
        found = subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True, check=True)
        pids = []
        for pid in map(int, found.stdout.split()):
            with suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes()
                if b"CoarseGrainedExecutorBackend" in words or b"pyspark.daemon" in words:
                    pids.append(pid)
        return pids


@contextmanager
def networks() -> Iterator[list[WorkerNetwork]]:
    """Create the namespaces, and the addresses of the driver and the web."""
    with ExitStack() as stack:
        for address in (DRIVER, SERVER):
            _ip("addr", "add", f"{address}/32", "dev", "lo")
            stack.callback(subprocess.run, ["ip", "addr", "del", f"{address}/32", "dev", "lo"], check=False)
        yield [WorkerNetwork(number, stack) for number in range(WORKERS)]


@contextmanager
def cluster(folder: Path, places: Sequence[WorkerNetwork]) -> Iterator[str]:
    """Run a master, and a worker in each namespace; yield the address of the master."""
    port = free_port()
    address = f"spark://{DRIVER}:{port}"
    deploy = "org.apache.spark.deploy"
    assert _PYSPARK is not None
    assert _PYSPARK.origin is not None
    starter = str(Path(_PYSPARK.origin).parent / "bin" / "spark-class")
    options = "-Dspark.worker.timeout=20 -Dspark.deploy.maxExecutorRetries=-1"
    settings = {**os.environ, "SPARK_MASTER_OPTS": options, "SPARK_DAEMON_MEMORY": "256m", "JAVA_TOOL_OPTIONS": _JAVA}
    with ExitStack() as stack:

        def start(name: str, *command: str) -> None:
            (folder / name).mkdir()
            log = stack.enter_context((folder / name / "log").open("wb"))
            process = subprocess.Popen(command, cwd=folder / name, stdout=log, stderr=log, env=settings)
            stack.callback(process.wait)
            stack.callback(process.terminate)

        own = ("--host", DRIVER, "--port", str(port), "--webui-port", "0")
        start("master", starter, f"{deploy}.master.Master", *own)
        _wait_for(port)
        for number, place in enumerate(places):
            limits = ("--host", place.address, "--webui-port", "0", "--cores", "1", "--memory", "512m")
            into = ("--work-dir", str(folder / f"worker{number}"))
            inside = ("ip", "netns", "exec", place.name)
            start(f"worker{number}", *inside, starter, f"{deploy}.worker.Worker", *limits, *into, address)
        yield address


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with socket.socket() as client:
            if client.connect_ex((DRIVER, port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError("the master does not listen")


@contextmanager
def relay(port: int) -> Iterator[None]:
    """Serve the web at the address that namespaces reach."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            there = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))

    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(connected, SERVER, port))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()


def disturb(places: Sequence[WorkerNetwork], dice: Random) -> str:
    """Kill, suspend or cut off the executor of one worker, and return what was done."""
    time.sleep(1 + dice.random() * 3)
    place = dice.choice([each for each in places if each.executors()] or places)
    pids = place.executors()
    what = dice.choice(["kill", "suspend", "cut"])
    if what == "kill":
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return f"killed {len(pids)} processes of {place.name}"
    seconds = SILENCE * (0.2 + dice.random())
    if what == "cut":
        place.cut()
        time.sleep(seconds)
        place.join()
        return f"cut off {place.name} for {seconds:.1f} s"
    for sent in (signal.SIGSTOP, signal.SIGCONT):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, sent)
        if sent is signal.SIGSTOP:
            time.sleep(seconds)
    return f"suspended {len(pids)} processes of {place.name} for {seconds:.1f} s"


def pages() -> list[str]:
    """Return pages of hosts without a Crawl-delay of their own."""
    found = SimWeb(WEB)
    hosts = [site.name for site in found.sites.all() if site.profile.robots is not RobotsKind.DELAY and not site.shut]
    return [each.url for host in hosts for each in found.resources(host) if "/private" not in each.url]


def comparable(segment: Segment) -> dict[str, Any]:
    """Return the rows of a segment without times and places."""
    fetches = sorted((row["url"], row["status"], row["signature"]) for row in rows_of(segment.crawl_fetch()))
    links = sorted((row["source"], row["url"], row["anchor"]) for row in rows_of(segment.crawl_parse()))
    return {"crawl_fetch": fetches, "crawl_parse": links}


def fetched(crawl: Path, segment: str, port: int, master: str) -> subprocess.Popen[bytes]:
    """Start a fetch on the cluster."""
    own = [
        f'fetch.connect_to=["*:80={SERVER}:{port}"]',
        'fetch.allow_networks=["10.90.0.0/16"]',
        "engine.kind=spark",
        f"engine.spark_master={master}",
        f"engine.spark_conf={json.dumps(_CONF)}",
        "fetch.where=cluster",
        f"fetch.lease={LEASE}s",
        f"fetch.lease_grace={GRACE}s",
        'store.warc_age="2s"',
    ]
    options = [part for each in [*settings(port), *_POLITE, *own] for part in ("-D", each)]
    return subprocess.Popen(
        [sys.executable, "-m", "scoter.cli.main", *options, "fetch", str(crawl), segment, "--parse"]
    )


_POLITE = (f"fetch.delay={DELAY}s", "fetch.min_crawl_delay=0s")


def run(events: int, seed: int, say: Callable[[str], None] = print) -> list[str]:
    """Fetch segments until all events have happened, and return what went wrong."""
    dice, wanted, problems = Random(seed), pages(), []
    with tempfile.TemporaryDirectory() as own, ExitStack() as stack:
        folder = Path(own)
        crawl = CrawlDir.create(folder / "crawl", datetime.now(UTC))
        port = stack.enter_context(web.serving(WEB))
        here = segment_of(crawl, wanted, name="20261101000000")
        config = load(overrides=[*settings(port), "fetch.delay=0s", "fetch.min_crawl_delay=0s"])
        with DuckDbEngine(crawl.scratch, 2**28) as engine:
            fetch(crawl, here, config, engine=lambda: engine, parses=True)
        expected, skipped = comparable(here), sum(1 for _ in web.ledger(port))
        places = stack.enter_context(networks())
        stack.enter_context(relay(port))
        master = stack.enter_context(cluster(folder, places))
        done = 0
        for number in count(1):
            segment = segment_of(crawl, wanted, lists=LISTS, name=f"202611020000{number:02d}")
            process = fetched(crawl.path, segment.name, port, master)
            while process.poll() is None:
                if done < events and any(place.executors() for place in places) and segment.crawl_fetch().finished():
                    done += 1
                    if dice.random() < 0.15:
                        process.kill()
                        process.wait()
                        process = fetched(crawl.path, segment.name, port, master)
                        say(f"  {done}: killed the driver")
                        time.sleep(SILENCE)  # until the new one has executors
                    else:
                        say(f"  {done}: {disturb(places, dice)}")
                else:
                    time.sleep(0.2)
            if process.returncode:
                problems.append(f"the fetch of segment {number} ended with {process.returncode}")
                break
            found = comparable(segment)
            problems += [f"segment {number}: {name} differs" for name, rows in expected.items() if found[name] != rows]
            if done >= events:
                break
        entries = list(web.ledger(port))[skipped:]
        problems += impolite(entries, DELAY, key=str)
        say(f"{number} segments, {done} events, {len(entries):,} requests for {number * len(wanted):,} URLs")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=12)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    if not can_isolate():
        print("skipped: network namespaces cannot be created here, which needs root and iproute2")
        return 0
    print(f"seed {given.seed}")
    problems = run(given.events, given.seed)
    for problem in problems[:20]:
        print(f"FAILED {problem}")
    print("no host was contacted too early, and nothing was lost" if not problems else f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
