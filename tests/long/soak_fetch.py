"""Fetch for minutes with 300 concurrent requests from a web with every fault; check that nothing is lost or leaked.

    SOAK_MINUTES=10 python -m tests.long.soak_fetch

Each request carries a number, which the sink must see exactly once. The web's request log must match: every fetched
page was requested, and nothing that robots.txt disallows. Memory must not grow after a warm-up.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import cycle

import uvloop
from tests.fetch.hostile import config_for, open_files, settled_files
from tests.long import web
from tests.long.memory import resident_mib, slope

from scoter.core.reply import Failed, Fetched, Reply, Request
from scoter.core.url import Url, canonical
from scoter.fetch.fetcher import Fetcher
from scoter.fetch.filters import kind_of
from scoter.fetch.progress import Snapshot
from scoter.simweb import Fact, SimVerdict, SimWeb, WebSpec, truth

WEB = WebSpec(hosts=400, pages=4_000, faults=True, latency=0.15, drip_seconds=1, silence_seconds=20, page_bytes=6_000)
CONCURRENT = 300
WARM_UP = 0.3  # of the time, in which caches fill
GROWTH = 0.75  # MiB per minute; one leaked body per hundred pages would be 60
STEP = 4.0  # MiB; less growth in total is allocator noise
MOST_OPEN = 5_000  # requests without a reply


class FetchSoak:
    """The source and the sink of a run, and their counts."""

    def __init__(self, urls: Iterator[Url], seconds: float) -> None:
        self._urls = urls
        self._until = time.monotonic() + seconds
        self._open: set[int] = set()
        self.given = 0
        self.repeated = 0
        self.outcomes: Counter[str] = Counter()
        self.fetched: Counter[str] = Counter()
        self.memory: list[tuple[float, float]] = []
        self.stopped = 0

    async def source(self) -> AsyncIterator[Request]:
        for url in self._urls:
            while len(self._open) >= MOST_OPEN:
                await asyncio.sleep(0.05)
            self._open.add(self.given)
            yield Request(url=url, context=str(self.given).encode())
            self.given += 1
            if time.monotonic() >= self._until:
                return

    def sink(self, request: Request, reply: Reply) -> None:
        number = int(request.context)
        if number not in self._open:
            self.repeated += 1
        self._open.discard(number)
        self.outcomes[kind_of(reply)] += 1
        if isinstance(reply, Fetched):
            self.fetched[request.url.text] += 1
        elif isinstance(reply, Failed) and reply.reason == "stopped":
            self.stopped += 1

    def look(self, snapshot: Snapshot) -> None:
        self.memory.append((time.monotonic(), resident_mib()))
        if len(self.memory) % 15 == 0:
            print(f"{snapshot}, {self.memory[-1][1]:.0f} MiB", file=sys.stderr, flush=True)

    @property
    def lost(self) -> int:
        return len(self._open)


def wheel(facts: Iterable[Fact]) -> Iterator[Url]:
    """Yield URLs forever: one of each ordinary host in turn, then one of the next faulty host.

    Faulty hosts are on hold most of the time; more of their URLs would fill the queues.
    """
    hosts: defaultdict[str, list[Url]] = defaultdict(list)
    for fact in facts:
        hosts[fact.host].append(canonical(fact.url))
    plain = [cycle(urls) for host, urls in hosts.items() if "-fault." not in host]
    faulty = cycle([cycle(urls) for host, urls in hosts.items() if "-fault." in host])
    while True:
        yield from map(next, plain)
        yield next(next(faulty))


async def soak(port: int, urls: Iterator[Url], seconds: float) -> tuple[FetchSoak, int]:
    config = config_for(
        port,
        f"fetch.threads={CONCURRENT}",
        "fetch.hung_after=120s",
        "fetch.retry_budget=1.0",
        "http.timeout=2s",
        "http.time_limit=10s",
        "http.robots_503_defer_visits_delay=30s",
        "fetch.delay=10ms",
    )
    files = open_files()
    run = FetchSoak(urls, seconds)
    fetcher = Fetcher(config, on_snapshot=run.look)
    # Faulty hosts that are on hold would keep the run from ending.
    asyncio.get_running_loop().call_later(seconds, fetcher.stop)
    await fetcher.run(run.source(), run.sink)
    return run, await settled_files(files) - files


def check(run: FetchSoak, left: int, asked: Counter[str], denied: set[str]) -> list[str]:
    """Print a summary and return what is wrong."""
    start = run.memory[0][0] + WARM_UP * (run.memory[-1][0] - run.memory[0][0])
    growth = 60 * slope([point for point in run.memory if point[0] >= start])
    grown = growth * (run.memory[-1][0] - start) / 60
    print(f"{run.given:,} requests, {run.outcomes.total():,} outcomes, {run.stopped:,} handed back at the end")
    print("  " + ", ".join(f"{count:,} {word}" for word, count in run.outcomes.most_common()))
    print(f"  memory {run.memory[-1][1]:.0f} MiB, {growth:+.2f} MiB/min after the warm-up")
    unasked = [url for url, count in run.fetched.items() if asked[url] < count]
    problems = [
        f"{run.lost} lost" if run.lost else "",
        f"{run.repeated} repeated" if run.repeated else "",
        f"memory grows by {growth:.2f} MiB/min" if growth > GROWTH and grown > STEP else "",
        f"{left} files left open" if left > 0 else "",
        f"{len(unasked)} URLs fetched more often than requested, such as {unasked[:1]}" if unasked else "",
        *(f"{url} was requested although robots.txt disallows it" for url in sorted(denied & asked.keys())[:3]),
        "too few URLs were fetched" if run.outcomes["fetched"] < run.given / 4 else "",
    ]
    # A page fetched once was requested once: nothing is thrown away and requested again.
    extra = sum(asked[url] - count for url, count in run.fetched.items())
    if extra > 0.02 * run.outcomes["fetched"] + CONCURRENT:
        problems.append(f"{extra} superfluous requests for fetched pages")
    return [problem for problem in problems if problem]


def main() -> int:
    seconds = 60 * float(os.environ.get("SOAK_MINUTES", "10"))
    facts = [fact for fact in truth(SimWeb(WEB)) if fact.url.startswith("http")]
    denied = {fact.url for fact in facts if fact.verdict is SimVerdict.DENIED and not fact.url.endswith("/robots.txt")}
    with web.serving(WEB) as port:
        run, left = uvloop.run(soak(port, wheel(facts), seconds))
        asked = Counter(f"http://{entry.host}{entry.path}" for entry in web.ledger(port))
    problems = check(run, left, asked, denied)
    for problem in problems:
        print(f"FAILED: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
