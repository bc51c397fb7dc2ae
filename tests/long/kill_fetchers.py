"""Kill, stop and wake fetching processes under load, and let the web's ledger tell whether any domain felt it.

    python -m tests.long.kill_fetchers [--blows 30] [--seed N] [--domains 10000]

With one, two and three processes in turn, each for its share of the blows: SIGKILL, or SIGSTOP for a time between
nothing and twice what a silent process is allowed, then SIGCONT. All requests must be answered by a server, none of
them by an error of ours; from the end of a request to the start of the domain's next there must be its delay; and no
domain may have two requests at once. At the end many domains are asked once each, after which nothing may be left.
A dozen blows and 2,000 domains take a minute, and are the share of every change.
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
from tests.live.workers.webs import all_joined, fetch, fetch_all, fetchers_for, impolite, urls_of
from tests.long import web

from scoter.core.reply import Failed, Fetched
from scoter.live.ports import HopReply
from scoter.live.records import Priority
from scoter.live.workers.dispatcher import WorkerDispatcher
from scoter.live.workers.limits import WorkerLimits
from scoter.live.workers.pool import SILENCE
from scoter.simweb import WebSpec

WEB = WebSpec(hosts=200, pages=4_000, page_bytes=3_000, seed=23, latency=0.03)
DELAY = 0.5
SETTINGS = (f"fetch.delay={DELAY}s", "fetch.min_crawl_delay=0s", "http.timeout=10s")
MOST_MEMORY = 200 * 2**20


async def load(fetchers: WorkerDispatcher, urls: Sequence[str], dice: Random, until: asyncio.Event) -> list[HopReply]:
    """Keep 500 requests under way until it is time to end, and return all answers."""
    answers: list[HopReply] = []

    async def one() -> None:
        while not until.is_set():
            answers.append(await fetch(fetchers, dice.choice(urls), dice.choice(list(Priority))))

    await asyncio.gather(*(one() for _ in range(500)))
    return answers


async def blow(fetchers: WorkerDispatcher, dice: Random) -> str:
    """Hit one process, and return how."""
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


async def strike(processes: int, blows: int, seed: int, folder: Path) -> list[str]:
    """Return what went wrong."""
    dice = Random(seed * 10 + processes)
    with web.serving(WEB) as port:
        async with fetchers_for(port, folder, processes, *SETTINGS) as fetchers:
            await all_joined(fetchers, processes)
            enough = asyncio.Event()
            loading = asyncio.create_task(load(fetchers, urls_of(WEB, 40), dice, enough))
            done = [await blow(fetchers, dice) for _ in range(blows)]
            enough.set()
            answers = await loading
            restarts = fetchers.snapshot().restarts
        entries = list(web.ledger(port))
    ours = [answer.reply for answer in answers if isinstance(answer.reply, Failed) and answer.reply.exchange is None]
    print(
        f"{processes} processes: {len(answers):,} answers, {len(entries):,} requests at the web, {restarts} restarts; "
        f"{'; '.join(done)}",
        flush=True,
    )
    return [*impolite(entries, DELAY), *(f"{reply.url}: {reply.reason} {reply.detail}" for reply in ours)]


async def spread(folder: Path, count: int) -> list[str]:
    """Ask many domains once each; return what is left of them."""
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
    reports = [report for report in view.fetchers.values() if report is not None]
    print(
        f"{count:,} domains in {time.monotonic() - began:.0f} s: {pages:,} pages, {view.domains} domains remembered, "
        f"queues {[report.queues for report in reports]}, MB {[report.memory >> 20 for report in reports]}"
    )
    problems = [] if pages == count else [f"{count - pages} pages did not come"]
    problems += [f"{report.queues} queues are left" for report in reports if report.queues]
    problems += [f"{report.memory >> 20} MB are used" for report in reports if report.memory > MOST_MEMORY]
    return problems + ([f"{view.domains} domains are remembered"] if view.domains > 1_100 else [])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--blows", type=int, default=int(os.environ.get("KILL_FETCHERS", "30")))
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--domains", type=int, default=int(os.environ.get("KILL_DOMAINS", "10000")))
    asked = parser.parse_args()
    seed = Random().randrange(10**6) if asked.seed is None else asked.seed
    print(f"seed {seed}", flush=True)
    problems: list[str] = []
    for processes in (1, 2, 3):
        with tempfile.TemporaryDirectory() as folder:
            problems += uvloop.run(strike(processes, -(-asked.blows // 3), seed, Path(folder)))
    with tempfile.TemporaryDirectory() as folder:
        problems += uvloop.run(spread(Path(folder), asked.domains))
    for problem in problems[:20]:
        print(f"FAILED: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
