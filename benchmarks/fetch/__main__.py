"""Measure the CPU cost of a fetched page; exit with 1 if a target is missed.

    python -m benchmarks.fetch [--pages 40000] [--scrapy .venv-bench/bin/python]

Everything runs on loopback against nginx, each contestant in its own process, one after the other; CPU time counts. All
run five times, and the median of the five ratios is used, because the speed of a busy machine changes from minute to
minute.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.fetch.site import write
from benchmarks.nginx import free_port, serving

ROUNDS = 5
HOSTS = 50
MANY_HOSTS = 10_000
BARE, FETCHER, ARCHIVE, MANY = "bare loop", "fetcher", "fetcher and archive", f", {MANY_HOSTS:,} hosts"
LARGE = 2_000
LARGE_HOSTS = 1_000
SCRAPY_PAGES = 1_000


class Run(NamedTuple):
    """The cost of one process."""

    pages: int
    cpu: float
    wall: float
    peak_mib: float

    @property
    def micros(self) -> float:
        """CPU microseconds per page."""
        return 1e6 * self.cpu / self.pages


class Target(NamedTuple):
    """A figure, its target, and whether it was met."""

    name: str
    figure: str
    wanted: str
    is_met: bool


def run(command: list[str], kind: str) -> Run:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    try:
        return Run(**json.loads(done.stdout))
    except ValueError:
        raise SystemExit(f"{kind} failed:\n{done.stderr[-2000:]}") from None


def measure(port: int, pages: int) -> list[dict[str, Run]]:
    """Run all contestants in turn, round by round, and return the results."""

    def ours(kind: str, pages: int, hosts: int) -> Run:
        return run([sys.executable, "-m", "benchmarks.fetch.ours", kind, str(port), str(pages), str(hosts)], kind)

    return [
        {
            BARE: ours("bare", pages, HOSTS),
            FETCHER: ours("fetcher", pages, HOSTS),
            ARCHIVE: ours("archive", pages // 2, HOSTS),
            FETCHER + MANY: ours("fetcher", MANY_HOSTS, MANY_HOSTS),
            ARCHIVE + MANY: ours("archive", MANY_HOSTS, MANY_HOSTS),
            BARE + MANY: ours("strangers", MANY_HOSTS, MANY_HOSTS),
        }
        for _ in range(ROUNDS)
    ]


def ratio(rounds: list[dict[str, Run]], one: str, other: str) -> float:
    """Return the median ratio of CPU time between two contestants over all rounds."""
    return statistics.median(each[one].micros / each[other].micros for each in rounds)


def targets(rounds: list[dict[str, Run]], large: Run, scrapy: Run | None) -> list[Target]:
    ratios = [
        ("fetcher / bare loop", ratio(rounds, FETCHER, BARE), 2.5),
        ("fetcher and archive / bare loop", ratio(rounds, ARCHIVE, BARE), 5.0),
        (f"{MANY_HOSTS:,} hosts / {HOSTS} hosts", ratio(rounds, FETCHER + MANY, FETCHER), 2.0),
    ]
    listed = [Target(name, f"{found:.1f} ×", f"at most {most} ×", found <= most) for name, found, most in ratios]
    peak = large.peak_mib
    listed.append(Target("peak memory with large bodies", f"{peak:.0f} MiB", "below 200 MB", peak * 1.048576 < 200))
    faster = None if scrapy is None else scrapy.micros / statistics.median(each[ARCHIVE].micros for each in rounds)
    told = "not measured" if faster is None else f"{faster:.1f} ×"
    met = faster is not None and faster >= 10
    listed.append(Target("pages a CPU-second against Scrapy's", told, "at least 10 ×", met))
    return listed


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the CPU cost of a fetched page.")
    # So many that the start-up of a fetcher, some 0.15 s of CPU time, does not matter.
    parser.add_argument("--pages", type=int, default=40_000)
    parser.add_argument("--scrapy", default=".venv-bench/bin/python", help="a Python with Scrapy")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o755)  # nginx's workers may run as another user
        write(root)
        with serving(root, free_port()) as port:
            rounds = measure(port, options.pages)
            large = run(
                [sys.executable, "-m", "benchmarks.fetch.ours", "large", str(port), str(LARGE), str(LARGE_HOSTS)],
                "large",
            )
            theirs = [
                options.scrapy,
                str(Path(__file__).with_name("theirs.py")),
                str(port),
                str(SCRAPY_PAGES),
                str(HOSTS),
            ]
            scrapy = run(theirs, "Scrapy") if Path(options.scrapy).exists() else None
    found = {kind: statistics.median(each[kind].micros for each in rounds) for kind in rounds[0]}
    peaks = {kind: max(each[kind].peak_mib for each in rounds) for kind in rounds[0]}
    for kind, one in (("500 at once, 3 MiB bodies", large), ("Scrapy", scrapy)):
        if one is not None:
            found[kind], peaks[kind] = one.micros, one.peak_mib
    print(f"{'the middle of ' + str(ROUNDS) + ' rounds':<36}{'µs a page':>11}{'pages/CPU-s':>13}{'peak MiB':>10}")
    for kind, micros in found.items():
        print(f"{kind:<36}{micros:>11,.0f}{1e6 / micros:>13,.0f}{peaks[kind]:>10,.0f}")
    print()
    missed = 0
    strange, archived = ratio(rounds, BARE + MANY, BARE), ratio(rounds, ARCHIVE + MANY, ARCHIVE)
    print(f"A connection, robots.txt and a page cost the bare loop {strange:.1f} × what a page costs it.")
    print(f"With the archive, {MANY_HOSTS:,} hosts cost {archived:.1f} × what {HOSTS} do.\n")
    for target in targets(rounds, large, scrapy):
        missed += not target.is_met
        print(f"{target.name:<38}{target.figure:>12}   {target.wanted}{'' if target.is_met else '   MISSED'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
