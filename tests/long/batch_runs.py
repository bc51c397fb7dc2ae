"""A `scoter crawl` process that can be killed in a given step, which is read from its status line."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

STEPS = ("inject", "generate", "fetch", "updatedb", "updatehostdb", "dedup", "invertlinks", "index")
_STATUS_LINE = re.compile(r"round \d+(?:/\d+)?  (\w+)|\x1b\[K(index)\b")
_OUTPUT_BYTES = 4_096
_POLL_INTERVAL = 0.002
_TIMEOUT = 300.0  # seconds after which a crawl of this size counts as stuck


class CrawlProcess:
    """A running crawl in its own process group."""

    def __init__(self, arguments: Sequence[str], folder: Path) -> None:
        ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "scoter.cli.main", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            start_new_session=True,
            env={**os.environ, "COLUMNS": "200"},
        )
        os.close(theirs)
        self.output = ""
        self.spent: list[tuple[str, float]] = []
        """The finished steps with their durations in seconds."""
        self._step, self._since = STEPS[0], time.monotonic()
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, args=(ours,), daemon=True)
        self._reader.start()

    def now(self) -> tuple[int, str, float]:
        """Return the number of finished steps, the current step and its duration so far."""
        with self._lock:
            return len(self.spent), self._step, time.monotonic() - self._since

    def reaches(self, step: str, delay: float) -> bool:
        """Wait until a step has run for ``delay`` seconds or ended; return false if the crawl ended first."""
        entered: int | None = None
        until = time.monotonic() + _TIMEOUT
        while self.process.poll() is None:
            if time.monotonic() > until:
                self.kill_group()
                return False
            number, name, seconds = self.now()
            if entered is None and name == step:
                entered = number
            if entered is not None and (number > entered or seconds >= delay):
                return True
            time.sleep(_POLL_INTERVAL)
        return False

    def workers(self) -> list[int]:
        """Return the process ids of the fetching processes."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                command = (folder / "cmdline").read_bytes()
            except (OSError, ValueError):
                continue
            if parent == self.process.pid and b"resource_tracker" not in command:
                found.append(int(folder.name))
        return sorted(found)

    def kill_group(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.wait()

    def kill_parent(self) -> None:
        self.process.kill()
        self.process.wait()  # not for its workers: the next crawl has to cope with them

    def wait(self) -> int:
        """Wait for the end and return the exit code."""
        try:
            code = self.process.wait(_TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            code = self.process.wait()
        self._reader.join(5)  # so that all output has been read
        return code

    def _read(self, terminal: int) -> None:
        with os.fdopen(terminal, "rb", buffering=0) as lines:
            while True:
                try:
                    data = lines.read(_OUTPUT_BYTES)
                except OSError:  # raised when all writers have closed the terminal
                    return
                if not data:
                    return
                self._parse(data.decode(errors="replace"))

    def _parse(self, text: str) -> None:
        with self._lock:
            self.output = (self.output + text)[-_OUTPUT_BYTES:]
            for found in _STATUS_LINE.finditer(text):
                step = found[1] or found[2]
                if step != self._step:
                    now = time.monotonic()
                    self.spent.append((self._step, now - self._since))
                    self._step, self._since = step, now
