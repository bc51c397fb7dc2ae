"""Crawl a realistic static site with Scoter and its peers; exit 1 if a crawl is incomplete or a target is missed.

    python -m benchmarks.batch [--scrapy PYTHON] [--colly PROGRAM] [--runs 5] [--large]

The site is 60 hosts behind nginx on loopback with 6,000 pages of 25 KB (with ``--large``, 1,500 pages of 128 KB):
navigation, JSON-LD, OpenGraph, tables, inline script and style, 50 to 150 links per page. Scoter runs at its default
settings except for ``fetch.delay``, which is 0 for every contestant: it obeys robots.txt, adapts its delays, writes
WARC files, and stores text, links and tables. Peers are a bare loop over the same libraries, Scrapy, and Colly and
wget2 where installed. CPU seconds cover all processes of a contestant from start to end. Scoter crawls half of its
rounds before the peers and half after; the median counts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.batch.profile import shares
from benchmarks.batch.site import LARGE, SMALL, Site, address, serving

MIN_TIMES_SCRAPY = 3.5
MAX_TIMES_BARE = 3.0
MODULES_SHOWN = 12


class Run(NamedTuple):
    """One contestant's crawl."""

    name: str
    pages: int
    cpu: float
    wall: float
    steps: dict[str, float]

    @property
    def rate(self) -> float:
        return self.pages / self.cpu

    def __str__(self) -> str:
        figures = f"{self.pages:6,} pages {self.cpu:7.1f} CPU s {self.wall:7.1f} s {self.rate:7.0f} pages/CPU s"
        return f"{self.name:12} {figures}"


def timed(command: Sequence[str], **environment: str) -> tuple[str, float, float]:
    """Run a command; return its standard output, CPU seconds and wall-clock seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=3600, env={**os.environ, **environment}
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode and Path(command[0]).name != "wget2":  # wget2 exits 8 if any link was broken
        raise SystemExit(f"{command[0]} failed:\n{done.stderr[-2000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, cpu, time.monotonic() - began


def crawl_settings(port: int) -> list[str]:
    settings = {
        "agent.name": "bench",
        "fetch.delay": "0s",
        "fetch.allow_networks": '["127.0.0.0/8"]',
        "fetch.allow_ports": f"[{port}]",
    }
    return [part for name, value in settings.items() for part in ("-D", f"{name}={value}")]


def crawl_arguments(port: int, folder: Path, seeds: Sequence[str]) -> list[str]:
    return [*crawl_settings(port), "crawl", str(folder), *seeds, "--until-done", "--json", "--quiet"]


def scoter(port: int, folder: Path, seeds: Sequence[str]) -> Run:
    out, cpu, wall = timed([sys.executable, "-m", "scoter.cli.main", *crawl_arguments(port, folder, seeds)])
    summary = json.loads(out)
    steps: dict[str, float] = defaultdict(float)
    for each in (*summary["rounds"], summary):
        for name, seconds in each["cpu"].items():
            steps[name] += seconds
    steps["start-up"] = cpu - sum(steps.values())
    statuses = summary["by_status"]
    return Run("scoter", statuses.get("fetched", 0) + statuses.get("duplicate", 0), cpu, wall, steps)


def bare(folder: Path, seeds: Sequence[str]) -> Run:
    out, cpu, wall = timed([sys.executable, "-m", "benchmarks.batch.bare", str(folder / "bare.gz"), *seeds])
    found = json.loads(out)
    return Run("bare loop", found["pages"], cpu, wall, found["seconds"])


def scrapy(python: str, seeds: Sequence[str]) -> Run:
    out, cpu, wall = timed([python, str(Path(__file__).with_name("scrapy_spider.py")), *seeds])
    return Run("scrapy", json.loads(out)["pages"], cpu, wall, {})


def colly(program: str, folder: Path, seeds: Sequence[str]) -> Run:
    (folder / "colly").mkdir()
    out, cpu, wall = timed([program, str(folder / "colly"), *seeds])
    return Run("colly", json.loads(out)["pages"], cpu, wall, {})


def wget2(folder: Path, site: Site, seeds: Sequence[str]) -> Run:
    hosts = ",".join(address(host) for host in range(site.hosts))
    command = ["wget2", "--quiet", "--recursive", "--level=0", "--span-hosts", f"--domains={hosts}", "--tries=1"]
    _, cpu, wall = timed([*command, "--max-threads=8", f"--directory-prefix={folder / 'wget2'}", *seeds])
    return Run("wget2", sum(1 for _ in (folder / "wget2").rglob("*.html")), cpu, wall, {})


def peers(asked: argparse.Namespace, folder: Path, site: Site, seeds: Sequence[str]) -> list[Run]:
    """Run every peer that is installed."""
    runs = [bare(folder, seeds)]
    if Path(asked.scrapy).is_file():
        runs.append(scrapy(asked.scrapy, seeds))
    if Path(asked.colly).is_file():
        runs.append(colly(asked.colly, folder, seeds))
    if shutil.which("wget2"):
        runs.append(wget2(folder, site, seeds))
    return runs


def show_steps(title: str, steps: dict[str, float]) -> None:
    total = sum(steps.values())
    print(f"\n{title}")
    for step, seconds in sorted(steps.items(), key=lambda each: -each[1])[:MODULES_SHOWN]:
        print(f"    {step:32} {100 * seconds / total:5.1f} %")


def profile(port: int, folder: Path, seeds: Sequence[str]) -> dict[str, float]:
    """Crawl once more under the sampling profiler, on the pure build."""
    samples = folder / "samples"
    samples.mkdir()
    arguments = crawl_arguments(port, folder / "profiled", seeds)
    command = [sys.executable, "-m", "benchmarks.batch.profile", str(samples), "scoter.cli.main", *arguments]
    timed(command, PYTHONPATH=f"src{os.pathsep}.")
    return shares(samples)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--large", action="store_true", help="1,500 pages of 128 KB instead of 6,000 of 25 KB")
    parser.add_argument("--scrapy", default="", help="a Python that has Scrapy; without it Scrapy is skipped")
    parser.add_argument("--colly", default="", help="the program built from benchmarks/batch/colly; skipped if missing")
    parser.add_argument("--runs", type=int, default=5, help="how often Scoter crawls (default: 5)")
    parser.add_argument("--no-profile", action="store_true", help="skip the breakdown by module")
    asked = parser.parse_args()
    site = LARGE if asked.large else SMALL
    runs: list[Run] = []
    others: list[Run] = []
    with tempfile.TemporaryDirectory() as name, serving(Path(name), site) as port:
        folder, seeds = Path(name), site.seeds(port)
        for number in range(asked.runs):
            if number == asked.runs // 2:
                others = peers(asked, folder, site, seeds)
            runs.append(scoter(port, folder / f"crawl{number}", seeds))
            print(runs[-1], flush=True)
        modules = {} if asked.no_profile else profile(port, folder, seeds)
    ours = sorted(runs, key=lambda run: run.cpu)[len(runs) // 2]
    for run in others:
        print(run)
    show_steps("Scoter's CPU time by step (median run)", ours.steps)
    show_steps("The bare loop's CPU time by step", others[0].steps)
    if modules:
        show_steps("Scoter's CPU time by module (pure build, sampled; libraries count for their caller)", modules)
    return verdict(ours, others, site)


def verdict(ours: Run, others: Sequence[Run], site: Site) -> int:
    """Print the ratios; return 1 if a crawl is incomplete or a target is missed."""
    failed = False
    print()
    for run in (ours, *others):
        if run.pages < site.pages:
            print(f"INCOMPLETE  {run.name}: {run.pages:,} of {site.pages:,} pages")
            failed = True
        elif run.pages > site.pages:
            print(f"REPEATED  {run.name}: {run.pages:,} downloads of {site.pages:,} pages")
    for run in others:
        ratio = ours.rate / run.rate
        is_met, text = True, f"{ratio:.2f} times {run.name}'s pages per CPU second"
        if run.name == "bare loop":
            is_met = 1 / ratio <= MAX_TIMES_BARE
            text = f"{1 / ratio:.2f} times the CPU of the bare loop (at most {MAX_TIMES_BARE})"
        elif run.name == "scrapy":
            is_met = ratio >= MIN_TIMES_SCRAPY
            text += f" (at least {MIN_TIMES_SCRAPY})"
        print(f"{'met   ' if is_met else 'MISSED'}  {text}")
        failed |= not is_met
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
