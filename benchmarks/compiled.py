"""Measure what compiling each module with mypyc gains in a whole crawl, a fetch and a parse.

    python -m benchmarks.compiled [--modules core/url.py …] [--rounds 7] [--crawls 3]

Each module is compiled alone and put into a copy of the tree that is otherwise pure Python. Its gain is the CPU time it
saves there, in percent of the pure tree's; the two are measured alternately, and the best round of each counts. Without
``--modules``, those that pyproject.toml compiles are measured. A module pays if it gains at least 1 % of one of the
three. The crawl is 1,500 realistic pages on 15 hosts, the fetch 6,000 pages with queues, robots.txt and archive, the
parse pages of 25 and 125 KB with links, metadata and signature.
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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAYS = 0.01
PURE = "pure"
ALL = "all of them"


class Gains(NamedTuple):
    """CPU time saved, as a share of the pure build's."""

    crawl: float
    fetch: float
    parse: float


def compiled_modules() -> list[str]:
    """Return the modules that a release compiles, relative to ``src/scoter``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    hook = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["mypyc"]
    return [path.removeprefix("src/scoter/") for path in hook["include"]]


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
            raise SystemExit(f"mypyc failed for {', '.join(modules)}:\n{(done.stdout + done.stderr)[-3000:]}")
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


def parse_seconds(tree: Path) -> float:
    return float(run(tree, "-c", "from benchmarks.compiled import parse; print(parse())"))


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


def fetch_seconds(tree: Path, port: int) -> float:
    return float(json.loads(run(tree, "-m", "benchmarks.fetch.ours", "archive", str(port), "6000", "50"))["cpu"])


def crawl_seconds(tree: Path, port: int, seeds: Sequence[str]) -> float:
    from benchmarks.batch.__main__ import crawl_arguments

    before = os.times()
    with tempfile.TemporaryDirectory() as folder:
        run(tree, "-m", "scoter.cli.main", *crawl_arguments(port, Path(folder) / "crawl", seeds))
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def gain(measure: Callable[[Path], float], pure: Path, tree: Path, rounds: int) -> float:
    """Measure both trees alternately; return the share saved, by the best round of each."""
    best = {pure: float("inf"), tree: float("inf")}
    for _ in range(rounds):
        for each in best:
            best[each] = min(best[each], measure(each))
    return 1 - best[tree] / best[pure]


def main() -> int:
    from benchmarks.batch.site import Site
    from benchmarks.batch.site import serving as serve_crawl
    from benchmarks.fetch.site import write as write_pages
    from benchmarks.nginx import free_port
    from benchmarks.nginx import serving as serve_pages

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--modules", nargs="*", default=compiled_modules(), help="paths relative to src/scoter")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of a fetch and of a parse")
    parser.add_argument("--crawls", type=int, default=3, help="rounds of a crawl")
    asked = parser.parse_args()
    site = Site(page_bytes=25_000, links=50, hosts=15)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pure = build(folder / PURE, [])
        crawl_root, fetch_root = folder / "crawled", folder / "fetched"
        crawl_root.mkdir()
        fetch_root.mkdir()
        write_pages(fetch_root)
        with serve_crawl(crawl_root, site) as crawl_port, serve_pages(fetch_root, free_port()) as fetch_port:
            print(f"{'module':40} {'crawl':>8} {'fetch':>8} {'parse':>8}")
            for number, title in enumerate([ALL, *asked.modules]):
                tree = build(folder / f"tree{number}", asked.modules if title == ALL else [title])
                gains = Gains(
                    crawl=gain(
                        lambda each: crawl_seconds(each, crawl_port, site.seeds(crawl_port)), pure, tree, asked.crawls
                    ),
                    fetch=gain(lambda each: fetch_seconds(each, fetch_port), pure, tree, asked.rounds),
                    parse=gain(parse_seconds, pure, tree, asked.rounds),
                )
                columns = " ".join(f"{100 * share:6.1f} %" for share in gains)
                print(f"{title:40} {columns}{'' if max(gains) >= PAYS else '   does not pay'}", flush=True)
                shutil.rmtree(tree)
    print(f"took {time.monotonic() - began:,.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
