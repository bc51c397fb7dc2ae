"""Run a module under a sampling profiler that follows its worker processes.

    python -m benchmarks.batch.profile FOLDER MODULE ARGUMENT...

Every 5 ms of CPU time, each process notes which of Scoter's modules is running: the innermost one on the stack, so that
a library's time counts for the module that called it. Samples go to FOLDER, one file per process. Use it on the pure
build: compiled functions leave no frames.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import signal
import sys
from collections import Counter
from pathlib import Path
from types import FrameType

INTERVAL = 0.005
WRITE_EVERY = 50

_counts: Counter[str] = Counter()
_folder = Path()


def _sample(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("scoter"):
            break
        frame = frame.f_back
    _counts[name if frame is not None else "start-up and shutdown"] += 1
    if _counts.total() % WRITE_EVERY == 0:
        _write()


def _write() -> None:
    (_folder / f"{os.getpid()}.json").write_text(json.dumps(_counts))


def _start() -> None:
    _counts.clear()
    signal.signal(signal.SIGPROF, _sample)
    signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)


def _stop() -> None:
    signal.setitimer(signal.ITIMER_PROF, 0)  # before Python removes the handler, which would end the process
    _write()


def shares(folder: Path) -> dict[str, float]:
    """Return each module's share of all samples in a folder."""
    total: Counter[str] = Counter()
    for file in folder.glob("*.json"):
        total.update(json.loads(file.read_text()))
    return {name: count / total.total() for name, count in total.most_common()}


def main() -> None:
    global _folder
    _folder = Path(sys.argv[1])
    module = sys.argv[2]
    sys.argv[:3] = [module]
    os.register_at_fork(after_in_child=_start)
    atexit.register(_stop)
    _start()
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
