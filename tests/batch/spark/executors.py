"""Executors that are processes of this machine, and start without Spark."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

_RUN = "import pickle, sys; sys.path[:0] = {path!r}; pickle.load(sys.stdin.buffer)({number})"
_ATTEMPTS = 4


class ProcessEngine:
    """Runs each task in a process, and again if it fails, as Spark does."""

    driver_host = bind_address = "127.0.0.1"

    def __init__(self) -> None:
        self.running: dict[int, subprocess.Popen[bytes]] = {}
        self._is_cancelled = False

    def run_tasks(self, function: Callable[[int], None], numbers: Sequence[int]) -> None:
        """Call a function with each number."""
        self._is_cancelled = False
        with ThreadPoolExecutor(len(numbers)) as threads:
            for _ in threads.map(partial(self._run, function), numbers):
                pass

    def cancel_tasks(self) -> None:
        self._is_cancelled = True
        for each in self.running.values():
            with suppress(OSError):
                each.kill()

    def pid(self, number: int) -> int:
        """Return the process that was started last for a list; 0 if there is none."""
        found = self.running.get(number)
        return 0 if found is None else found.pid

    def _run(self, function: Callable[[int], None], number: int) -> None:
        for _ in range(_ATTEMPTS):
            code = _RUN.format(path=sys.path, number=number)
            process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, env=os.environ)
            self.running[number] = process
            assert process.stdin is not None
            with suppress(BrokenPipeError):
                process.stdin.write(pickle.dumps(function))
                process.stdin.close()
            if process.wait() == 0 or self._is_cancelled:
                return
        raise RuntimeError(f"the task of list {number} failed {_ATTEMPTS} times")
