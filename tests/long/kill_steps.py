"""Kill the commands that `scoter crawl` does not run: the link graph, its ranks, the scores, and the import from Nutch.

Each command is killed at seeded random moments of its usual duration, and then run to its end. The tables must equal
those of commands that nobody disturbed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from scoter.store.tables import Table

NUTCH_CRAWL = Path(__file__).parents[2] / "examples" / "nutch-crawl"
GRAPH = ("nodes", "node_values", "links", "hosts", "host_values", "host_links")


def killed_steps(crawl: Path, folder: Path, seed: int, kills: int) -> Iterator[str]:
    """Yield what differs in a copy of a crawl whose steps were killed ``kills`` times each."""
    drawn = Random(seed)
    calm, killed = folder / "steps-calm", folder / "steps-killed"
    for copy in (calm, killed):
        shutil.copytree(crawl, copy)
    steps = [("webgraph",), ("linkrank",), ("linkrank", "--algorithm", "pagerank"), ("scoreupdater",)]
    for name, *options in steps:
        usual = _run([name, str(calm), *options])
        for _ in range(kills):
            _kill([name, str(killed), *options], drawn.uniform(0.2, 1.0) * usual)
        _run([name, str(killed), *options])
    usual = _run(["import-nutch-crawl", str(NUTCH_CRAWL), str(folder / "import-calm")])
    for _ in range(kills):
        _kill(["import-nutch-crawl", str(NUTCH_CRAWL), str(folder / "import-killed")], drawn.uniform(0.2, 1.0) * usual)
    _run(["import-nutch-crawl", str(NUTCH_CRAWL), str(folder / "import-killed")])
    tables = [("crawldb", calm, killed), *((f"webgraph/{name}", calm, killed) for name in GRAPH)]
    tables += [(name, folder / "import-calm", folder / "import-killed") for name in ("crawldb", "linkdb", "hostdb")]
    for name, first, second in tables:
        if _rows(first / name) != _rows(second / name):
            yield f"{second.name}: {name} differs after kills"
    for copy in (killed, folder / "import-killed"):
        yield from (f"left over: {path}" for path in (copy / "tmp").glob("*"))


def _command(words: list[str]) -> list[str]:
    return [sys.executable, "-m", "scoter.cli.main", *words, "--quiet"]


def _run(words: list[str]) -> float:
    """Run a command to its end, and return how long it took; it may find that there is nothing left to do."""
    started = time.monotonic()
    done = subprocess.run(_command(words), capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"scoter {' '.join(words)} ended with exit code {done.returncode}: {done.stderr[-600:]}")
    return time.monotonic() - started


def _kill(words: list[str], after: float) -> None:
    process = subprocess.Popen(
        _command(words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _rows(path: Path) -> list[str]:
    with Table.open(path) as table:
        rows: Iterator[dict[str, Any]] = (row for batch in table.scan() for row in batch.to_pylist())
        return sorted(repr(sorted((name, _comparable(value)) for name, value in row.items())) for row in rows)


def _comparable(value: Any) -> Any:
    """Return a value without what may differ: the last digits of sums, and the order of inlinks."""
    if isinstance(value, list):
        return sorted(map(repr, value))
    return round(value, 9) if isinstance(value, float) else value
