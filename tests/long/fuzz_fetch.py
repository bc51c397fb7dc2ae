"""Fuzz the response path with thousands of damaged responses; each must become a valid reply in time.

    python -m tests.long.fuzz_fetch [--seconds 60] [--seed N] [--workers 20]

Prints the seed, the rate and the outcomes. Exits with 1 at the first case that crashes, hangs or violates ``check``, or
when files, tasks or memory leak. Seed and number reproduce a case.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import sys
import time
from collections import Counter

import uvloop
from tests.fetch.fuzzing import check, mutated
from tests.fetch.hostile import HostileServer, Pause, Script, Step, config_for, open_files, serving, settled_files
from tests.long.memory import resident_mib

from scoter.core.reply import Request
from scoter.core.url import canonical
from scoter.fetch.filters import kind_of
from scoter.fetch.protocols.http import HttpProtocol
from scoter.plugins import Setup

LONGEST = 8.0  # seconds for one case, twice its time limit
GROWTH = 10.0  # MiB of memory growth allowed in the second half of a run
CASES_PER_PROTOCOL = 500  # then a worker takes a new protocol with new connections


def script_of(seed: int, number: int) -> Script:
    """Return the server's script of a case: a damaged response in pieces, some of them delayed."""
    chance = random.Random(f"{seed}/{number}")
    data = mutated(chance)
    steps: list[Step] = []
    for first, last in itertools.pairwise(sorted({0, len(data), *(chance.randrange(len(data) + 1) for _ in range(2))})):
        steps.append(data[first:last])
        if chance.random() < 0.01:
            steps.append(Pause(0.05))
    return steps


class FetchFuzz:
    """A run: workers that share the case numbers, and the outcomes."""

    def __init__(self, seed: int, until: float, scripts: dict[str, Script], server: HostileServer) -> None:
        self._server = server
        self._seed = seed
        self._until = until
        self._scripts = scripts
        self._setup = Setup(config_for(server.port, "fetch.threads=4"))
        self._numbers = itertools.count()
        self.outcomes: Counter[str] = Counter()
        self.memory: list[float] = []

    async def work(self) -> None:
        while time.monotonic() < self._until:
            protocol = HttpProtocol(self._setup)
            try:
                for _ in range(CASES_PER_PROTOCOL):
                    await self._case(protocol, next(self._numbers))
                    if time.monotonic() >= self._until:
                        break
            finally:
                await protocol.close()
            self._server.asked.clear()  # the server's records must not look like a leak
            self._server.heads.clear()
            self.memory.append(resident_mib())

    async def _case(self, protocol: HttpProtocol, number: int) -> None:
        path = f"/{number}"
        script = self._scripts[path] = script_of(self._seed, number)
        try:
            async with asyncio.timeout(LONGEST):
                # Only a few hosts, so that connections are reused after damage.
                reply = await protocol.fetch(Request(url=canonical(f"http://h{number % 7}.test{path}")))
            check(reply)
        except (Exception, asyncio.CancelledError) as error:
            sent = b"".join(step for step in script if isinstance(step, bytes))
            print(f"seed {self._seed}, case {number}: {type(error).__name__}: {error}\n{sent!r}", file=sys.stderr)
            raise
        finally:
            del self._scripts[path]
        self.outcomes[kind_of(reply)] += 1


async def run(seconds: float, seed: int, workers: int) -> list[str]:
    """Fuzz for a while, print a summary, and return what is wrong."""
    scripts: dict[str, Script] = {}
    async with serving(scripts) as server:
        files, began = open_files(), time.monotonic()
        fuzz = FetchFuzz(seed, began + seconds, scripts, server)
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(fuzz.work())
        passed = time.monotonic() - began
        left = await settled_files(files) - files
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    cases = fuzz.outcomes.total()
    middle = fuzz.memory[len(fuzz.memory) // 2]
    print(f"seed {seed}: {cases:,} cases in {passed:.0f} s, {cases / passed:,.0f}/s")
    print("  " + ", ".join(f"{count:,} {word}" for word, count in fuzz.outcomes.most_common()))
    print(f"  {fuzz.memory[-1]:.0f} MiB at the end, {middle:.0f} MiB in the middle; {max(left, 0)} files left open")
    problems = [f"{left} files left open"] if left > 0 else []
    problems += [f"{len(tasks)} tasks left"] if any("HostileServer" not in repr(task) for task in tasks) else []
    problems += ["memory grew"] if fuzz.memory[-1] - middle > GROWTH else []
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz the response path.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, help="repeat the run with this seed")
    parser.add_argument("--workers", type=int, default=20)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    print(f"seed {seed}", flush=True)  # first, so that a failing run can be repeated
    problems = uvloop.run(run(options.seconds, seed, options.workers))
    for problem in problems:
        print(f"FAILED: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
