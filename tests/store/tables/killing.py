"""Runs in a process of its own: writes versions in children that die at one moment after another; tells what is left.

Arguments: a folder, and ``steps`` or the seed of random moments. One line of JSON a death: the step at which it died,
the version before, the version after, and what was wrong ("" when nothing was).
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
"""The first mark: marks of one length sort as text as they do as numbers."""


def watch(folder: Path, die_at: int, told: int) -> None:
    """Tell every step on the way to the disk, and die before one of them, as ``kill -9`` would have it."""
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
    """Start a child that commits a version, or versions until it is killed; return it and where it tells its end."""
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
    """Return the version that a reader finds after a death, and what is wrong with it."""
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
    """Kill a writer at its first step, the next at its second, until one comes through."""
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
    """Kill writers that commit one version after another, at moments that a seed chooses: before, in and after one."""
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
    rows(FIRST)  # what Arrow imports when it is first used, once for all children
    if sys.argv[2] == "steps":
        die_at_each_step(where, FIRST)  # the folder is not there yet
        for extra in (1, 2):
            write(str(where), FIRST + 1000 + extra, parts=2, applied=[f"segment-{FIRST + 1000 + extra}"])
        die_at_each_step(where, FIRST + 2000)  # there are versions to sweep
    else:
        die_at_random(where, int(sys.argv[2]))
