"""Measure what a fetched page costs; exit 1 when a target is missed.

    python -m benchmarks.fetch [--pages 10000] [--scrapy .venv-bench/bin/python]

Everything runs on loopback against nginx, each contestant in a process of its own, one after the other; what counts is
its CPU time. The bare loop and the fetcher are run three times in turn, and the best of each is taken: the machine may
have other things to do.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.fetch.site import write
from benchmarks.nginx import free_port, serving

ROUNDS = 3
HOSTS = 50
MANY_HOSTS = 10_000
LARGE = 2_000
LARGE_HOSTS = 1_000
SCRAPY_PAGES = 1_000


class Run(NamedTuple):
    """What one process took."""

    pages: int
    cpu: float
    wall: float
    peak_mib: float

    @property
    def micros(self) -> float:
        """CPU microseconds a page."""
        return 1e6 * self.cpu / self.pages


class Target(NamedTuple):
    """A figure, what it must be, and whether it is."""

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


def measure(port: int, pages: int, scrapy: str) -> dict[str, Run]:
    """Return the best run of every contestant."""

    def ours(kind: str, pages: int, hosts: int) -> Run:
        command = [sys.executable, "-m", "benchmarks.fetch.ours", kind, str(port), str(pages), str(hosts)]
        return run(command, kind)

    rounds = [
        {
            "bare loop": ours("bare", pages, HOSTS),
            "fetcher": ours("fetcher", pages, HOSTS),
            "fetcher and archive": ours("archive", pages // 2, HOSTS),
            f"fetcher, {MANY_HOSTS:,} hosts": ours("fetcher", MANY_HOSTS, MANY_HOSTS),
            f"fetcher and archive, {MANY_HOSTS:,} hosts": ours("archive", MANY_HOSTS, MANY_HOSTS),
            f"bare loop, {MANY_HOSTS:,} hosts": ours("strangers", MANY_HOSTS, MANY_HOSTS),
        }
        for _ in range(ROUNDS)
    ]
    best = {kind: min((each[kind] for each in rounds), key=lambda found: found.micros) for kind in rounds[0]}
    best["500 at once, 3 MiB bodies"] = ours("large", LARGE, LARGE_HOSTS)
    if Path(scrapy).exists():
        theirs = str(Path(__file__).with_name("theirs.py"))
        best["Scrapy"] = run([scrapy, theirs, str(port), str(SCRAPY_PAGES), str(HOSTS)], "Scrapy")
    return best


def targets(found: dict[str, Run]) -> list[Target]:
    bare, fetcher, archive = found["bare loop"], found["fetcher"], found["fetcher and archive"]
    many, large = found[f"fetcher, {MANY_HOSTS:,} hosts"], found["500 at once, 3 MiB bodies"]
    ratios = [
        ("fetcher / bare loop", fetcher.micros / bare.micros, 2.5),
        ("fetcher and archive / bare loop", archive.micros / bare.micros, 5.0),
        (f"{MANY_HOSTS:,} hosts / {HOSTS} hosts", many.micros / fetcher.micros, 2.0),
    ]
    listed = [Target(name, f"{ratio:.1f} ×", f"at most {most} ×", ratio <= most) for name, ratio, most in ratios]
    peak = large.peak_mib
    listed.append(Target("peak memory with large bodies", f"{peak:.0f} MiB", "below 200 MB", peak * 1.048576 < 200))
    if "Scrapy" in found:
        faster = found["Scrapy"].micros / archive.micros
        listed.append(Target("pages a CPU-second against Scrapy's", f"{faster:.1f} ×", "at least 10 ×", faster >= 10))
    else:
        listed.append(Target("pages a CPU-second against Scrapy's", "not measured", "at least 10 ×", False))
    return listed


def main() -> int:
    parser = argparse.ArgumentParser(description="What a fetched page costs.")
    # So many that the start of a fetcher, some 0.15 s of CPU, is no part of what a page costs.
    parser.add_argument("--pages", type=int, default=40_000)
    parser.add_argument("--scrapy", default=".venv-bench/bin/python", help="a Python that has Scrapy")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o755)  # nginx's workers may be somebody else
        write(root)
        with serving(root, free_port()) as port:
            found = measure(port, options.pages, options.scrapy)
    print(f"{'':<36}{'µs a page':>11}{'pages/CPU-s':>13}{'peak MiB':>10}")
    for kind, each in found.items():
        print(f"{kind:<36}{each.micros:>11,.0f}{1e6 / each.micros:>13,.0f}{each.peak_mib:>10,.0f}")
    print()
    missed = 0
    strange = found[f"bare loop, {MANY_HOSTS:,} hosts"].micros / found["bare loop"].micros
    archived = found[f"fetcher and archive, {MANY_HOSTS:,} hosts"].micros / found["fetcher and archive"].micros
    print(f"A connection, robots.txt and a page cost the bare loop {strange:.1f} × what a page costs it.")
    print(f"With the archive, {MANY_HOSTS:,} hosts cost {archived:.1f} × what {HOSTS} do.\n")
    for target in targets(found):
        missed += not target.is_met
        print(f"{target.name:<38}{target.figure:>12}   {target.wanted}{'' if target.is_met else '   MISSED'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
