"""Crawl a whole static site with Scoter and with Scrapy; exit 1 if pages per CPU-second are below the target.

    python -m benchmarks.batch [--page-bytes 25000] [--scrapy .venv-bench/bin/python] [--runs 5]

6,000 pages on 60 hosts behind nginx on loopback, 55 links each; robots.txt obeyed, no delay, WARC written, two fetching
processes. Both store the pages and no text of them beside (``parse.store_text``). What counts is the CPU time of all
processes of a contestant, from start to end. Ours runs several times, half of them before Scrapy and half after, and
the run in the middle counts: a machine that others use, too, is not equally fast from one minute to the next.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.batch.site import HOSTS, PAGES, address, serving

WANTED = 8.0
EXPECTED = HOSTS * PAGES


class Run(NamedTuple):
    """What one contestant took."""

    pages: int
    cpu: float
    wall: float
    steps: dict[str, float]

    @property
    def rate(self) -> float:
        return self.pages / self.cpu


def timed(command: list[str]) -> tuple[str, float, float]:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{done.stderr[-2000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, cpu, time.monotonic() - began


def ours(port: int, folder: Path) -> Run:
    settings = {
        "agent.name": "bench",
        "fetch.delay": "0s",
        "fetch.min_crawl_delay": "0s",
        "fetch.processes": "2",
        "fetch.threads_per_queue": "8",
        "fetch.allow_networks": '["127.0.0.0/8"]',
        "fetch.allow_ports": f"[{port}]",
        "fetch.adaptive_delay": "false",
        "parse.store_text": "false",
    }
    flags = [part for name, value in settings.items() for part in ("-D", f"{name}={value}")]
    seed = f"http://{address(0)}:{port}/0.html"
    command = [sys.executable, "-m", "scoter.cli.main", *flags, "crawl", str(folder), seed, "--scope", "any"]
    out, cpu, wall = timed([*command, "--until-done", "--json", "--quiet"])
    told = json.loads(out)
    steps: dict[str, float] = {}
    for each in (*told["rounds"], told):
        for name, seconds in each["cpu"].items():
            steps[name] = steps.get(name, 0.0) + seconds
    steps["starting"] = cpu - sum(steps.values())
    statuses = told["by_status"]
    return Run(statuses.get("fetched", 0) + statuses.get("duplicate", 0), cpu, wall, steps)


def scrapy(python: str, port: int) -> Run:
    out, cpu, wall = timed([python, str(Path(__file__).with_name("theirs.py")), str(port)])
    return Run(json.loads(out)["pages"], cpu, wall, {})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--page-bytes", type=int, default=25_000)
    parser.add_argument("--scrapy", default="", help="a Python that has Scrapy; without it ours is measured alone")
    parser.add_argument("--runs", type=int, default=5, help="how often ours runs")
    asked = parser.parse_args()
    runs: list[Run] = []
    peer: Run | None = None
    with tempfile.TemporaryDirectory() as name, serving(Path(name), asked.page_bytes) as port:
        for number in range(asked.runs):
            if number == asked.runs // 2 and Path(asked.scrapy).is_file():
                peer = scrapy(asked.scrapy, port)
            run = ours(port, Path(name) / f"crawl{number}")
            print(f"scoter  {run.pages} pages  {run.cpu:6.1f} CPU s  {run.wall:5.1f} s  {run.rate:6.0f} pages/CPU s")
            if run.pages != EXPECTED:
                print(f"the crawl is not complete: {run.pages} of {EXPECTED} pages")
                return 1
            runs.append(run)
    middle = sorted(runs, key=lambda each: each.cpu)[len(runs) // 2]
    for step, seconds in sorted(middle.steps.items(), key=lambda each: -each[1]):
        print(f"    {step:12} {seconds:6.2f} CPU s  {100 * seconds / middle.cpu:4.0f} %")
    if peer is None:
        return 0
    print(f"scrapy  {peer.pages} pages  {peer.cpu:6.1f} CPU s  {peer.wall:5.1f} s  {peer.rate:6.0f} pages/CPU s")
    ratio = middle.rate / peer.rate
    is_met = ratio >= WANTED
    print(f"{'met   ' if is_met else 'MISSED'}  {ratio:.1f} times Scrapy's pages per CPU-second (wanted: {WANTED:.0f})")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
