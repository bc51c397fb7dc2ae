"""Messages at a steady rate: latency until the record is stored, its parts, and CPU cost.

Times are exact: the load records when each message was due, the journal when it was accepted, and the service's log has
the stages of each outcome. *Own* is all time except that of the remote server. There is no delay between requests, no
domain gets two requests within seconds, and robots.txt is cached in a first round, so time spent in a domain's queue
counts as the service's own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow.parquet as pq

from benchmarks.live.load import Load
from benchmarks.live.service import Service, serving, spent
from benchmarks.live.target import Target, at_most, share
from scoter.live.sqlite.database import DatabaseReader

RATE = 300
DOMAINS = 5_000
MEDIAN, P99 = 150.0, 1_000.0  # milliseconds
_LOOK_EVERY = 1.0
_REST_WITHIN = 120.0
_GROWTH = 1.5


class Run(NamedTuple):
    """The result of a run."""

    load: Load
    backlog: list[int]
    drained: float
    cpu: dict[str, float]


class Loading:
    """Messages that another process submits."""

    def __init__(self, port: int, rate: float, seconds: float, first: int, domains: int = DOMAINS) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._out = Path(self._folder.name) / "load"
        words = [str(port), str(rate), str(seconds), str(self._out), "--first", str(first), "--domains", str(domains)]
        self._process = subprocess.Popen([sys.executable, "-m", "benchmarks.live.load", *words])

    @property
    def is_over(self) -> bool:
        return self._process.poll() is not None

    def wait(self) -> Load:
        """Wait until the load ends, and return what was sent."""
        with self._folder:
            if self._process.wait(timeout=900):
                raise SystemExit("the load failed")
            return msgspec.json.decode(self._out.read_bytes(), type=Load)


def at_rest(service: Service, within: float = _REST_WITHIN) -> bool:
    """Wait until everything accepted is done."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        if service.backlog() == 0:
            return True
        time.sleep(0.1)
    return False


def run(service: Service, seconds: float) -> Run:
    Loading(service.port, RATE, DOMAINS / RATE, 0).wait()  # one per domain
    at_rest(service)
    before = service.used()
    loading = Loading(service.port, RATE, seconds, DOMAINS)
    backlog: list[int] = []
    while not loading.is_over and len(backlog) < seconds - 1:
        time.sleep(_LOOK_EVERY)
        backlog.append(service.backlog())
    load = loading.wait()
    began = time.monotonic()
    at_rest(service)
    return Run(load, backlog, time.monotonic() - began, spent(before, service.used()))


def rows(log: Path) -> Iterator[dict[str, Any]]:
    """Yield what the log says of each outcome, once."""
    seen: set[int] = set()
    for file in sorted(log.rglob("*.parquet*")):
        columns = ["number", "message_id", "state", "stages", "waited_ms", "remote_ms", "total_ms"]
        for row in pq.read_table(file, columns=columns).to_pylist():
            if row["number"] not in seen:
                seen.add(row["number"])
                yield row


def steps(folder: Path, load: Load) -> tuple[dict[str, list[float]], Counter[str]]:
    """Return milliseconds of each step of each message, and the states that URLs ended in."""
    database = DatabaseReader(folder / "service.sqlite")
    received = {name: at / 1e6 for name, at in database.all("SELECT id, accepted FROM messages")}
    database.close()
    found: defaultdict[str, list[float]] = defaultdict(list)
    states: Counter[str] = Counter()
    for row in rows(folder / "log"):
        number = int(row["message_id"]) - load.first
        if number < 0:
            continue
        states[row["state"]] += 1
        if row["total_ms"] is None:
            continue
        stages = dict(row["stages"])
        way_in = 1000 * (received[row["message_id"]] - load.due[number])
        found["way in"].append(way_in)
        found["accepting, journal"].append(row["total_ms"] - sum(stages.values()))
        found["known"].append(stages.get("known", 0.0))
        found["resolve: its domain's queue"].append(row["waited_ms"])
        found["resolve: the rest of ours"].append(stages.get("resolve", 0.0) - row["waited_ms"] - row["remote_ms"])
        for stage in ("related", "archive", "conclude", "record"):
            if stage in stages:
                found[stage].append(stages[stage])
        found["own, in all"].append(way_in + row["total_ms"] - row["remote_ms"])
        found["the remote server"].append(row["remote_ms"])
    return found, states


def show(done: Run, found: dict[str, list[float]], states: Counter[str]) -> None:
    count = len(done.load.due)
    print(f"  {'ms of a message, by the log':<34}{'mean':>9}{'median':>9}{'p99':>9}{'most':>9}")
    accepted = sorted(1000 * seconds for seconds in done.load.seconds)
    for name, values in [*found.items(), ("answered 202 (as the client sees it)", accepted)]:
        values.sort()
        mean, most = sum(values) / len(values), values[-1]
        print(f"  {name:<34}{mean:>9.1f}{share(values, 0.5):>9.1f}{share(values, 0.99):>9.1f}{most:>9.0f}")
    cpu = ", ".join(f"{name} {1000 * seconds / count:.2f}" for name, seconds in done.cpu.items() if seconds > 0.05)
    print(f"  CPU ms a message: {1000 * sum(done.cpu.values()) / count:.2f} ({cpu})", end="; ")
    print(f"the load's own: {1000 * done.load.cpu / count:.2f}")
    ends = ", ".join(f"{count:,} {state}" for state, count in states.items())
    print(f"  outcomes: {ends}; backlog {sum(done.backlog) / max(1, len(done.backlog)):.0f} on average,", end=" ")
    print(f"{max(done.backlog, default=0)} at most, at rest {done.drained:.1f} s after the last message")


def judge(done: Run, found: dict[str, list[float]], states: Counter[str]) -> list[Target]:
    count = len(done.load.due)
    own = sorted(found["own, in all"])
    accepted = done.load.statuses.get("202", 0)
    third = max(1, len(done.backlog) // 3)
    middle, last = (sum(part) / len(part) for part in (done.backlog[third:-third] or [0], done.backlog[-third:] or [0]))
    is_steady = last <= max(_GROWTH * middle, RATE)
    rate = count / done.load.wall
    return [
        Target("messages a second, as sent", f"{rate:.0f}", f"at least {0.99 * RATE:.0f}", rate >= 0.99 * RATE),
        Target("messages accepted", f"{accepted:,}", f"all of {count:,}", accepted == count),
        Target("URLs in a terminal state, page stored", f"{states['ok']:,}", f"{count:,}", states["ok"] == count),
        Target("outcomes with a timing in the log", f"{len(own):,}", f"all of {count:,}", len(own) == count),
        Target("backlog in the last third", f"{last:.0f}", f"not growing ({middle:.0f} before)", is_steady),
        at_most("message to stored record, own share: median", share(own, 0.5), MEDIAN, "ms"),
        at_most("message to stored record, own share: p99", share(own, 0.99), P99, "ms"),
    ]


def measure(folder: Path, web: int, seconds: float) -> list[Target]:
    """Send messages for a while, and return what was reached."""
    print(f"Messages: {RATE} a second for {seconds:g} s, each with a new URL, over {DOMAINS:,} domains")
    with serving(folder, web) as service:
        done = run(service, seconds)
    found, states = steps(folder, done.load)
    show(done, found, states)
    return judge(done, found, states)
