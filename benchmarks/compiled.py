"""Measure what compiling each module with mypyc gains in a whole crawl, a fetch and a parse.

    python -m benchmarks.compiled [--modules core/url.py ...] [--rounds 5] [--crawls 3]

A sampling profile of the pure build comes first: a module that takes less than 1 % of a workload cannot gain 1 % of it
and is not measured there. Every other module is compiled alone, in a copy of the tree that is otherwise pure Python.
Its gain is the CPU time it saves there, in percent of the pure tree's; the two are measured alternately, and the best
round of each counts. A module pays if it gains at least 1 % of one of the three.

The crawl is 1,500 realistic pages on 15 hosts; the fetch is 6,000 pages with queues, robots.txt and archive; the parse
is pages of 25 and 125 KB with links, metadata and signature. Without ``--modules``, every module that takes at least
1 % of a workload is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.batch.__main__ import crawl_arguments
from benchmarks.batch.profile import shares
from benchmarks.batch.site import Site
from benchmarks.batch.site import serving as serve_crawl
from benchmarks.fetch.site import write as write_pages
from benchmarks.nginx import free_port
from benchmarks.nginx import serving as serve_pages

ROOT = Path(__file__).parents[1]
PAYS = 0.01
TODAY = "all that are compiled today"


class BuildError(Exception):
    """mypyc cannot compile a module."""


def compiled_modules() -> list[str]:
    """Return the modules that a release compiles, relative to ``src/scoter``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    hook = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["mypyc"]
    return [path.removeprefix("src/scoter/") for path in hook["include"]]


class Workload(NamedTuple):
    """Something to measure: the module that does it, and its arguments."""

    module: str
    arguments: tuple[str, ...]
    rounds: int

    def seconds(self, tree: Path) -> float:
        """Return the CPU seconds it takes on a tree, with all its processes."""
        before = os.times()
        out = run(tree, "-m", self.module, *self._fresh())
        after = os.times()
        if self.module == "scoter.cli.main":
            return after.children_user + after.children_system - before.children_user - before.children_system
        return float(json.loads(out)["cpu"])  # these leave their start-up out

    def shares(self, tree: Path) -> dict[str, float]:
        """Return the share of each of Scoter's modules, by path relative to ``src/scoter``."""
        with tempfile.TemporaryDirectory() as folder:
            run(tree, "-m", "benchmarks.batch.profile", folder, self.module, *self._fresh())
            found = shares(Path(folder))
        return {name.removeprefix("scoter.").replace(".", "/") + ".py": share for name, share in found.items()}

    def _fresh(self) -> list[str]:
        return [each.replace("NEW", tempfile.mkdtemp()) for each in self.arguments]


def build(folder: Path, modules: Sequence[str]) -> Path:
    """Copy the source and compile some modules of the copy, together."""
    shutil.copytree(ROOT / "src", folder, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    if modules:
        command = [sys.executable, "-m", "mypyc", "--config-file=", "--ignore-missing-imports"]
        command += [
            "--follow-imports=silent",
            "--no-warn-unused-ignores",
            f"--cache-dir={ROOT / '.mypy_cache_compiled'}",
        ]
        done = subprocess.run(
            [*command, *(f"scoter/{module}" for module in modules)],
            cwd=folder,
            env={**os.environ, "MYPYPATH": ".", "MYPYC_OPT_LEVEL": "2"},
            capture_output=True,
            text=True,
            check=False,
        )
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        if done.returncode or not all((folder / "scoter" / module).with_suffix(suffix).exists() for module in modules):
            raise BuildError((done.stdout + done.stderr).strip().splitlines()[-1][:200])
    return folder


def run(tree: Path, *arguments: str) -> str:
    """Run Python on one of the trees and return what it prints."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments[:3])} failed:\n{done.stderr[-3000:]}")
    return done.stdout


def parse() -> float:
    """Return the CPU seconds of parsing a set of pages, by the best time of each page."""
    from benchmarks.bench_parse import KINDS, Ours, measured
    from benchmarks.pages import page
    from scoter.core.page import Content
    from scoter.core.url import canonical

    ours, total = Ours(), 0.0
    for kind in KINDS:
        contents = [
            Content(url=canonical(f"http://a.example/{number}.html"), media_type="text/html", body=body)
            for number in range(5)
            for body in [page(kind.size, kind.links, number)]
        ]
        best = measured({"everything": ours.everything, "metadata": ours.metadata}, contents)
        total += sum(best.values()) / kind.size  # so that small and large pages weigh the same
    return total


def gain(workload: Workload, pure: Path, tree: Path) -> float:
    """Measure both trees alternately; return the share saved, by the best round of each."""
    best = {pure: float("inf"), tree: float("inf")}
    for _ in range(workload.rounds):
        for each in best:
            best[each] = min(best[each], workload.seconds(each))
    return 1 - best[tree] / best[pure]


def measure(workloads: dict[str, Workload], modules: Sequence[str], folder: Path) -> None:
    """Print the table."""
    pure = build(folder / "pure", [])
    profiles = {name: workload.shares(pure) for name, workload in workloads.items()}
    busy = sorted({module for profile in profiles.values() for module, share in profile.items() if share >= PAYS})
    modules = modules or [module for module in busy if (ROOT / "src" / "scoter" / module).is_file()]
    print("| module | " + " | ".join(workloads) + " | pays |\n|---|" + "--:|" * len(workloads) + "---|")
    for title in [TODAY, *modules]:
        try:
            tree = build(folder / title.replace("/", "-"), compiled_modules() if title == TODAY else [title])
        except BuildError as error:
            print(f"| `{title}` | cannot be compiled: {error} |", flush=True)
            continue
        cells, pays = [], False
        for name, workload in workloads.items():
            share = 1.0 if title == TODAY else profiles[name].get(title, 0.0)
            gained = gain(workload, pure, tree) if share >= PAYS else None
            pays |= gained is not None and gained >= PAYS
            cells.append("–" if gained is None else f"{100 * gained:.1f} %")
        print(
            f"| {title if title == TODAY else f'`{title}`'} | {' | '.join(cells)} | {'yes' if pays else 'no'} |",
            flush=True,
        )
        shutil.rmtree(tree)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--modules", nargs="*", default=[], help="paths relative to src/scoter")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of a fetch and of a parse")
    parser.add_argument("--crawls", type=int, default=3, help="rounds of a crawl")
    parser.add_argument("--parse", action="store_true", help="only parse, and print the CPU seconds")
    asked = parser.parse_args()
    if asked.parse:
        print(json.dumps({"cpu": parse()}))
        return 0
    began = time.monotonic()
    site = Site(page_bytes=25_000, links=50, hosts=15)
    with tempfile.TemporaryDirectory() as name:
        tempfile.tempdir = name
        crawled, fetched = Path(name) / "crawled", Path(name) / "fetched"
        crawled.mkdir()
        fetched.mkdir()
        write_pages(fetched)
        with serve_crawl(crawled, site) as crawl_port, serve_pages(fetched, free_port()) as fetch_port:
            crawl = crawl_arguments(crawl_port, Path("NEW/crawl"), site.seeds(crawl_port))
            workloads = {
                "crawl": Workload("scoter.cli.main", tuple(crawl), asked.crawls),
                "fetch": Workload("benchmarks.fetch.ours", ("archive", str(fetch_port), "6000", "50"), asked.rounds),
                "parse": Workload("benchmarks.compiled", ("--parse",), asked.rounds),
            }
            measure(workloads, asked.modules, Path(name))
    print(f"took {time.monotonic() - began:,.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
