"""Kill, stop and cut off processes of a live service on several machines; each accepted URL must get one event.

    python -m tests.long.kill_cluster [--events 40] [--seed N]

Two api processes, three pipelines and three workers, each in a network of its own, share a Kafka broker and a Cassandra
node. While messages arrive at both apis,

1. roles, the broker and the database are killed (SIGKILL), stopped for a while (SIGSTOP, SIGCONT), or roles cut off
   from the network, at seeded random moments;
2. take-overs are timed (see ``tests/long/takeovers.py``): none may take more than ten seconds;
3. every role is restarted, one after the other, as in an upgrade.

At the end each URL of each accepted message has one event, no fetch has two results, and no domain got a request before
its delay was over or two requests at once.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random

from tests.live.fetching.webs import impolite
from tests.live.kafka.conftest import cluster_settings
from tests.live.kafka.running import Cluster, RunningRole
from tests.live.service.running import pages, settings
from tests.long.message_load import AnnouncedUrl, MessageLoad, event_problems
from tests.long.takeovers import TakeOvers
from tests.servers.cluster import CASSANDRA_PORT, KAFKA_PORT, ClusterServer, cassandra, kafka
from tests.servers.networks import Gateway, Network, can_isolate
from tests.servers.running import free_port

from scoter.simweb import WebSpec, running

WEB = WebSpec(hosts=200, pages=2_000, page_bytes=2_000, latency=0.05)
DELAY = 0.2
LEASE = 1.0
SETTINGS = (
    f"fetch.delay={DELAY}s",
    f"kafka.fetch_lease={LEASE}s",
    "live.lease=5s",
    "live.silence=5s",
    "kafka.timeout=5s",
    "cassandra.timeout=3s",
)
ROLES = ("api", "api", "pipeline", "pipeline", "pipeline", "worker", "worker", "worker")
IDLE_WITHIN = 180.0
LOSSES = (("worker", "kill"), ("pipeline", "kill"), ("worker", "cut off"), ("pipeline", "cut off"))


class NetworkedCluster:
    """The roles, each in its own network if this process may create networks."""

    def __init__(self, folder: Path, web: int, live: Cluster, stack: ExitStack) -> None:
        self.live = live
        self._networks: dict[str, Network] = {}
        self._inner: dict[str, int] = {}  # ports of apis in their networks
        self._gateway = Gateway(folder, stack)
        for at, role in enumerate(ROLES):
            if can_isolate():
                self._start_in_network(at, role, [web] if role == "worker" else [CASSANDRA_PORT])
            else:
                live.start(role)

    def _start_in_network(self, at: int, role: str, ports: list[int]) -> None:
        network = Network(f"scoter-{os.getpid()}-{at}", self._gateway)
        for port in (KAFKA_PORT, *ports):
            network.open(port)
        inner = free_port()
        started = self.live.start(role, within=network.command, port=inner if role == "api" else 0)
        self._networks[started.folder.name] = network
        if role == "api":
            self._inner[started.folder.name] = inner
            started.port = free_port()
            network.offer(inner, started.port)

    def network(self, role: RunningRole) -> Network | None:
        return self._networks.get(role.folder.name)

    def restart(self, old: RunningRole) -> None:
        """End a role in order, and start it again where it was."""
        network = self.network(old)
        within = [] if network is None else network.command
        new = self.live.restart(old, within=within, port=self._inner.get(old.folder.name, 0))
        new.port = old.port

    def cut_off(self, role: RunningRole, *, only_from_kafka: bool) -> bool:
        """Cut a role off; return whether that was possible."""
        network = self.network(role)
        if network is None:
            return False
        if only_from_kafka:
            network.cut_from(KAFKA_PORT)
        else:
            network.cut()
        return True

    def heal(self, role: RunningRole) -> None:
        if (network := self.network(role)) is not None:
            network.heal()


def disturb(roles: NetworkedCluster, servers: list[ClusterServer], chance: Random) -> str:
    """Kill, stop or cut off something and return what was done; empty if it is not there."""
    pause = chance.uniform(0.5, 8.0)
    if chance.random() < 0.15:
        return disturb_server(chance.choice(servers), chance, pause)
    role = chance.choice(roles.live.roles)
    how = chance.choice(["kill", "kill", "stop", "cut off", "cut off from Kafka"])
    if how.startswith("cut"):
        if not roles.cut_off(role, only_from_kafka=how.endswith("Kafka")):
            return ""
        time.sleep(pause)
        roles.heal(role)
        return f"{role.role} {how} for {pause:.1f} s"
    pid = role.worker_pid
    if pid is None:
        return ""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL if how == "kill" else signal.SIGSTOP)
        if how == "stop":
            time.sleep(pause)
            os.kill(pid, signal.SIGCONT)
    return f"{role.role} {how}"


def disturb_server(server: ClusterServer, chance: Random, pause: float) -> str:
    """Kill a server and start it again, or stop it for a while."""
    if chance.random() < 2 / 3:
        server.kill()
        time.sleep(chance.uniform(0.0, 2.0))
        server.start()
        return f"{server.name} kill"
    server.send(signal.SIGSTOP)
    time.sleep(pause)
    server.send(signal.SIGCONT)
    return f"{server.name} stop"


def announced(live: Cluster) -> list[AnnouncedUrl]:
    """Return what all events say."""
    return [
        AnnouncedUrl(
            event.message,
            event.url,
            event.record.fetch,
            event.record.resolved,
            event.record.state.value,
            event.record.status,
        )
        for event in live.events()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=40)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--take-over", type=float, default=10.0, help="the most seconds that one may take")
    parser.add_argument("--log", type=Path, help="file for the output of all roles")
    asked = parser.parse_args()
    seed = Random().randrange(10**6) if asked.seed is None else asked.seed
    chance = Random(seed)
    print(f"seed {seed}", flush=True)
    if not can_isolate():
        print("nothing is cut off: network namespaces need root and iproute2", flush=True)
    done: Counter[str] = Counter()
    servers = [kafka(), cassandra()]
    for server in servers:
        server.start()
    prefix = f"kill{seed}x{int(time.time()) % 100_000}"
    problems: list[str] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        log = stack.enter_context((asked.log or Path(os.devnull)).open("w"))
        web = stack.enter_context(running(WEB))
        options = settings(web.port, *cluster_settings(prefix), *SETTINGS)
        with ExitStack() as inner, Cluster(folder, prefix, options, log) as live:
            roles = NetworkedCluster(folder, web.port, live, inner)
            load = MessageLoad(live.of("api"), pages(WEB, 2_000), seed + 1, prefix=f"{prefix}-", together=2, apart=0.2)
            try:
                while done.total() < asked.events:
                    time.sleep(chance.uniform(1.0, 5.0))
                    if what := disturb(roles, servers, chance):
                        done[what.partition(" for ")[0]] += 1
                        print(f"{done.total()}: {what}", flush=True)
                takeovers = TakeOvers(live, web.ledger, LEASE)
                for role, how in LOSSES:
                    if how == "cut off" and not can_isolate():
                        continue
                    seconds = takeovers.measure(roles, role, how, chance)
                    print(f"take-over after {role} {how}: {seconds:.1f} s", flush=True)
                    if seconds > asked.take_over:
                        problems.append(f"the take-over after {role} {how} took {seconds:.1f} s")
                for each in [*live.of("worker"), *live.of("pipeline"), *live.of("api")]:
                    roles.restart(each)
                print("restarted all roles", flush=True)
            finally:
                load.stop()
            print(f"{len(load.accepted):,} messages accepted; refused by status: {dict(load.refused)}", flush=True)
            wanted = {(message, url) for message, urls in load.accepted.items() for url in urls}
            try:
                live.wait_until_announced(wanted, IDLE_WITHIN)
            except AssertionError as error:
                problems.append(str(error))
            problems += event_problems(announced(live), load.accepted)
        problems += impolite(web.ledger.requests(), DELAY)
    for problem in problems[:20]:
        print(f"FAILED: {problem}", file=sys.stderr)
    return 1 if problems or not load.accepted else 0


if __name__ == "__main__":
    sys.exit(main())
