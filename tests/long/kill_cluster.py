"""Kill and stop processes of a live service on several machines; every accepted URL must get exactly one event.

    python -m tests.long.kill_cluster [--events 40] [--seed N]

Two api processes, three workers and three fetchers share a Kafka broker and a Cassandra node. Messages arrive
continuously at either api while the roles, the broker and the database are killed (SIGKILL) or stopped for a while
(SIGSTOP, SIGCONT) at seeded random moments. At the end each URL of each accepted message has one event, no fetch has
two results, and no domain got a request before its delay was over or two requests at once.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from random import Random

from tests.live.cluster.running import Cluster, RunningRole, cluster
from tests.live.workers.webs import impolite
from tests.servers.cluster import ClusterServer, cassandra, kafka
from tests.web.service.running import pages

from scoter.simweb import WebSpec, running

WEB = WebSpec(hosts=200, pages=2_000, page_bytes=2_000, latency=0.05)
DELAY = 0.2
SETTINGS = (f"fetch.delay={DELAY}s", "live.lease=5s", "live.silence=5s", "kafka.timeout=5s", "cassandra.timeout=3s")
ROLES = ("api", "api", "worker", "worker", "worker", "fetcher", "fetcher", "fetcher")
IDLE_WITHIN = 180.0


class ClusterLoad:
    """Submits messages continuously to all api processes in turn, and records the accepted ones."""

    def __init__(self, prefix: str, apis: list[RunningRole], urls: list[str], chance: Random) -> None:
        self._prefix = prefix
        self.accepted: dict[str, set[str]] = {}
        self.refused: Counter[int] = Counter()
        self._apis, self._urls, self._chance = apis, urls, chance
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        number = 0
        while not self._stopping.wait(0.1):
            number += 1
            name, api = f"{self._prefix}-{number}", self._apis[number % len(self._apis)]
            # Without a response, a message may have been accepted or not. Only acknowledged ones count.
            with suppress(OSError, HTTPException):
                got = api.submit(*self._chance.sample(self._urls, 2), id=name, force=self._chance.random() < 0.3)
                if got.status == 202:
                    self.accepted[name] = set(got.json["messages"][0]["entries"])
                else:
                    self.refused[got.status] += 1


def disturb(running_cluster: Cluster, servers: list[ClusterServer], chance: Random) -> str:
    """Kill or stop one process and return what was done; empty if there is none."""
    sign = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP])
    pause = chance.uniform(0.5, 8.0)
    if chance.random() < 0.15:
        server = chance.choice(servers)
        if sign is signal.SIGKILL:
            server.kill()
            time.sleep(chance.uniform(0.0, 2.0))
            server.start()
        else:
            server.send(signal.SIGSTOP)
            time.sleep(pause)
            server.send(signal.SIGCONT)
        return f"{server.name} {sign.name}"
    role = chance.choice(running_cluster.roles)
    pid = role.worker_pid
    if pid is None:
        return ""
    with suppress(ProcessLookupError):
        os.kill(pid, sign)
        if sign is signal.SIGSTOP:
            time.sleep(pause)
            os.kill(pid, signal.SIGCONT)
    return f"{role.role} {sign.name}"


def check(running_cluster: Cluster, accepted: dict[str, set[str]]) -> list[str]:
    """Return what is wrong with the events."""
    results: defaultdict[tuple[str, str], set[tuple[str, object]]] = defaultdict(set)
    announced: Counter[tuple[str, str]] = Counter()
    states: Counter[str] = Counter()
    for event in running_cluster.events():
        announced[event.message, event.url] += 1
        record = event.record
        results[record.fetch, record.resolved].add((record.state, record.status))
        states[record.state.value] += 1
    print(f"{announced.total():,} events: {dict(states)}")
    wrong = [
        f"{url} of {message} has {announced[message, url]} events"
        for message, urls in accepted.items()
        for url in urls
        if announced[message, url] != 1
    ]
    return wrong + [f"fetch {fetch} has two results: {all_}" for (fetch, _), all_ in results.items() if len(all_) > 1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=40)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--log", type=Path, help="file for the output of all roles")
    asked = parser.parse_args()
    seed = Random().randrange(10**6) if asked.seed is None else asked.seed
    chance = Random(seed)
    print(f"seed {seed}", flush=True)
    disturbances: Counter[str] = Counter()
    servers = [kafka(), cassandra()]
    for server in servers:
        server.start()
    prefix = f"kill{seed}x{int(time.time()) % 100_000}"
    with tempfile.TemporaryDirectory() as folder, running(WEB) as web, (asked.log or Path(os.devnull)).open("w") as log:
        with cluster(Path(folder), web.port, prefix, ROLES, *SETTINGS, log=log) as live:
            load = ClusterLoad(prefix, live.of("api"), pages(WEB, 2_000), Random(seed + 1))
            try:
                while disturbances.total() < asked.events:
                    time.sleep(chance.uniform(1.0, 5.0))
                    if done := disturb(live, servers, chance):
                        disturbances[done] += 1
                        print(f"{disturbances.total()}: {done}", flush=True)
            finally:
                load.stop()
            print(f"{len(load.accepted):,} messages accepted; refused by status: {dict(load.refused)}", flush=True)
            wanted = {(message, url) for message, urls in load.accepted.items() for url in urls}
            problems = []
            try:
                live.wait_until_announced(wanted, IDLE_WITHIN)
            except AssertionError as error:
                problems.append(str(error))
            problems += check(live, load.accepted)
        problems += impolite(web.ledger.requests(), DELAY)
    for problem in problems[:20]:
        print(f"FAILED: {problem}", file=sys.stderr)
    return 1 if problems or not load.accepted else 0


if __name__ == "__main__":
    sys.exit(main())
