"""Crawl a realistic static site with Scoter and its peers; exit 1 if Scoter's is incomplete or misses a target.

    python -m benchmarks.batch [--large] [--runs 5] [--scrapy PYTHON] [--colly PROGRAM] [--peer-runs 1]

The site is 60 hosts behind nginx on loopback with 6,000 pages of 25 KB (with ``--large``, 1,500 pages of 128 KB):
navigation, JSON-LD, OpenGraph, tables, inline script and style, 50 to 150 links per page. Scoter runs at its default
settings except for ``fetch.delay``, which is 0 for every contestant: it obeys robots.txt, adapts its delays, writes
WARC files, and stores text, links and tables. It runs with native code, if that was built, and without.
Peers are a bare loop over the same libraries, Scrapy, and Colly and wget2 where installed.

CPU seconds cover all processes of a contestant from start to end, and memory is the peak of their sum. In every round
all contestants run one after the other (the slower peers in the first rounds only). Medians count; a ratio is the
median of the ratios of all rounds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.batch.profile import shares
from benchmarks.batch.runs import (
    SOURCES,
    Run,
    bare,
    build_of,
    copy_without_native_code,
    crawl_arguments,
    interleaved,
    measured,
    median,
    peer,
    ratio,
    scoter,
    wget2,
)
from benchmarks.batch.site import LARGE, SMALL, Site, serving
from scoter.parse.html.walk import IS_NATIVE

BARE, PURE_BUILD, NATIVE_BUILD = "bare loop", "scoter, pure", "scoter, native"
OURS = (BARE, PURE_BUILD, NATIVE_BUILD)
MOST_TIMES_BARE = 2.0
MOST_MEMORY = 300.0
LEAST_TIMES_SCRAPY = 3.5
MODULES_SHOWN = 16


def contestants(
    asked: argparse.Namespace, port: int, folder: Path, site: Site
) -> list[tuple[Callable[[int], Run], int]]:
    """Return everybody who is installed, and in how many rounds each takes part."""
    seeds = site.seeds(port)

    def ours(name: str, tree: Path) -> Callable[[int], Run]:
        def run(number: int) -> Run:
            crawl = folder / f"crawl{number}"
            found = scoter(name, crawl_arguments(port, crawl, seeds), tree)
            shutil.rmtree(crawl)
            return found

        return run

    def emptied(name: str, number: int) -> Path:
        path = folder / f"{name}{number}"
        path.mkdir()
        return path

    listed: list[tuple[Callable[[int], Run], int]] = [
        (lambda _: bare(BARE, folder / "bare.gz", seeds), asked.runs),
        (ours(PURE_BUILD, copy_without_native_code(folder)), asked.runs),
    ]
    if IS_NATIVE:
        listed.append((ours(NATIVE_BUILD, SOURCES), asked.runs))
    if Path(asked.scrapy).is_file():
        spider = [asked.scrapy, str(Path(__file__).with_name("scrapy_spider.py")), *seeds]
        listed.append((lambda _: peer("scrapy", spider), asked.peer_runs))
    if Path(asked.colly).is_file():
        listed.append(
            (lambda number: peer("colly", [asked.colly, str(emptied("colly", number)), *seeds]), asked.peer_runs)
        )
    if shutil.which("wget2"):
        listed.append((lambda number: wget2(emptied("wget2", number), site, seeds), asked.peer_runs))
    return listed


def show_steps(title: str, steps: dict[str, float]) -> None:
    total = sum(steps.values())
    print(f"\n{title}")
    for step, seconds in sorted(steps.items(), key=lambda each: -each[1])[:MODULES_SHOWN]:
        print(f"    {step:40} {100 * seconds / total:5.1f} %")


def profile(port: int, folder: Path, seeds: Sequence[str]) -> dict[str, float]:
    """Crawl once more under the sampling profiler."""
    samples = folder / "samples"
    samples.mkdir()
    arguments = crawl_arguments(port, folder / "profiled", seeds)
    command = [sys.executable, "-m", "benchmarks.batch.profile", str(samples), "scoter.cli.main", *arguments]
    measured(command, build_of(SOURCES))
    return shares(samples)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--large", action="store_true", help="1,500 pages of 128 KB instead of 6,000 of 25 KB")
    parser.add_argument("--runs", type=int, default=5, help="rounds of Scoter and the bare loop (default: 5)")
    parser.add_argument("--peer-runs", type=int, default=1, help="rounds of the other peers (default: 1)")
    parser.add_argument("--scrapy", default="", help="a Python that has Scrapy; without it Scrapy is skipped")
    parser.add_argument("--colly", default="", help="the program built from benchmarks/batch/colly; skipped if missing")
    parser.add_argument("--no-profile", action="store_true", help="skip the breakdown by module")
    asked = parser.parse_args()
    site = LARGE if asked.large else SMALL
    with tempfile.TemporaryDirectory() as name, serving(Path(name), site) as port:
        folder = Path(name)
        runs = interleaved(contestants(asked, port, folder, site), asked.runs)
        modules = {} if asked.no_profile else profile(port, folder, site.seeds(port))
    show_steps("CPU time of the median crawl by step (pure build)", median(runs[PURE_BUILD]).steps)
    show_steps("CPU time of the median bare loop by step", median(runs[BARE]).steps)
    if modules:
        show_steps("CPU time of a crawl by module (sampled; libraries count for their caller)", modules)
    return verdict(runs, site)


def verdict(runs: dict[str, list[Run]], site: Site) -> int:
    """Print the medians and the ratios; return 1 if a crawl of ours is incomplete or a target is missed."""
    failed = False
    print(f"\nMedians ({os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}):")
    for each in runs.values():
        run = median(each)
        print(f"{run}  of {len(each)}")
        if min(run.pages for run in each) < site.pages:
            print(f"INCOMPLETE  {run.name}: {run.pages:,} of {site.pages:,} pages")
            failed |= run.name in OURS
        elif run.downloads > run.pages:
            print(f"REPEATED  {run.name}: {run.downloads:,} downloads of {run.pages:,} pages")
    print()
    for name in (PURE_BUILD, NATIVE_BUILD):
        if name not in runs:
            continue
        ours, times = runs[name], ratio(runs[name], runs[BARE])
        failed |= report(times <= MOST_TIMES_BARE, f"{name}: {times:.2f} times the CPU of the {BARE}", MOST_TIMES_BARE)
        memory = max(run.cost.memory for run in ours)
        failed |= report(memory <= MOST_MEMORY, f"{name}: {memory:.0f} MB in all processes", MOST_MEMORY)
        for other, theirs in runs.items():
            if other in OURS:
                continue
            faster = median(theirs).cpu / median(ours).cpu
            is_met = other != "scrapy" or faster >= LEAST_TIMES_SCRAPY
            failed |= report(is_met, f"{name}: {faster:.2f} times the pages per CPU second of {other}")
    return 1 if failed else 0


def report(is_met: bool, text: str, most: float | None = None) -> bool:
    """Print whether a target was met; return whether it was missed."""
    print(f"{'met   ' if is_met else 'MISSED'}  {text}{'' if most is None else f' (at most {most:g})'}")
    return not is_met


if __name__ == "__main__":
    sys.exit(main())
