"""Runs of a crawl: each contestant's command, its CPU time, and the memory of all its processes."""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

from benchmarks.batch.site import Site

SAMPLE_EVERY = 0.2
SOURCES = Path("src")


class Cost(NamedTuple):
    """What a command printed, and what it took with all its processes."""

    output: str
    cpu: float
    wall: float
    memory: float
    """Peak of the sum of all processes' memory in MB; memory that they share counts once."""


class Run(NamedTuple):
    """One contestant's crawl."""

    name: str
    pages: int
    downloads: int
    cost: Cost
    steps: dict[str, float]

    @property
    def cpu(self) -> float:
        return self.cost.cpu

    @property
    def rate(self) -> float:
        return self.pages / self.cpu

    def __str__(self) -> str:
        figures = f"{self.pages:6,} pages {self.cpu:7.1f} CPU s {self.cost.wall:7.1f} s {self.rate:7.0f} pages/CPU s"
        return f"{self.name:20} {figures} {self.cost.memory:6,.0f} MB"


def measured(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Cost:
    """Run a command to its end."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    own = {**os.environ, **(environment or {})}
    own.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, each process compiles what it imports
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=own)
        peaks, ended = [0.0], Event()
        sampler = Thread(target=_sample, args=(process.pid, peaks, ended))
        sampler.start()
        status = process.wait()
        ended.set()
        sampler.join()
        output.seek(0)
        errors.seek(0)
        if status and Path(command[0]).name != "wget2":  # wget2 exits 8 if any link was broken
            raise SystemExit(f"{' '.join(command[:12])} failed:\n{output.read()[-2000:]}{errors.read()[-2000:]}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Cost(output.read(), cpu, time.monotonic() - began, max(peaks))


def _sample(root: int, peaks: list[float], ended: Event) -> None:
    while not ended.wait(SAMPLE_EVERY):
        peaks.append(sum(_proportional_memory(pid) for pid in _tree(root)))


def _tree(pid: int) -> Iterator[int]:
    """Yield a process and all below it."""
    yield pid
    try:
        children = [int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in _words(task / "children")]
    except OSError:  # it has ended
        return
    for child in children:
        yield from _tree(child)


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []


def _proportional_memory(pid: int) -> float:
    """Return a process's memory in MB, with its share of what it shares."""
    words = _words(Path(f"/proc/{pid}/smaps_rollup"))
    return int(words[words.index("Pss:") + 1]) * 1024 / 1e6 if "Pss:" in words else 0.0


def crawl_settings(port: int, **more: object) -> list[str]:
    """Return the settings of a crawl of loopback without delays."""
    settings = {
        "agent.name": "bench",
        "fetch.delay": "0s",
        "fetch.allow_networks": '["127.0.0.0/8"]',
        "fetch.allow_ports": f"[{port}]",
        **{name.replace("__", "."): str(value) for name, value in more.items()},
    }
    return [part for name, value in settings.items() for part in ("-D", f"{name}={value}")]


def crawl_arguments(port: int, folder: Path, seeds: Sequence[str], **settings: object) -> list[str]:
    """Return the arguments of ``scoter`` for a whole crawl."""
    return [*crawl_settings(port, **settings), "crawl", str(folder), *seeds, "--until-done", "--json", "--quiet"]


def build_of(tree: Path) -> dict[str, str]:
    """Return the environment in which Python finds Scoter in a folder."""
    return {"PYTHONPATH": f"{tree}{os.pathsep}."}


def copy_without_native_code(folder: Path) -> Path:
    """Copy Scoter's sources into a folder, and return where they are."""
    return Path(shutil.copytree(SOURCES, folder / "pure", ignore=shutil.ignore_patterns("*.so", "__pycache__")))


def scoter(name: str, arguments: Sequence[str], tree: Path = SOURCES) -> Run:
    """Run a whole crawl with the build of Scoter in a folder."""
    cost = measured([sys.executable, "-m", "scoter.cli.main", *arguments], build_of(tree))
    summary = json.loads(cost.output)
    steps: dict[str, float] = defaultdict(float)
    for each in (*summary["rounds"], summary):
        for step, seconds in each["cpu"].items():
            steps[step] += seconds
    steps["start-up"] = cost.cpu - sum(steps.values())
    statuses = summary["by_status"]
    pages = statuses.get("fetched", 0) + statuses.get("duplicate", 0)
    return Run(name, pages, pages, cost, steps)


def bare(name: str, output: Path, seeds: Sequence[str], *options: str) -> Run:
    """Run the bare loop."""
    cost = measured([sys.executable, "-m", "benchmarks.batch.bare", str(output), *seeds, *options], build_of(SOURCES))
    found = json.loads(cost.output)
    return Run(name, found["pages"], found["pages"], cost, found["seconds"])


def peer(name: str, command: Sequence[str]) -> Run:
    """Run a program that prints how many pages it got in how many downloads."""
    cost = measured(command)
    found: dict[str, Any] = json.loads(cost.output)
    return Run(name, found["pages"], found.get("downloads", found["pages"]), cost, {})


def wget2(folder: Path, site: Site, seeds: Sequence[str]) -> Run:
    """Run wget2, which writes every page into a file."""
    hosts = ",".join(site.host(number) for number in range(site.hosts))
    command = ["wget2", "--quiet", "--recursive", "--level=0", "--span-hosts", f"--domains={hosts}", "--tries=1"]
    cost = measured([*command, "--max-threads=8", f"--directory-prefix={folder}", *seeds])
    pages = sum(1 for _ in folder.rglob("*.html"))
    return Run("wget2", pages, pages, cost, {})


def interleaved(contestants: Iterable[tuple[Callable[[int], Run], int]], rounds: int) -> dict[str, list[Run]]:
    """Run each contestant once per round, in its first so many rounds, and print and return its runs by name."""
    listed = list(contestants)
    runs: dict[str, list[Run]] = defaultdict(list)
    for number in range(rounds):
        for contestant, times in listed:
            if number < times:
                run = contestant(number)
                runs[run.name].append(run)
                print(run, flush=True)
    return runs


def median(runs: Sequence[Run]) -> Run:
    """Return the run with the median CPU time."""
    return sorted(runs, key=lambda run: run.cpu)[len(runs) // 2]


def ratio(runs: Sequence[Run], others: Sequence[Run]) -> float:
    """Return the median over all rounds of one contestant's CPU time in terms of another's."""
    return statistics.median(one.cpu / other.cpu for one, other in zip(runs, others, strict=True))
