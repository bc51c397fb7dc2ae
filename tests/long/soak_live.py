"""Run a live service under all kinds of load for minutes, and check that nothing is lost, duplicated or leaked.

    SOAK_MINUTES=10 python -m tests.long.soak_live [--seed N]

Two fetching and two lookup processes run on a synthetic web with every fault. The load mixes single messages and lists,
new, repeated and forced URLs, bad requests, single and batch lookups, waits, event streams that reconnect, callbacks,
direct fetches and domain rules. Records expire after half a minute and events after a few, so that the stored data
reaches a steady size. At the end every accepted URL must have one event and one delivered callback; no event stream may
have missed anything; the processes must be those of the start, without growth in memory or open files; the web's
request log must show that politeness delays were kept; the service must log no error and stop on request.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import socket
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import uvloop
from tests.live.fetching.webs import impolite
from tests.live.service.running import Service, service
from tests.long import web
from tests.long.live_hooks import HookReceiver, receiving
from tests.long.live_load import DELAY, HOOK, ClientLoad, EventListener, KnownUrls
from tests.long.live_vitals import ProcessMonitor

from scoter.core.domain import registered_domain
from scoter.live.service.plan import ServiceFolder
from scoter.simweb import Fact, SimVerdict, SimWeb, WebSpec, truth
from scoter.simweb.robots import RobotsKind

WEB = WebSpec(hosts=300, pages=3_000, faults=True, latency=0.02, drip_seconds=1, silence_seconds=20, page_bytes=6_000)
RULED = 8  # domains
RECONNECTING = 4  # event listeners that reconnect all the time
IDLE_WITHIN = 180.0
DELIVERED_WITHIN = 90.0
STOP_WITHIN = 20.0
LATE = 0.1  # seconds by which the web's log may be late on a busy machine
SETTINGS = (
    "live.processes=2",
    "live.lookups=2",
    f"fetch.delay={DELAY}s",
    "live.known_for=30s",
    "live.failed_for=10s",
    "live.messages_for=1m",
    "live.events_most=5000",
    "live.archive_size=4MiB",  # so that files are finished during the run; each open file keeps its index in memory
    "http.timeout=3s",
    "http.time_limit=10s",
    "http.robots_503_defer_visits_delay=10s",
)
_ERROR_LINE = re.compile(r"\b(ERROR|CRITICAL|Traceback)\b|Task exception was never|never awaited|ResourceWarning")


def known_urls(facts: Iterable[Fact], chance: Random) -> KnownUrls:
    """Sort the web's URLs by how its hosts behave."""
    sites = SimWeb(WEB).sites
    slow = {registered_domain(site.name) for site in sites.all() if site.profile.robots is RobotsKind.DELAY}
    domains: defaultdict[str, list[str]] = defaultdict(list)
    odd = []
    for fact in facts:
        if not fact.url.startswith("http://"):
            continue
        domain = registered_domain(fact.host)
        if "-fault." in fact.host or domain in slow:
            odd.append(fact.url)
        elif fact.verdict is SimVerdict.ALLOWED and fact.status == "fetched":
            domains[domain].append(fact.url)
    names = sorted(domains)
    chance.shuffle(names)
    ruled = [(name, domains[name][0]) for name in names[:RULED]]
    return KnownUrls([domains[name] for name in names[RULED:]], odd, ruled)


class LiveSoak:
    """One service with all its clients."""

    def __init__(self, live: Service, urls: KnownUrls, chance: Random, seconds: float) -> None:
        self.live = live
        self.monitor = ProcessMonitor(live)
        self.load = ClientLoad(live.port, urls, chance, time.monotonic() + seconds)
        self.whole = EventListener(live.port, chance, None)
        self.reconnecting = [EventListener(live.port, chance, 4.0) for _ in range(RECONNECTING)]
        self.problems: list[str] = []

    async def run(self, hooks: HookReceiver) -> None:
        listeners = [asyncio.create_task(each.run()) for each in (self.whole, *self.reconnecting)]
        watching = asyncio.create_task(self._watch())
        await self.load.run()
        watching.cancel()
        loaded = time.monotonic()
        last = await self._wait_until_idle()
        await self._until(lambda: all((each.last or last) >= last for each in (self.whole, *self.reconnecting)), 30.0)
        owed = self.load.owed
        await self._until(lambda: owed <= hooks.delivered.keys(), DELIVERED_WITHIN)
        print(f"  idle {time.monotonic() - loaded:.0f} s after the load", flush=True)
        for task in listeners[1:]:
            task.cancel()
        began = time.monotonic()  # one of them is still listening
        code = await asyncio.to_thread(self.live.stop)
        took = time.monotonic() - began
        listeners[0].cancel()
        for result in await asyncio.gather(watching, *listeners, return_exceptions=True):
            if isinstance(result, Exception):
                raise result
        print(f"  stopped with code {code} after {took:.1f} s")
        if code or took > STOP_WITHIN:
            self.problems.append(f"the service stopped with code {code} after {took:.1f} s")
        self._check(hooks, last)

    async def _watch(self) -> None:
        while True:
            self.monitor.sample()
            await asyncio.sleep(1)

    async def _wait_until_idle(self) -> int:
        """Wait until all URLs are done, and return the number of the last event."""
        until = time.monotonic() + IDLE_WITHIN
        waiting = -1
        while time.monotonic() < until and waiting:
            await asyncio.sleep(0.5)
            gauges = (await asyncio.to_thread(self.live.get, "/v1/stats")).json["gauges"]
            waiting = sum(count for name, count in gauges.items() if name.startswith("journal_entries"))
        if waiting:
            self.problems.append(f"{waiting:.0f} URLs were not done after {IDLE_WITHIN:.0f} s")
        return await asyncio.to_thread(_last_event, self.live.folder)

    async def _until(self, is_so: Callable[[], bool], within: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while not is_so():
                    await asyncio.sleep(0.1)

    def _check(self, hooks: HookReceiver, last: int) -> None:
        load, whole = self.load, self.whole
        urls = [(message, url) for message, entries in load.accepted.items() for url in entries]
        print(f"  {', '.join(f'{count:,} {what}' for what, count in sorted(load.did.items()))}")
        print(f"  {len(load.accepted):,} messages with {len(urls):,} URLs; {last:,} events: {dict(whole.states)}")
        print(
            f"  {len(load.owed):,} callbacks due, {hooks.delivered.total():,} delivered, {hooks.refused:,} retried;"
            f" listeners connected {sum(each.visits for each in self.reconnecting)} times"
        )
        wrongly = [what for what in urls if whole.announced[what] != 1]
        untold = load.owed - hooks.delivered.keys()
        self.problems += load.wrong + whole.wrong + hooks.wrong
        self.problems += [wrong for each in self.reconnecting for wrong in each.wrong]
        self.problems += [f"{what} has {whole.announced[what]} events, one of {len(wrongly)}" for what in wrongly[:3]]
        self.problems += [f"{what} never reached its callback, one of {len(untold)}" for what in list(untold)[:3]]
        self.problems += [
            f"a listener received events up to {each.last} of {last}" for each in self.reconnecting if each.last != last
        ]
        if whole.last != last or whole.heard != last:
            self.problems.append(f"the permanent listener received {whole.heard} events, up to {whole.last}, of {last}")
        if whole.states["ok"] < 0.7 * last or not last:
            self.problems.append("too few URLs were fetched")
        self.problems += self.monitor.check(fetchers=2, lookups=2)


def _last_event(folder: Path) -> int:
    from scoter.live.sqlite.database import DatabaseReader

    reader = DatabaseReader(folder / "service.sqlite")
    (last,) = reader.one("SELECT seq FROM sqlite_sequence WHERE name = 'events'") or (0,)
    reader.close()
    return int(last)


def check_files(folder: Path, last: int) -> list[str]:
    """Return what is wrong with the files of a stopped service."""
    numbers = {
        number
        for file in (folder / "log").rglob("*.parquet*")
        for number in pq.read_table(file, columns=["number"])["number"].to_pylist()
    }
    problems = [] if numbers == set(range(1, last + 1)) else [f"the log has {len(numbers)} of {last} outcomes"]
    return problems + [f"{path.name} was left open" for path in (folder / "content").glob("*.open")]


def logged_errors(log: Path) -> list[str]:
    lines = log.read_text(errors="replace").splitlines()
    found = [line for line in lines if _ERROR_LINE.search(line)]
    print(f"  {len(lines):,} lines in the log, {sum('WARNING' in line for line in lines)} of them warnings")
    return [f"the service logged: {line[:300]}" for line in found]


def soak(root: Path, seed: int, seconds: float) -> list[str]:
    chance = Random(seed)
    urls = known_urls(truth(SimWeb(WEB)), chance)
    listener = socket.create_server(("127.0.0.1", 0))
    folder, log = root / "live", root / "log"
    with web.serving(WEB) as port:
        hook = f"{HOOK.split('/')[2]}:*=127.0.0.1:{listener.getsockname()[1]}"
        names = f'fetch.connect_to=["{hook}", "*:*=127.0.0.1:{port}"]'
        with log.open("w") as said, service(folder, port, *SETTINGS, names, log=said) as live:
            run = LiveSoak(live, urls, chance, seconds)

            async def work() -> None:
                async with receiving(listener, ServiceFolder(folder).secret(), chance) as hooks:
                    await run.run(hooks)

            uvloop.run(work())
        plain = (entry for entry in web.ledger(port) if "-fault." not in entry.host)
        problems = run.problems + [f"politeness: {each}" for each in impolite(plain, DELAY - LATE)]
    return problems + check_files(folder, _last_event(folder)) + logged_errors(log)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=None)
    asked = parser.parse_args()
    seed = Random().randrange(10**6) if asked.seed is None else asked.seed
    minutes = float(os.environ.get("SOAK_MINUTES", "10"))
    print(f"seed {seed}, {minutes:g} minutes", flush=True)
    with tempfile.TemporaryDirectory() as root:
        problems = soak(Path(root), seed, 60 * minutes)
    for problem in problems[:20]:
        print(f"FAILED: {problem}", file=sys.stderr)
    if len(problems) > 20:
        print(f"FAILED: and {len(problems) - 20} more", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
