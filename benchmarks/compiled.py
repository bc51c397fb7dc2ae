"""Measure what compiling each module with mypyc gains in a whole crawl, a fetch and a parse.

    python -m benchmarks.compiled [--modules core/url.py ...] [--workloads parse fetch]

A sampling profile of the pure build comes first: a module that takes less than 1 % of a workload cannot gain 1 % of it
and is not measured there. Every other module is compiled alone, in a copy of the tree that is otherwise pure Python.
Its gain is what it saves there, in percent of the pure tree's cost. A module pays if it gains at least 1 % of one of
the three; once it does, the slower measurements are left out.

The cost is the number of instructions, counted by Valgrind: unlike CPU time, it is the same on a busy or virtual
machine. Every workload runs in two sizes, and the difference counts, which leaves the start-up out. The crawl is the
step of a crawl that fetches and parses realistic pages on several hosts (the other steps run in DuckDB, which deadlocks
under Valgrind, and hardly use these modules); the fetch has queues, robots.txt and the archive; the parse is pages of
25 and 125 KB with links, metadata and signature. Without ``--modules``, every module that takes at least 1 % of a
workload is measured.
"""

from __future__ import annotations

import argparse
import compileall
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from benchmarks.batch.__main__ import crawl_settings
from benchmarks.batch.profile import shares
from benchmarks.batch.site import Site, address
from benchmarks.batch.site import serving as serve_crawl
from benchmarks.fetch.site import write as write_pages
from benchmarks.nginx import free_port
from benchmarks.nginx import serving as serve_pages

ROOT = Path(__file__).parents[1]
PAYS = 0.01
VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--trace-children=yes", "--quiet")
PREPARED = "a copy of "
TODAY = "all that are compiled today"


class BuildError(Exception):
    """mypyc cannot compile a module."""


def compiled_modules() -> list[str]:
    """Return the modules that a release compiles, relative to ``src/scoter``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    hook = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["mypyc"]
    return [path.removeprefix("src/scoter/") for path in hook["include"]]


class Workload(NamedTuple):
    """Something to measure: the module that does it, and its arguments for two amounts of work and for a profile."""

    module: str
    small: tuple[str, ...]
    large: tuple[str, ...]
    profiled: tuple[str, ...]

    def cost(self, tree: Path) -> int:
        """Return the instructions that the larger amount of work takes more, on a tree, in all processes."""
        return self._instructions(tree, self.large) - self._instructions(tree, self.small)

    def _instructions(self, tree: Path, arguments: Sequence[str]) -> int:
        with tempfile.TemporaryDirectory() as folder:
            count = [*VALGRIND, f"--cachegrind-out-file={folder}/%p"]
            run(tree, "-m", self.module, *_fresh(arguments), under=count)
            return sum(
                int(line.split()[1])
                for file in Path(folder).iterdir()
                for line in file.read_text().splitlines()
                if line.startswith("summary:")
            )

    def shares(self, tree: Path) -> dict[str, float]:
        """Return the share of each of Scoter's modules, by path relative to ``src/scoter``."""
        with tempfile.TemporaryDirectory() as folder:
            run(tree, "-m", "benchmarks.batch.profile", folder, self.module, *_fresh(self.profiled))
            found = shares(Path(folder))
        return {name.removeprefix("scoter.").replace(".", "/") + ".py": share for name, share in found.items()}


def _fresh(arguments: Sequence[str]) -> list[str]:
    """Return arguments with a copy of each prepared crawl."""
    copies = [each.partition(PREPARED) for each in arguments]
    return [
        str(shutil.copytree(path, tempfile.mkdtemp(), dirs_exist_ok=True)) if mark else each
        for each, (_, mark, path) in zip(arguments, copies, strict=True)
    ]


def prepared_fetch(port: int, site: Site) -> tuple[str, ...]:
    """Prepare a crawl of all pages of a site, and return the arguments of the command that fetches and parses them."""
    folder = Path(tempfile.mkdtemp())
    seeds = folder / "seeds.txt"
    seeds.write_text(
        "".join(
            f"http://{address(host)}:{port}/{number}.html\n"
            for host in range(site.hosts)
            for number in range(site.pages_per_host)
        )
    )
    settings = crawl_settings(port)
    run(ROOT / "src", "-m", "scoter.cli.main", *settings, "inject", str(folder / "crawl"), str(seeds))
    run(ROOT / "src", "-m", "scoter.cli.main", *settings, "generate", str(folder / "crawl"))
    return (*settings, "fetch", f"{PREPARED}{folder / 'crawl'}", "--parse", "--quiet")


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
    compileall.compile_dir(folder, quiet=1)  # or the first run would compile to bytecode, and count it
    return folder


def run(tree: Path, *arguments: str, under: Sequence[str] = ()) -> str:
    """Run Python on one of the trees, under another program if given, and return what it prints."""
    done = subprocess.run(
        [*under, sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{ROOT}", "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments[:3])} failed:\n{done.stderr[-3000:]}")
    return done.stdout


def parse(count: int) -> None:
    """Parse so many pages of each kind."""
    from benchmarks.bench_parse import KINDS, Ours
    from benchmarks.pages import page
    from scoter.core.page import Content
    from scoter.core.url import canonical

    ours = Ours()
    for kind in KINDS:
        for number in range(count):
            url = canonical(f"http://a.example/{number}.html")
            content = Content(url=url, media_type="text/html", body=page(kind.size, kind.links, number))
            ours.everything(content)
            ours.metadata(content)


def measure(workloads: dict[str, Workload], modules: Sequence[str], folder: Path) -> None:
    """Print the table."""
    pure = build(folder / "pure", [])
    costs = {name: workload.cost(pure) for name, workload in workloads.items()}
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
            is_measured = title == TODAY or (not pays and profiles[name].get(title, 0.0) >= PAYS)
            gained = 1 - workload.cost(tree) / costs[name] if is_measured else None
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
    parser.add_argument("--workloads", nargs="*", default=["parse", "fetch", "crawl"], help="what to measure")
    parser.add_argument("--parse", type=int, help="only parse this many pages of each kind")
    asked = parser.parse_args()
    if asked.parse:
        parse(asked.parse)
        return 0
    if shutil.which(VALGRIND[0]) is None:
        print("bench-compiled needs valgrind: apt-get install valgrind", file=sys.stderr)
        return 2
    began = time.monotonic()
    sites = [Site(page_bytes=25_000, links=50, hosts=4, pages_per_host=pages) for pages in (10, 60, 400)]
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        tempfile.tempdir = name
        fetched = Path(name) / "fetched"
        fetched.mkdir()
        write_pages(fetched)
        fetch_port = stack.enter_context(serve_pages(fetched, free_port()))
        crawls = [
            prepared_fetch(stack.enter_context(serve_crawl(Path(tempfile.mkdtemp()), site)), site) for site in sites
        ]
        fetches = [("archive", str(fetch_port), pages, "20") for pages in ("100", "500", "6000")]
        workloads = {
            "parse": Workload("benchmarks.compiled", ("--parse", "2"), ("--parse", "8"), ("--parse", "60")),
            "fetch": Workload("benchmarks.fetch.ours", *fetches),
            "crawl": Workload("scoter.cli.main", *crawls),
        }
        measure({each: workloads[each] for each in asked.workloads}, asked.modules, Path(name))
    print(f"took {time.monotonic() - began:,.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
