"""Measure the live service on several machines next to the embedded one: CPU time per URL, per lookup, and scaling.

    python -m benchmarks.cluster [--urls 2000]

Both fetch the same pages of a synthetic web as fast as they can. Then the cluster gets a steady load, the same for each
pipeline however many there are: what a URL costs in the pipelines shows how they scale. (With the same load for all of
them together, more pipelines would have smaller batches, which cost more per URL.) The figures are CPU time of Scoter's
own processes, without Kafka and Cassandra, which must be running (``make cluster-up``). Fails if a target is missed.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from tests.live.kafka.running import Cluster, cluster
from tests.live.service.running import Service, family, pages, service

from scoter.live.service.process import cpu_time
from scoter.simweb import WebSpec, running

WEB = WebSpec(hosts=400, pages=8_000, page_bytes=8_000)
PER_MESSAGE = 10
WARM = 300
LOOKUPS = 40
TOGETHER = 250
MOST_RATIO = 2.5
LEAST_SCALING = 0.9
MOST_LOOKUP = 6.0  # milliseconds of CPU time for 250 URLs
PATIENCE = 900.0
IDLE = 10.0  # seconds
TIMES = 3  # the cheapest counts: other programs slow a run down, and none speeds it up
STEADY = 12.0  # seconds
STEADY_RATE = 30.0  # URLs per second and pipeline: two cores carry that for three pipelines


def cpu_of(roots: Sequence[int]) -> float:
    """Return the CPU seconds of processes and their descendants."""
    pids = {pid for root in roots for pid in (root, *family(root))}
    return sum(cpu_time(pid) or 0.0 for pid in pids)


def submit_all(live: Service, urls: Sequence[str], name: str) -> None:
    for start in range(0, len(urls), PER_MESSAGE):
        while live.submit(*urls[start : start + PER_MESSAGE], id=f"{name}-{start}", force=True).status != 202:
            time.sleep(0.2)


def until(is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_done():
        if time.monotonic() > deadline:
            raise SystemExit("it took too long")
        time.sleep(0.5)


def finished(live: Service) -> int:
    return sum(count for name, count in live.get("/v1/stats").json["counts"].items() if name.startswith("urls."))


def embedded(folder: Path, port: int, urls: Sequence[str]) -> float:
    """Return the CPU milliseconds per URL of the embedded service."""
    with service(folder, port) as live:
        submit_all(live, urls[:PER_MESSAGE], "warm")
        until(lambda: finished(live) >= PER_MESSAGE)
        began = cpu_of([live.process.pid])
        submit_all(live, urls, "all")
        until(lambda: finished(live) >= PER_MESSAGE + len(urls))
        return (cpu_of([live.process.pid]) - began) / len(urls) * 1e3


class ClusterFigures(Struct, frozen=True):
    """CPU milliseconds: per URL of all roles and of pipelines, per lookup of 250 URLs, of an idle pipeline a second."""

    spent: float
    by_pipelines: float
    steady: float  # of pipelines, per URL of a steady load
    lookup: float
    idle: float
    rate: float  # URLs per second


def clustered(folder: Path, port: int, urls: Sequence[str], pipelines: int) -> ClusterFigures:
    """Measure a cluster with so many pipelines."""
    prefix = f"bench{secrets.token_hex(3)}"
    roles = ["api", "worker", *["pipeline"] * pipelines]
    with cluster(folder, port, prefix, roles, "cassandra.cached=0") as live:  # every lookup asks Cassandra
        warm = urls[:WARM]  # enough for every pipeline
        submit_all(live.api, warm, f"{prefix}-warm")
        until(lambda: len(live.events()) >= len(warm))
        idle = _idle(live, "pipeline") / pipelines
        all_began, pipelines_began, began_at = _cpu(live), _cpu(live, "pipeline"), time.monotonic()
        submit_all(live.api, urls, f"{prefix}-all")
        until(lambda: len(live.events()) >= len(warm) + len(urls))
        spent = (_cpu(live) - all_began) / len(urls) * 1e3
        by_pipelines = (_cpu(live, "pipeline") - pipelines_began) / len(urls) * 1e3
        rate = len(urls) / (time.monotonic() - began_at)
        turns = [f"{prefix}-steady{turn}" for turn in range(TIMES)]
        steady = min(_steady(live, urls, turn, pipelines * STEADY_RATE) for turn in turns)
        return ClusterFigures(spent, by_pipelines, steady, min(_lookup(live, urls) for _ in turns), idle, rate)


def _lookup(live: Cluster, urls: Sequence[str]) -> float:
    """Return the CPU milliseconds of the api for a lookup of 250 URLs."""
    began = _cpu(live, "api")
    for start in range(LOOKUPS):
        got = live.api.ask(
            "POST", "/v1/urls/lookup", {"urls": urls[(start * TOGETHER) % (len(urls) - TOGETHER) :][:TOGETHER]}
        )
        assert got.status == 200
        assert all(record["state"] in ("ok", "failed", "gone") for record in got.json["results"])
    return (_cpu(live, "api") - began) / LOOKUPS * 1e3


def _steady(live: Cluster, urls: Sequence[str], name: str, rate: float) -> float:
    """Return the CPU milliseconds of pipelines per URL with so many URLs per second."""
    began, before, began_at = _cpu(live, "pipeline"), len(live.events()), time.monotonic()
    count = 0
    while count < STEADY * rate:
        time.sleep(max(0.0, began_at + count / rate - time.monotonic()))
        some = [urls[(count + at) % len(urls)] for at in range(PER_MESSAGE)]
        submit_all(live.api, some, f"{name}-{count}")
        count += len(some)
    until(lambda: len(live.events()) >= before + count)
    return (_cpu(live, "pipeline") - began) / count * 1e3


def _idle(live: Cluster, role: str) -> float:
    """Return the CPU milliseconds per second of a role that has nothing to do."""
    began = _cpu(live, role)
    time.sleep(IDLE)
    return (_cpu(live, role) - began) / IDLE * 1e3


def _cpu(live: Cluster, role: str = "") -> float:
    return cpu_of([each.process.pid for each in live.roles if role in ("", each.role)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--urls", type=int, default=2_000)
    asked = parser.parse_args()
    urls = pages(WEB, asked.urls)
    with tempfile.TemporaryDirectory() as folder, running(WEB) as web:
        alone = embedded(Path(folder) / "embedded", web.port, urls)
        found = {many: clustered(Path(folder) / f"c{many}", web.port, urls, many) for many in (1, 2, 3)}
    ratio = found[1].spent / alone
    scaling = found[1].steady / max(found[2].steady, found[3].steady)
    lookup = max(each.lookup for each in found.values())
    figures = {
        "URLs": len(urls),
        "embedded, ms CPU per URL": round(alone, 2),
        **{f"{many} pipelines, ms CPU per URL": round(each.spent, 2) for many, each in found.items()},
        **{f"{many} pipelines, ms CPU per URL in them": round(each.by_pipelines, 2) for many, each in found.items()},
        **{f"{many} pipelines, the same under a steady load": round(each.steady, 2) for many, each in found.items()},
        **{f"{many} pipelines, URLs per second": round(each.rate) for many, each in found.items()},
        "idle pipeline, ms CPU per second": round(max(each.idle for each in found.values()), 1),
        f"ratio (at most {MOST_RATIO})": round(ratio, 2),
        f"scaling per CPU second with the same load per pipeline (at least {LEAST_SCALING})": round(scaling, 2),
        f"lookup of {TOGETHER} URLs, ms CPU (at most {MOST_LOOKUP})": round(lookup, 2),
    }
    print(json.dumps(figures, indent=2))
    return 0 if ratio <= MOST_RATIO and scaling >= LEAST_SCALING and lookup <= MOST_LOOKUP else 1


if __name__ == "__main__":
    sys.exit(main())
