"""Runs in a separate process: writes versions in children that are killed at different moments; prints what is left.

Arguments: a folder, and ``steps`` or a seed for random moments. Prints one line of JSON per kill: the step at which the
child died, the version before, the version after, and what was wrong ("" if nothing was).
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

from tests.store.tables.rows import marks, rows, write

from scoter.errors import UserError
from scoter.store.tables import Table

EVENTS = frozenset({"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "fcntl.flock"})
RANDOM_KILLS = 40
FIRST = 10**8
"""The first mark: marks of equal length sort the same as text and as numbers."""


def watch(folder: Path, die_at: int, told: int) -> None:
    """Report every step that changes the disk, and die before one of them, as by ``kill -9``."""
    count = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        path = str(arguments[0]) if arguments else ""
        if event not in EVENTS or (event != "fcntl.flock" and not path.startswith(str(folder)) and "/" in path):
            return
        count += 1
        if count == die_at:
            step = " ".join([event, *(str(each).replace(str(folder), "") for each in arguments[:2])])
            os.write(told, step.encode())
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def child(folder: Path, mark: int, die_at: int) -> tuple[int, int]:
    """Start a child that commits a version, or versions until it is killed; return its pid and its pipe."""
    read, told = os.pipe()
    pid = os.fork()
    if pid:
        os.close(told)
        return pid, read
    try:
        if die_at:
            watch(folder, die_at, told)
        while True:
            write(str(folder), mark, parts=2, applied=[f"segment-{mark}"])
            mark += 1
            if die_at:
                break
    finally:
        os._exit(0)


def fault(folder: Path, before: int) -> tuple[int, str]:
    """Return the version that a reader finds after a kill, and what is wrong with it."""
    try:
        table = Table.open(str(folder))
    except UserError as failure:
        return 0, "" if before == 0 and not (folder / "CURRENT").exists() else str(failure)
    with table:
        table.verify()
        found = marks(table)
        if len(found) != 20 or len(set(found)) != 1:
            return table.version, f"mixed rows: {found}"
        if table.version < before:
            return table.version, "an older version came back"
        if table.manifest.applied[-1] != f"segment-{found[0]}":
            return table.version, f"applied {table.manifest.applied} does not go with {found[0]}"
        if table.manifest.previous is not None:
            with Table.open(str(folder), version=table.manifest.previous) as kept:
                kept.verify()
    return table.version, ""


def die_at_each_step(folder: Path, mark: int) -> None:
    """Kill a writer at its first step, the next at its second, and so on until one finishes."""
    for die_at in range(1, 500):
        before = fault(folder, 0)[0] if folder.exists() else 0
        mark += 1
        pid, read = child(folder, mark, die_at)
        with os.fdopen(read) as pipe:
            step = pipe.read()
        os.waitpid(pid, 0)
        after, wrong = fault(folder, before) if folder.exists() else (0, "")
        print(json.dumps([step, before, after, wrong]))
        if not step:
            return


def die_at_random(folder: Path, seed: int) -> None:
    """Kill writers that keep committing versions, at random moments: before, during and after a commit."""
    draw = random.Random(seed)
    mark = FIRST
    began = time.monotonic()
    write(f"{folder}-undisturbed", mark, parts=2, applied=[f"segment-{mark}"])
    usual = time.monotonic() - began
    for _ in range(RANDOM_KILLS):
        before = fault(folder, 0)[0] if folder.exists() else 0
        mark += 10_000
        pid, read = child(folder, mark, 0)
        select.select([], [], [], usual * draw.uniform(0.05, 4.0))
        os.kill(pid, signal.SIGKILL)
        os.close(read)
        os.waitpid(pid, 0)
        after, wrong = fault(folder, before) if folder.exists() else (0, "")
        print(json.dumps(["random", before, after, wrong]))


if __name__ == "__main__":
    where = Path(sys.argv[1])
    rows(FIRST)  # imports what Arrow loads on first use, once for all children
    if sys.argv[2] == "steps":
        die_at_each_step(where, FIRST)  # the folder does not exist yet
        for extra in (1, 2):
            write(str(where), FIRST + 1000 + extra, parts=2, applied=[f"segment-{FIRST + 1000 + extra}"])
        die_at_each_step(where, FIRST + 2000)  # there are versions to sweep
    else:
        die_at_random(where, int(sys.argv[2]))
