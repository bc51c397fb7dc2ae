"""Fuzz the response path: damaged responses by the thousand, each of which must end as a sound reply, in time.

    python -m tests.long.fuzz_fetch [--seconds 60] [--seed N] [--workers 20]

It prints the seed, the cases a second and what came of them, and exits with 1 at the first case that crashes, hangs,
breaks a rule of ``check``, or when files, tasks or memory are left behind. A case is found by its seed and number.
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
GROWTH = 10.0  # MiB that a run may end above its middle
AGAIN = 500  # cases after which a worker takes a new protocol, with new connections


def script_of(seed: int, number: int) -> Script:
    """Return what is sent in a case: a damaged response in some pieces, a few of them late."""
    chance = random.Random(f"{seed}/{number}")
    data = mutated(chance)
    steps: list[Step] = []
    for first, last in itertools.pairwise(sorted({0, len(data), *(chance.randrange(len(data) + 1) for _ in range(2))})):
        steps.append(data[first:last])
        if chance.random() < 0.01:
            steps.append(Pause(0.05))
    return steps


class Fuzz:
    """A run: workers that share the case numbers, and what came of the cases."""

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
                for _ in range(AGAIN):
                    await self._case(protocol, next(self._numbers))
                    if time.monotonic() >= self._until:
                        break
            finally:
                await protocol.close()
            self._server.asked.clear()  # the server's own records must not look like a leak of ours
            self._server.heads.clear()
            self.memory.append(resident_mib())

    async def _case(self, protocol: HttpProtocol, number: int) -> None:
        path = f"/{number}"
        script = self._scripts[path] = script_of(self._seed, number)
        try:
            async with asyncio.timeout(LONGEST):
                # A few hosts, so that connections are used again after damage.
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
    """Fuzz for a while, print what came of it, and return what is wrong."""
    scripts: dict[str, Script] = {}
    async with serving(scripts) as server:
        files, began = open_files(), time.monotonic()
        fuzz = Fuzz(seed, began + seconds, scripts, server)
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(fuzz.work())
        passed = time.monotonic() - began
        left = await settled_files(files) - files
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    cases = fuzz.outcomes.total()
    middle = fuzz.memory[len(fuzz.memory) // 2]
    print(f"seed {seed}: {cases:,} cases in {passed:.0f} s, {cases / passed:,.0f} a second")
    print("  " + ", ".join(f"{count:,} {word}" for word, count in fuzz.outcomes.most_common()))
    print(f"  {fuzz.memory[-1]:.0f} MiB at the end, {middle:.0f} MiB in the middle; {max(left, 0)} files left open")
    problems = [f"{left} files left open"] if left > 0 else []
    problems += [f"{len(tasks)} tasks left"] if any("HostileServer" not in repr(task) for task in tasks) else []
    problems += ["memory grew"] if fuzz.memory[-1] - middle > GROWTH else []
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz the response path.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, help="to repeat a run; otherwise each run has its own")
    parser.add_argument("--workers", type=int, default=20)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    print(f"seed {seed}", flush=True)  # before anything can go wrong
    problems = uvloop.run(run(options.seconds, seed, options.workers))
    for problem in problems:
        print(f"FAILED: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
