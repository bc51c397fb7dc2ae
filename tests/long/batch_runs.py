"""`scoter crawl`, watched and killed: the step that it is in is read off the line that it shows on a terminal."""

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

STEPS = ("inject", "generate", "fetch", "updatedb", "dedup", "invertlinks")
_LINE = re.compile(r"round (\d+)(?:/\d+)?  (\w+)")
_KEPT = 4_096
_LOOK = 0.002
_ALIVE = 300.0  # seconds after which a crawl of this size counts as stuck


class Run:
    """A running crawl, leader of a process group of its own."""

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
        self.said = ""
        self.spent: list[tuple[str, float]] = []
        """The steps so far, each with the seconds that it took."""
        self._step, self._since = STEPS[0], time.monotonic()
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, args=(ours,), daemon=True)
        self._reader.start()

    def now(self) -> tuple[int, str, float]:
        """Return the step the crawl is in: how many came before, its name, and since how many seconds."""
        with self._lock:
            return len(self.spent), self._step, time.monotonic() - self._since

    def reaches(self, step: str, delay: float) -> bool:
        """Wait until it has been in a step for some time, or has left it before; false if it ended first."""
        entered: int | None = None
        until = time.monotonic() + _ALIVE
        while self.process.poll() is None:
            if time.monotonic() > until:
                self.kill_group()
                return False
            number, name, seconds = self.now()
            if entered is None and name == step:
                entered = number
            if entered is not None and (number > entered or seconds >= delay):
                return True
            time.sleep(_LOOK)
        return False

    def workers(self) -> list[int]:
        """Return the fetching processes."""
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
        self.ended()

    def kill_parent(self) -> None:
        self.process.kill()
        self.process.wait()  # and not for its workers: whoever starts the next crawl has to

    def ended(self) -> int:
        """Wait for its end, and return its exit code."""
        try:
            code = self.process.wait(_ALIVE)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            code = self.process.wait()
        self._reader.join(5)  # so that all that it said has been read
        return code

    def _read(self, terminal: int) -> None:
        with os.fdopen(terminal, "rb", buffering=0) as lines:
            while True:
                try:
                    data = lines.read(_KEPT)
                except OSError:  # how a terminal says that nobody is left to write to it
                    return
                if not data:
                    return
                self._hear(data.decode(errors="replace"))

    def _hear(self, text: str) -> None:
        with self._lock:
            self.said = (self.said + text)[-_KEPT:]
            for found in _LINE.finditer(text):
                if found[2] != self._step:
                    now = time.monotonic()
                    self.spent.append((self._step, now - self._since))
                    self._step, self._since = found[2], now
