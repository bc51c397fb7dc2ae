"""Mutate the source and run the nearest tests; exit 1 if fewer than 90 % of the mutants are caught.

    python -m tests.long.mutants [--mutants 40] [--seed 1] [--only core/url.py] [--jobs 2]

Each mutant changes one place: a comparison at its boundary, ``and``/``or``, a sign, a constant, a ``not``, or a call
whose result is not used. It is written to a private copy of the tree, and the test files that import the
module run against it, those named after the module first. A mutant is caught when a test fails or hangs. The seed
chooses the sample, so a run can be repeated; survivors are printed as a diff line to write a test for.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "scoter"
WANTED = 0.9
TIMEOUT = 240.0
MOST_TEST_FILES = 8
# Rules whose tests are fast: pure logic, queues, the batch rules, the archive, keys and leases.
PACKAGES = (
    "core",
    "fetch/queues",
    "batch/update",
    "batch/fetchlists",
    "store/warc",
    "store/tables",
    "parse",
    "live",
    "web",
)
_COMPARED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_COMPUTED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+"}
_SKIPPED_CALLS = re.compile(r"(log|logger|warnings|print|super)\b|.*\.(debug|info|warning|cancel|close|setopt)\(")


class Mutant(NamedTuple):
    """One change to one module."""

    module: Path
    line: int
    start: int
    end: int
    text: str

    def describe(self, source: bytes) -> str:
        before = source.splitlines()[self.line - 1].decode().strip()
        changed = source[: self.start] + self.text.encode() + source[self.end :]
        after = changed.splitlines()[self.line - 1].decode().strip()
        return f"{self.module}:{self.line}\n      - {before}\n      + {after}"


def mutants_of(module: Path) -> Iterator[Mutant]:
    """Yield every mutant of a module."""
    source = (ROOT / module).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def at(line: int | None, column: int | None) -> int:
        return starts[(line or 1) - 1] + (column or 0)

    def between(left: ast.expr, right: ast.expr, pattern: str, text: str) -> Iterator[Mutant]:
        start, end = at(left.end_lineno, left.end_col_offset), at(right.lineno, right.col_offset)
        if found := re.search(pattern.encode(), source[start:end]):
            line = source[: start + found.start()].count(b"\n") + 1
            yield Mutant(module, line, start + found.start(), start + found.end(), text)

    for node in _reachable(ast.parse(source)):
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _COMPARED:
                yield from between(left, right, r"not\s+in|in|[<>=!]=|[<>]", _COMPARED[type(operator)])
            case ast.BoolOp(op=operator, values=[left, right, *_]):
                is_and = isinstance(operator, ast.And)
                yield from between(left, right, r"\band\b" if is_and else r"\bor\b", "or" if is_and else "and")
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _COMPUTED:
                if not _is_text(left) and not _is_text(right):
                    yield from between(left, right, r"[-+*]", _COMPUTED[type(operator)])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield Mutant(
                    module, node.lineno, at(node.lineno, node.col_offset), at(operand.lineno, operand.col_offset), ""
                )
            case ast.Constant(value=bool(value)):
                place = at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)
                yield Mutant(module, node.lineno, *place, str(not value))
            case ast.Constant(value=int(value)):
                place = at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)
                yield Mutant(module, node.lineno, *place, str(value + 1))
            case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call())):
                segment = ast.get_source_segment(source.decode(), node) or ""
                if not _SKIPPED_CALLS.match(segment):
                    place = at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)
                    yield Mutant(module, node.lineno, *place, "pass")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _reachable(tree: ast.Module) -> Iterator[ast.AST]:
    """Walk the bodies of functions only: annotations, defaults and module constants are mostly tuning."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name != "__repr__":
            for statement in node.body:
                for child in ast.walk(statement):
                    if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                        yield child


def nearest_tests(module: Path) -> list[str]:
    """Return the test files that import a module: those named after it first, then those in its own folder."""
    dotted = ".".join(("scoter", *module.with_suffix("").relative_to("src/scoter").parts)).removesuffix(".__init__")
    parent, _, name = dotted.rpartition(".")
    pattern = re.compile(rf"from {re.escape(dotted)} import|from {re.escape(parent)} import [^\n]*\b{name}\b")
    package = module.relative_to("src/scoter").parts[0]
    ranked = []
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        path = file.relative_to(ROOT)
        is_named = name in file.stem
        if is_named or pattern.search(file.read_text("utf-8")):
            ranked.append((not is_named, package not in path.parts, str(path)))
    doctests = [str(module)] if ">>> " in (ROOT / module).read_text("utf-8") else []
    return doctests + [path for *_, path in sorted(ranked)[:MOST_TEST_FILES]]


def is_caught(mutant: Mutant, copy: Path) -> bool | None:
    """Run the nearest tests against a mutant; None if there are none."""
    tests = nearest_tests(mutant.module)
    if not tests:
        return None
    target = copy / mutant.module
    original = target.read_bytes()
    target.write_bytes(original[: mutant.start] + mutant.text.encode() + original[mutant.end :])
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider"]
    command += ["-m", "not browser and not spark and not service", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, timeout=TIMEOUT, check=False, text=True
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        target.write_bytes(original)
    if done.returncode == 5:
        return None
    return done.returncode != 0


def sample(count: int, seed: int, only: str) -> list[Mutant]:
    """Choose modules at random, weighted by size, and one mutant of each choice."""
    packages = [only] if only else PACKAGES
    modules = [
        path
        for package in packages
        for path in ([SOURCE / package] if package.endswith(".py") else sorted((SOURCE / package).rglob("*.py")))
    ]
    chance = random.Random(seed)
    everything = [mutant for path in modules for mutant in mutants_of(path.relative_to(ROOT))]
    return chance.sample(everything, min(count, len(everything)))


def run(chosen: Sequence[Mutant], jobs: int) -> int:
    copies: SimpleQueue[Path] = SimpleQueue()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        for number in range(jobs):
            copy = Path(folder) / str(number)
            shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".venv*", ".git", "build", ".*_cache", "dist"))
            copies.put(copy)

        def judge(mutant: Mutant) -> bool | None:
            copy = copies.get()
            try:
                return is_caught(mutant, copy)
            finally:
                copies.put(copy)

        verdicts = []
        for mutant, caught in zip(chosen, pool.map(judge, chosen), strict=True):
            word = {True: "caught  ", False: "SURVIVED", None: "untested"}[caught]
            print(f"{word}  {mutant.describe((ROOT / mutant.module).read_bytes())}", flush=True)
            verdicts.append(bool(caught))
    share = sum(verdicts) / len(verdicts)
    print(f"{sum(verdicts)} of {len(verdicts)} mutants caught: {share:.0%} (at least {WANTED:.0%})")
    return 0 if share >= WANTED else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a package or module below src/scoter")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    return run(sample(asked.mutants, asked.seed, asked.only), asked.jobs)


if __name__ == "__main__":
    sys.exit(main())
