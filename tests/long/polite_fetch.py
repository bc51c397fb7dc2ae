"""Fetch from 200 hosts at full load, and check in the web's request log that politeness delays were kept.

    POLITE_SECONDS=120 python -m tests.long.polite_fetch

Three runs: one request at a time per host, two at a time, and one at a time per registered domain. In each, at least
the queue's delay must pass between the end of a request and the start of the next one of the same queue; no queue may
have more concurrent requests than its threads; and the total must reach 90 % of what the delays allow. The one host
whose robots.txt sets a Crawl-delay is left out, because its delay differs.

Two clocks are checked: the fetcher's own, by which no gap may be a millisecond short, and that of the web's request
log, which includes the effects of the network and a busy machine.
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
# With several threads the delay counts from when a slot is granted; the request is sent a little later.
SHARED_TOLERANCE = 0.01
# The web logs the end of a request after sending the last byte, and the start after reading the head. On a busy
# machine either may be logged milliseconds late, and the gap looks shorter than it was.
TOLERANCE = 0.05
CONNECTING = 0.1  # seconds by which connection times may differ; the web only sees when they are done
WARM_UP = 5.0  # seconds in which robots.txt files are fetched


class PolitenessPlan(Struct, frozen=True, kw_only=True):
    """One run: its settings, the queue key of a host, and the limits of a queue."""

    name: str
    settings: tuple[str, ...]
    key: Callable[[str], str]
    threads: int = 1
    latency: float = 0.05
    delay: Callable[[str], float]


def _delay_of(host: str) -> float:
    """Return a delay from half a second to two, by host."""
    return 0.5 + (sum(host.encode()) % 4) * 0.5


def plans(hosts: Iterable[str]) -> list[PolitenessPlan]:
    overrides = ", ".join(f'"{host} delay={_delay_of(host)}s"' for host in hosts)
    return [
        PolitenessPlan(
            name="one thread per host",
            settings=(f"fetch.hosts=[{overrides}]",),
            key=str,
            delay=_delay_of,
        ),
        PolitenessPlan(
            name="two threads per host",
            settings=("fetch.min_delay=0.3s", "fetch.threads_per_queue=2"),
            key=str,
            threads=2,
            latency=1.0,
            delay=lambda host: 0.3,
        ),
        PolitenessPlan(
            name="one thread per domain",
            settings=("fetch.delay=0.5s", "fetch.queue_mode=domain"),
            key=registered_domain,
            delay=lambda domain: 0.5,
        ),
    ]


class TimedRequest(Struct, frozen=True):
    """One request by the fetcher's own clock, in seconds since the start of the run."""

    host: str
    start: float
    end: float


class RecordingProtocols(Protocols):
    """The transport, recording every request."""

    def __init__(self, chain_: Sequence[tuple[str, FetchProtocol]]) -> None:
        super().__init__(chain_)
        self.asked: list[TimedRequest] = []
        self._began = time.monotonic()

    async def __call__(self, request: Request) -> Reply:
        start = time.monotonic()
        try:
            return await super().__call__(request)
        finally:
            self.asked.append(TimedRequest(request.url.host, start - self._began, time.monotonic() - self._began))


def check_own_clock(plan: PolitenessPlan, asked: Iterable[TimedRequest]) -> list[str]:
    """Print the gaps by the fetcher's own clock, and return what is wrong."""
    queues: defaultdict[str, list[TimedRequest]] = defaultdict(list)
    for each in sorted(asked, key=lambda one: one.start):
        queues[plan.key(each.host)].append(each)
    problems: list[str] = []
    shortest = float("inf")
    for key, each_of in queues.items():
        spare, worst = _gaps(each_of, plan.delay(key), plan.threads, connecting=0.0)
        shortest = min(shortest, spare)
        if spare < -(OWN_TOLERANCE if plan.threads == 1 else SHARED_TOLERANCE):
            problems.append(f"{key} got a request {-spare:.3f} s too early by our own clock")
        if worst > plan.threads:
            problems.append(f"{key} had {worst} requests at once by our own clock")
    print(f"{plan.name}: by our own clock the shortest gap is {shortest * 1000:+.2f} ms beyond its delay")
    return [f"{plan.name}: {problem}" for problem in problems]


def check_request_log(plan: PolitenessPlan, entries: Iterable[LoggedRequest], seconds: float) -> list[str]:
    """Print the gaps in the request log, and return what is wrong."""
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
            problems.append(f"{key} got a request {-spare:.3f} s too early")
        if worst > plan.threads:
            problems.append(f"{key} had {worst} requests at once")
        late = [entry for entry in asked if WARM_UP <= entry.start <= seconds]
        requests += len(late)
        # A thread waits for the delay after each request, and the request takes time itself.
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
    asked: Sequence[LoggedRequest | TimedRequest], delay: float, threads: int, *, connecting: float
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
        if threads > 1 and started >= WARM_UP:  # during warm-up all connections are made at once, some of them late
            spare = min(spare, entry.start - started - delay + connecting)
        started = entry.start
        end = entry.end if entry.end is not None else entry.start
        if len(ends) < threads:
            ends.append(end)
            heapify(ends)
        else:
            heapreplace(ends, end)
    return spare, most


async def crawl(port: int, plan: PolitenessPlan, web_: SimWeb, hosts: list[str], seconds: float) -> list[TimedRequest]:
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
        for number in range(int(3 * seconds) + 10):  # more than any host can get
            for host in hosts:
                yield Request(url=canonical(pages[host][number % len(pages[host])]))

    def sink(request: Request, reply: Reply) -> None:
        return None

    noted = RecordingProtocols(chain("protocol", config))
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
            problems += check_own_clock(plan, uvloop.run(crawl(port, plan, web_, hosts, seconds)))
            problems += check_request_log(plan, web.ledger(port), seconds)
    for problem in problems[:20]:
        print(f"FAILED: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
