"""Fetch from 200 hosts at full load and let the web's ledger tell how politely it was done.

    POLITE_SECONDS=120 python -m tests.long.polite_fetch

Three runs: one request at a time for each host; two at a time; one at a time for each registered domain. In each, from
the end of a request to the start of the next of the same queue there must be the queue's delay at least, no queue may
have more requests under way than its threads, and all together must come to 90 % of what the delays allow. The one
host whose robots.txt names a Crawl-delay is left out: its delay is not that of the run.

Two judges look at it: the fetcher's own clock, which must not see a gap a millisecond short, and the web's ledger,
which sees what the network and a busy machine make of it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from heapq import heapify, heapreplace

import uvloop
from msgspec import Struct
from msgspec.structs import replace
from tests.fetch.hostile import config_for
from tests.long import web

from scoter.core.domain import registered_domain
from scoter.core.reply import Reply, Request
from scoter.core.url import canonical
from scoter.fetch.fetcher import Fetcher
from scoter.fetch.protocols.dispatch import Protocols
from scoter.plugins import FetchProtocol, chain
from scoter.simweb import LoggedRequest, SimWeb, WebSpec
from scoter.simweb.robots import RobotsKind

WEB = WebSpec(hosts=200, pages=4_000, page_bytes=4_000, seed=7)
CONCURRENT = 400
SHARE = 0.9
OWN_TOLERANCE = 0.001
# With several threads the rest is counted from when a turn is given, and the request is on its way a little later.
SHARED_TOLERANCE = 0.01
# The web notes the end of a request after it has sent the last byte, and its start once it has read the head; on a busy
# machine either note comes milliseconds late, and the gap looks shorter than it was.
TOLERANCE = 0.05
CONNECTING = 0.1  # seconds that connecting may take one request longer than the next; the web sees only its end
WARM_UP = 5.0  # seconds in which robots.txt files are asked for


class Plan(Struct, frozen=True, kw_only=True):
    """One run: its settings, the queue of a host, and what the settings mean for a queue."""

    name: str
    settings: tuple[str, ...]
    key: Callable[[str], str]
    threads: int = 1
    latency: float = 0.05
    delay: Callable[[str], float]


def _delay_of(host: str) -> float:
    """Half a second to two, by host, as an operator might set it."""
    return 0.5 + (sum(host.encode()) % 4) * 0.5


def plans(hosts: Iterable[str]) -> list[Plan]:
    overrides = ", ".join(f'"{host} delay={_delay_of(host)}s"' for host in hosts)
    return [
        Plan(
            name="one thread a host",
            settings=(f"fetch.hosts=[{overrides}]",),
            key=str,
            delay=_delay_of,
        ),
        Plan(
            name="two threads a host",
            settings=("fetch.min_delay=0.3s", "fetch.threads_per_queue=2"),
            key=str,
            threads=2,
            latency=1.0,
            delay=lambda host: 0.3,
        ),
        Plan(
            name="one thread a domain",
            settings=("fetch.delay=0.5s", "fetch.queue_mode=domain"),
            key=registered_domain,
            delay=lambda domain: 0.5,
        ),
    ]


class Asked(Struct, frozen=True):
    """One request as the fetcher's own clock saw it, in seconds since the run began."""

    host: str
    start: float
    end: float


class Noted(Protocols):
    """The transport, with a note of every request it is handed."""

    def __init__(self, chain_: Sequence[tuple[str, FetchProtocol]]) -> None:
        super().__init__(chain_)
        self.asked: list[Asked] = []
        self._began = time.monotonic()

    async def __call__(self, request: Request) -> Reply:
        start = time.monotonic()
        try:
            return await super().__call__(request)
        finally:
            self.asked.append(Asked(request.url.host, start - self._began, time.monotonic() - self._began))


def judge_own(plan: Plan, asked: Iterable[Asked]) -> list[str]:
    """Print what the fetcher's own clock says of a run, and return what is wrong."""
    queues: defaultdict[str, list[Asked]] = defaultdict(list)
    for each in sorted(asked, key=lambda one: one.start):
        queues[plan.key(each.host)].append(each)
    problems: list[str] = []
    shortest = float("inf")
    for key, each_of in queues.items():
        spare, worst = _gaps(each_of, plan.delay(key), plan.threads, connecting=0.0)
        shortest = min(shortest, spare)
        if spare < -(OWN_TOLERANCE if plan.threads == 1 else SHARED_TOLERANCE):
            problems.append(f"{key} was asked {-spare:.3f} s too early by our own clock")
        if worst > plan.threads:
            problems.append(f"{key} had {worst} requests at once by our own clock")
    print(f"{plan.name}: by our own clock the shortest gap is {shortest * 1000:+.2f} ms beyond its delay")
    return [f"{plan.name}: {problem}" for problem in problems]


def judge(plan: Plan, entries: Iterable[LoggedRequest], seconds: float) -> list[str]:
    """Print what the ledger says of a run, and return what is wrong."""
    queues: defaultdict[str, list[LoggedRequest]] = defaultdict(list)
    for entry in entries:
        queues[plan.key(entry.host)].append(entry)
    problems: list[str] = []
    requests = allowed = 0.0
    shortest = float("inf")
    for key, asked in queues.items():
        delay = plan.delay(key)
        spare, worst = _gaps(asked, delay, plan.threads, connecting=CONNECTING)
        shortest = min(shortest, spare)
        if spare < -TOLERANCE:
            problems.append(f"{key} was asked {-spare:.3f} s too early")
        if worst > plan.threads:
            problems.append(f"{key} had {worst} requests at once")
        late = [entry for entry in asked if WARM_UP <= entry.start <= seconds]
        requests += len(late)
        # A thread rests after each request, and a request takes its time.
        allowed += (seconds - WARM_UP) * plan.threads / (delay + plan.latency)
    share = requests / allowed
    print(
        f"{plan.name}: {len(queues)} queues, {requests:,.0f} requests, {share:.1%} of what the delays allow; "
        f"shortest gap {shortest * 1000:+.1f} ms beyond its delay"
    )
    if share < SHARE:
        problems.append(f"{share:.1%} of what the delays allow")
    return [f"{plan.name}: {problem}" for problem in problems]


def _gaps(
    asked: Sequence[LoggedRequest | Asked], delay: float, threads: int, *, connecting: float
) -> tuple[float, int]:
    """Return by how much the shortest gap exceeds the delay, and the most requests at once.

    With one thread a gap is from the end of a request to the start of the next; with several it is between starts, and
    from the end of the request that freed the thread.
    """
    spare, most = float("inf"), 0
    ends: list[float] = []
    started = -float("inf")
    for entry in asked:
        under_way = sum(end > entry.start for end in ends)
        most = max(most, under_way + 1)
        if len(ends) >= threads:
            spare = min(spare, entry.start - (ends[0] if threads > 1 else max(ends)) - delay)
        if threads > 1 and started >= WARM_UP:  # before it, all connections are made at once, and some of them late
            spare = min(spare, entry.start - started - delay + connecting)
        started = entry.start
        end = entry.end if entry.end is not None else entry.start
        if len(ends) < threads:
            ends.append(end)
            heapify(ends)
        else:
            heapreplace(ends, end)
    return spare, most


async def crawl(port: int, plan: Plan, web_: SimWeb, hosts: list[str], seconds: float) -> list[Asked]:
    config = config_for(
        port,
        f"fetch.threads={CONCURRENT}",
        "fetch.min_crawl_delay=0s",
        "http.timeout=10s",
        "http.time_limit=60s",
        *plan.settings,
    )
    pages = {host: [resource.url for resource in web_.resources(host)] for host in hosts}

    async def source() -> AsyncIterator[Request]:
        for number in range(int(3 * seconds) + 10):  # more than any host has turns for
            for host in hosts:
                yield Request(url=canonical(pages[host][number % len(pages[host])]))

    def sink(request: Request, reply: Reply) -> None:
        return None

    noted = Noted(chain("protocol", config))
    fetcher = Fetcher(config, protocols=noted)
    asyncio.get_running_loop().call_later(seconds, fetcher.stop)
    await fetcher.run(source(), sink)
    return noted.asked


def main() -> int:
    seconds = float(os.environ.get("POLITE_SECONDS", "120"))
    web_ = SimWeb(WEB)
    hosts = [site.name for site in web_.sites.all() if not site.shut and site.profile.robots is not RobotsKind.DELAY]
    problems: list[str] = []
    for plan in plans(hosts):
        with web.serving(replace(WEB, latency=plan.latency)) as port:
            problems += judge_own(plan, uvloop.run(crawl(port, plan, web_, hosts, seconds)))
            problems += judge(plan, web.ledger(port), seconds)
    for problem in problems[:20]:
        print(f"FAILED: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
