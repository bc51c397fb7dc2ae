"""Kill and stop fetching processes under load, and check the politeness towards each domain.

    python -m tests.long.kill_workers [--kills 30] [--seed N] [--domains 10000]

Runs with one, two and three processes, each with a third of the kills: SIGKILL, or SIGSTOP for up to twice the time
that a process may be silent, then SIGCONT. Every request must get a server's response, not an error of ours. Between
the end of a request and the start of the next one to the same domain there must be the domain's delay, and no domain
may get two requests at once. Then many domains get one request each, after which no queue may be left.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

import uvloop
from tests.fetch.hostile import KEEP, ok, serving
from tests.live.fetching.webs import all_joined, fetch, fetch_all, fetchers_for, impolite, urls_of
from tests.long import web

from scoter.core.reply import Failed, Fetched
from scoter.live.fetching.dispatcher import WorkerDispatcher
from scoter.live.fetching.limits import WorkerLimits
from scoter.live.fetching.pool import SILENCE
from scoter.live.ports import HopReply
from scoter.live.records import Priority
from scoter.simweb import WebSpec

WEB = WebSpec(hosts=200, pages=4_000, page_bytes=3_000, seed=23, latency=0.03)
DELAY = 0.5
SETTINGS = (f"fetch.delay={DELAY}s", "fetch.min_crawl_delay=0s", "http.timeout=10s")
MOST_MEMORY = 200 * 2**20


async def load(fetchers: WorkerDispatcher, urls: Sequence[str], dice: Random, until: asyncio.Event) -> list[HopReply]:
    """Keep 500 requests in progress until ``until`` is set, and return all replies."""
    answers: list[HopReply] = []

    async def one() -> None:
        while not until.is_set():
            answers.append(await fetch(fetchers, dice.choice(urls), dice.choice(list(Priority))))

    await asyncio.gather(*(one() for _ in range(500)))
    return answers


async def disturb(fetchers: WorkerDispatcher, dice: Random) -> str:
    """Kill or stop one process, and return what was done."""
    await asyncio.sleep(dice.random() * 2)
    await all_joined(fetchers, 1)
    victim = dice.choice(fetchers.pids())
    if dice.random() < 0.5:
        os.kill(victim, signal.SIGKILL)
        return "killed"
    seconds = dice.random() * 2 * SILENCE
    os.kill(victim, signal.SIGSTOP)
    await asyncio.sleep(seconds)
    with suppress(ProcessLookupError):
        os.kill(victim, signal.SIGCONT)
    return f"stopped for {seconds:.1f} s"


async def run_with_kills(processes: int, kills: int, seed: int, folder: Path) -> list[str]:
    """Run load and kills together, and return what went wrong."""
    dice = Random(seed * 10 + processes)
    with web.serving(WEB) as port:
        async with fetchers_for(port, folder, processes, *SETTINGS) as fetchers:
            await all_joined(fetchers, processes)
            enough = asyncio.Event()
            loading = asyncio.create_task(load(fetchers, urls_of(WEB, 40), dice, enough))
            done = [await disturb(fetchers, dice) for _ in range(kills)]
            enough.set()
            answers = await loading
            restarts = fetchers.snapshot().restarts
        entries = list(web.ledger(port))
    ours = [answer.reply for answer in answers if isinstance(answer.reply, Failed) and answer.reply.exchange is None]
    print(
        f"{processes} processes: {len(answers):,} replies, {len(entries):,} requests logged, {restarts} restarts; "
        f"{'; '.join(done)}",
        flush=True,
    )
    return [*impolite(entries, DELAY), *(f"{reply.url}: {reply.reason} {reply.detail}" for reply in ours)]


async def spread(folder: Path, count: int) -> list[str]:
    """Send one request to each of many domains, and return what went wrong or is left in memory."""
    began = time.monotonic()
    async with (
        serving({"/": (ok(), KEEP)}) as server,
        fetchers_for(server.port, folder, 2, bounds=WorkerLimits(idle=1_000)) as fetchers,
    ):
        await all_joined(fetchers, 2)
        pages = 0
        for at in range(0, count, 500):
            answers = await fetch_all(fetchers, [f"http://d{number}.example/" for number in range(at, at + 500)])
            pages += sum(isinstance(answer.reply, Fetched) for answer in answers)
        await asyncio.sleep(3)
        view = fetchers.snapshot()
    reports = [report for report in view.workers.values() if report is not None]
    print(
        f"{count:,} domains in {time.monotonic() - began:.0f} s: {pages:,} pages, {view.domains} domains remembered, "
        f"queues {[report.queues for report in reports]}, MB {[report.memory >> 20 for report in reports]}"
    )
    problems = [] if pages == count else [f"{count - pages} pages are missing"]
    problems += [f"{report.queues} queues are left" for report in reports if report.queues]
    problems += [f"{report.memory >> 20} MB are used" for report in reports if report.memory > MOST_MEMORY]
    return problems + ([f"{view.domains} domains are remembered"] if view.domains > 1_100 else [])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=int(os.environ.get("KILL_WORKERS", "30")))
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--domains", type=int, default=int(os.environ.get("KILL_DOMAINS", "10000")))
    asked = parser.parse_args()
    seed = Random().randrange(10**6) if asked.seed is None else asked.seed
    print(f"seed {seed}", flush=True)
    problems: list[str] = []
    for processes in (1, 2, 3):
        with tempfile.TemporaryDirectory() as folder:
            problems += uvloop.run(run_with_kills(processes, -(-asked.kills // 3), seed, Path(folder)))
    with tempfile.TemporaryDirectory() as folder:
        problems += uvloop.run(spread(Path(folder), asked.domains))
    for problem in problems[:20]:
        print(f"FAILED: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
