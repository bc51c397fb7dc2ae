"""Mutate the source and run the nearest tests; exit 1 if fewer than 90 % of the mutants are caught.

    python -m tests.long.mutants [--mutants 40] [--seed 1] [--only core/url.py] [--jobs 2]

Each mutant changes one place: a comparison at its boundary, ``and``/``or``, a sign, a constant, a ``not``, or a call
whose result is not used. It is written to a private copy of the tree, and the nearest test files run against it
(``nearest_tests``). A mutant is caught when a test fails or hangs. The seed chooses the sample; changing a line of the
source leaves the other choices as they are. Survivors are printed as a diff line to write a test for.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import cache_from_source
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

import pytest
from tests.long.nearest_tests import ROOT, nearest_tests

SOURCE = ROOT / "src" / "scoter"
WANTED = 0.9
TIMEOUT = 60.0  # seconds of a few test files
TEST_TIMEOUT = 30  # of one test: it hangs
MARKERS = "not browser and not spark and not spark_cluster and not slow"
MOST_TEST_FILES = 6
POWER_FAILURE = "tests/store/test_power_failure.py"
"""Whatever the module, a missing sync shows here."""
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
WITH_SERVERS = ("live/kafka", "live/service/roles")
"""Left out: their tests need Kafka and Cassandra."""
_COMPARED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_COMPUTED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+"}
# Calls that leave a trace for people, free resources or tune.
_SKIPPED_CALLS = re.compile(
    r"(await )?((log|logger|warnings|print|super|gc|assert_never)\b"
    r"|(\w|\.)+\.(debug|info|warning|cancel|close|setopt)\()"
)
_SKIPPED_ARGUMENTS = ("missing_ok", "ignore_errors", "exist_ok", "daemon", "strict", "flush")
"""Switches that make a difference only after a fault."""


class Mutant(NamedTuple):
    """One change to one module: the bytes from ``start`` to ``end`` become ``text``."""

    module: Path
    line: int
    start: int
    end: int
    text: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}\n      - {self.before}\n      + {self.after}"

    def rank(self, seed: int) -> tuple[bytes, int]:
        """Return a random number for the changed line, wherever in the module it is."""
        text = f"{seed} {self.module} {self.before} {self.after}"
        return hashlib.blake2b(text.encode()).digest(), self.start


def mutants_of(module: Path) -> Iterator[Mutant]:
    """Yield every mutant of a module."""
    source = (ROOT / module).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(node: ast.stmt | ast.expr) -> tuple[int, int]:
        first, last = node.lineno, node.end_lineno or node.lineno
        return starts[first - 1] + node.col_offset, starts[last - 1] + (node.end_col_offset or 0)

    def change(start: int, end: int, text: str) -> Mutant:
        above, below = source.rfind(b"\n", 0, start) + 1, source.find(b"\n", end)
        before, after = source[above:below], source[above:start] + text.encode() + source[end:below]
        line = source.count(b"\n", 0, start) + 1
        return Mutant(module, line, start, end, text, before.decode().strip(), after.decode().strip())

    def between(left: ast.expr, right: ast.expr, pattern: str, text: str) -> Iterator[Mutant]:
        start = place(left)[1]
        if found := re.search(pattern.encode(), source[start : place(right)[0]]):
            yield change(start + found.start(), start + found.end(), text)

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
            case ast.UnaryOp(op=ast.Not()):
                start, _ = place(node)
                yield change(start, start + len("not "), "")
            case ast.Constant(value=bool(value)):
                yield change(*place(node), str(not value))
            case ast.Constant(value=int(value)):
                start, end = place(node)
                if source[start : start + 2] != b"0o":  # the mode of a file
                    yield change(start, end, str(value + 1))
            case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call())):
                start, end = place(node)
                if not _SKIPPED_CALLS.match(source[start:end].decode()):
                    yield change(start, end, "pass")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _reachable(tree: ast.Module) -> Iterator[ast.AST]:
    """Walk the bodies of functions only: annotations, defaults and module constants are mostly tuning."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name != "__repr__":
            todo: list[ast.AST] = [*node.body]
            while todo:
                match child := todo.pop():
                    case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.AnnAssign(value=None):
                        continue  # a nested function has its own turn
                    case ast.keyword(arg=str(name)) if name in _SKIPPED_ARGUMENTS:
                        continue
                    case ast.Call(func=ast.Attribute(value=ast.Name(id="log" | "logger"))):
                        continue
                yield child
                todo += ast.iter_child_nodes(child)


def catcher(mutant: Mutant, copy: Path) -> str | None:
    """Run the nearest tests against a mutant; return the first that fails, or None if the mutant survives."""
    target = copy / mutant.module
    original = target.read_bytes()
    target.write_bytes(original[: mutant.start] + mutant.text.encode() + original[mutant.end :])
    tests = nearest_tests(mutant.module, MOST_TEST_FILES)
    if "sync" in mutant.before:
        tests = [POWER_FAILURE, *(each for each in tests if each != POWER_FAILURE)]
    try:
        # Most mutants are caught by the nearest two: the others need not even be imported.
        groups = filter(None, (tests[:2], tests[2:]))
        failed = next(filter(None, (first_failure(group, copy) for group in groups)), None)
    finally:
        target.write_bytes(original)
        # Python compares only the size and the second of a change with those of the bytecode.
        Path(cache_from_source(target)).unlink(missing_ok=True)
    # A test that fails without the mutant too, on a busy machine for example, proves nothing.
    return failed if failed and first_failure([failed.partition("[")[0]], copy) is None else None


def first_failure(tests: Sequence[str], copy: Path) -> str | None:
    """Run test files in a copy of the tree, and return the first test that fails."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--no-header", "-p", "no:cacheprovider"]
    command += ["-o", f"timeout={TEST_TIMEOUT}", "-m", MARKERS, *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, timeout=TIMEOUT, check=False, text=True
        )
    except subprocess.TimeoutExpired:
        return None  # the nearest ones have passed, and no single one hangs
    if done.returncode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return failed[1] if failed else tests[0]


def sample(count: int, seed: int, only: str) -> list[Mutant]:
    """Choose mutants at random, but the same ones for the same seed."""
    packages = [only] if only else PACKAGES
    modules = [
        path
        for package in packages
        for path in ([SOURCE / package] if package.endswith(".py") else sorted((SOURCE / package).rglob("*.py")))
        if only or not any(path.is_relative_to(SOURCE / each) for each in WITH_SERVERS)
    ]
    everything = {mutant for path in modules for mutant in mutants_of(path.relative_to(ROOT))}
    return sorted(everything, key=lambda mutant: mutant.rank(seed))[:count]


def run(chosen: Sequence[Mutant], jobs: int) -> int:
    copies: SimpleQueue[Path] = SimpleQueue()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        for number in range(jobs):
            copy = Path(folder) / str(number)
            shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".venv*", ".git", "build", ".*_cache", "dist"))
            copies.put(copy)

        def judge(mutant: Mutant) -> tuple[str | None, float]:
            copy, began = copies.get(), time.monotonic()
            try:
                return catcher(mutant, copy), time.monotonic() - began
            finally:
                copies.put(copy)

        caught = 0
        for mutant, (test, seconds) in zip(chosen, pool.map(judge, chosen), strict=True):
            print(f"{mutant}\n      {f'caught by {test}' if test else 'SURVIVED'} ({seconds:.0f} s)", flush=True)
            caught += test is not None
    share = caught / len(chosen)
    print(f"{caught} of {len(chosen)} mutants caught: {share:.0%} (at least {WANTED:.0%})")
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
