"""Kill a crawl repeatedly, in every step, and check that nothing is lost, repeated or incomplete.

    python -m tests.long.kill_batch --kills 40 --seed 1

`scoter crawl` runs on a synthetic web in its own process group. The group, the parent alone, or one fetching process is
killed at seeded random moments, and the crawl is started again. A finished crawl is compared with an undisturbed one:
the same URLs with the same statuses and scores, the same links, every page readable in the archive where its row says,
the same documents in the search index, and no leftover files. Meanwhile a reader watches tables and parts: none may
ever be half-written, and no URL of a finished part may be fetched again. ``kill_steps.py`` kills the commands that are
not part of a crawl.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

from msgspec import Struct
from tests.long.batch_runs import STEPS, CrawlProcess
from tests.long.batch_state import CrawlState, Watcher, differences, leftovers, state_of
from tests.long.batch_truth import settings
from tests.long.kill_steps import killed_steps

from scoter.simweb import SimServer, WebSpec, running

WEB = WebSpec(hosts=12, pages=260, page_bytes=2_000, links=5, trap_size=8, sessions=3, latency=0.12)
KINDS = ("group", "group", "parent", "worker")


class Kill(Struct, frozen=True):
    """A planned kill: in which step, and after which share of the step's usual duration."""

    step: str
    kind: str
    share: float


def plan(seed: int, kills: int) -> list[Kill]:
    """Return kills spread over all steps; every other one hits fetch, which has the most to lose."""
    drawn = Random(seed)
    others = [step for step in STEPS if step != "fetch"]
    chosen: list[Kill] = []
    while len(chosen) < kills:
        drawn.shuffle(others)
        for step in others:
            chosen.append(Kill("fetch", drawn.choice(KINDS), drawn.uniform(0.0, 1.1)))
            chosen.append(Kill(step, drawn.choice(KINDS[:3]), drawn.uniform(0.0, 1.1)))
    return chosen[:kills]


class KillTest:
    """Crawls of one web that are killed until all planned kills are done."""

    def __init__(self, server: SimServer, folder: Path, wanted: CrawlState, usual: dict[str, float]) -> None:
        self.problems: list[str] = []
        self.hit: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.looks = 0
        self._server = server
        self._folder = folder
        self._wanted = wanted
        self._usual = usual

    def crawl_once(self, number: int, kills: list[Kill]) -> None:
        """Run one crawl to its end, with as many of the kills as it lasts for."""
        crawl = self._folder / f"crawl-{number}"
        ledger = self._server.ledger
        watcher = Watcher(crawl, ledger.count)
        run = start(self._server, crawl, self._folder)
        while kills:
            kill = kills[0]
            if not run.reaches(kill.step, kill.share * self._usual.get(kill.step, 0.5)):
                break
            kills.pop(0)
            if self._kill(kill, run):
                run = start(self._server, crawl, self._folder)
        code = run.wait()
        watcher.close()
        self.looks += watcher.looks
        if code not in (0, 1):
            self.problems.append(f"crawl {number} ended with exit code {code}: {run.output[-600:]}")
            return
        found = [*watcher.problems, *leftovers(crawl)]
        found += watcher.fetched_again(lambda since: pages(self._server, since))
        try:
            found += differences(state_of(crawl), self._wanted)
        except Exception as failure:
            found.append(f"cannot be read: {failure}")
        self.problems += [f"crawl {number}: {each}" for each in found]

    def _kill(self, kill: Kill, run: CrawlProcess) -> bool:
        """Kill, and return whether the crawl has to be started again."""
        _, step, _ = run.now()
        workers = run.workers() if kill.kind == "worker" else []
        kind = "group" if kill.kind == "worker" and not workers else kill.kind
        self.hit[step] += 1
        self.kinds[kind] += 1
        if kind == "worker":
            os.kill(workers[len(workers) // 2], signal.SIGKILL)
            return False
        if kind == "group":
            run.kill_group()
        else:
            run.kill_parent()
        return True


def start(server: SimServer, crawl: Path, folder: Path) -> CrawlProcess:
    """Start or continue a crawl: the command is the same."""
    given = settings(server.port, 'store.warc_age="1s"', "fetch.processes=2", "http.timeout=20s", "http.time_limit=30s")
    options = [text for each in given for text in ("-D", each)]
    return CrawlProcess(
        [
            *(
                "crawl",
                str(crawl),
                *server.web.seeds(),
                "--until-done",
                "--scope",
                "any",
                "--top-n",
                "100000",
                "--index",
                "--hostdb",
            ),
            *options,
        ],
        folder,
    )


def pages(server: SimServer, since: int) -> Iterator[str]:
    """Yield the requested URLs without robots.txt."""
    for entry in server.ledger.requests(since=since):
        if entry.path != "/robots.txt":
            yield f"http://{entry.host}{entry.path}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="leave the crawls in this folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, running(WEB) as server:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        first = start(server, folder / "undisturbed", folder)
        if first.wait() != 0:
            print(f"The undisturbed crawl failed: {first.output}", file=sys.stderr)
            return 1
        wanted = state_of(folder / "undisturbed")
        usual = {step: max((each for name, each in first.spent if name == step), default=0.5) for step in STEPS}
        shown = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in usual.items())
        print(f"Undisturbed: {len(wanted.statuses)} URLs, {time.monotonic() - started:.0f} s; longest: {shown}")
        test = KillTest(server, folder, wanted, usual)
        kills = plan(given.seed, given.kills)
        crawls = 0
        while kills and not test.problems:
            crawls += 1
            test.crawl_once(crawls, kills)
        if not test.problems:
            test.problems += killed_steps(folder / "undisturbed", folder, given.seed, max(2, given.kills // 8))
        seconds = time.monotonic() - started
    hit = ", ".join(f"{step} {test.hit[step]}" for step in (*STEPS, *sorted(test.hit.keys() - set(STEPS))))
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(test.kinds.items()))
    print(f"{sum(test.hit.values())} kills in {crawls} crawls, {seconds:.0f} s, {test.looks} checks by the reader")
    print(f"by step: {hit}; by kind: {kinds}")
    for problem in test.problems[:20]:
        print(f"FAILED: {problem}", file=sys.stderr)
    return 1 if test.problems else 0


if __name__ == "__main__":
    sys.exit(main())
