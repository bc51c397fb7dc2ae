"""A child process with a time limit and an output limit, ended together with all that it started."""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

from msgspec import Struct

_PIECE: Final = 64 * 1024
_MOST_COMPLAINTS: Final = 4_096  # bytes of standard error that are kept; the rest is read and forgotten


class Ended(Struct, frozen=True):
    """What a child wrote, and what went wrong, in a few words."""

    output: bytes
    doubt: str = ""


def run(command: Sequence[str], given: bytes, *, folder: Path, seconds: float, most: int) -> Ended:
    """Run a program and return what came of it; it takes no longer than its time."""
    until = time.monotonic() + seconds
    try:
        child = subprocess.Popen(  # noqa: S603 - what the settings name, without a shell
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "TMPDIR": str(folder)},
            start_new_session=True,
        )
    except OSError as error:
        return Ended(b"", f"the command cannot be started: {error.strerror}")
    try:
        _bound(child.pid, seconds)
        return _Exchange(child, given, most).run(until, seconds)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        child.wait()


def _bound(process: int, seconds: float) -> None:
    """Bound the processor time: should this process be killed, nobody else would end the child."""
    if hasattr(resource, "prlimit"):
        most = int(seconds) + 2
        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(process, resource.RLIMIT_CPU, (most, most))


class _Exchange:
    """Bytes to and from a child, whichever it wants next."""

    def __init__(self, child: subprocess.Popen[bytes], given: bytes, most: int) -> None:
        self._child = child
        self._rest = memoryview(given)
        self._most = most
        self._output = bytearray()
        self._complaints = bytearray()

    def run(self, until: float, seconds: float) -> Ended:
        with selectors.DefaultSelector() as selector:
            for pipe, events in (
                (self._child.stdin, selectors.EVENT_WRITE),
                (self._child.stdout, selectors.EVENT_READ),
                (self._child.stderr, selectors.EVENT_READ),
            ):
                if pipe is not None:
                    os.set_blocking(pipe.fileno(), False)
                    selector.register(pipe, events)
            while selector.get_map():
                left = until - time.monotonic()
                if left <= 0:
                    return Ended(bytes(self._output), f"the command took longer than {seconds:g} s")
                for key, _ in selector.select(left):
                    if not self._serve(key.fileobj):  # type: ignore[arg-type]
                        selector.unregister(key.fileobj)
                if len(self._output) > self._most:
                    return Ended(bytes(self._output[: self._most]), "the command wrote more than it may")
        return self._left_with(until, seconds)

    def _serve(self, pipe: IO[bytes]) -> bool:
        """Move some bytes; tell whether there may be more."""
        if pipe is self._child.stdin:
            with contextlib.suppress(BlockingIOError):
                try:
                    self._rest = self._rest[os.write(pipe.fileno(), self._rest[:_PIECE]) :]
                except BrokenPipeError:  # it has read what it wanted
                    self._rest = memoryview(b"")
            if not self._rest:
                pipe.close()
            return bool(self._rest)
        piece = os.read(pipe.fileno(), _PIECE)
        if pipe is self._child.stdout:
            self._output += piece
        else:
            self._complaints += piece[: _MOST_COMPLAINTS - len(self._complaints)]
        return bool(piece)

    def _left_with(self, until: float, seconds: float) -> Ended:
        try:
            code = self._child.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            return Ended(bytes(self._output), f"the command took longer than {seconds:g} s")
        if code == 0:
            return Ended(bytes(self._output))
        complaint = self._complaints.decode("utf-8", "replace").strip().partition("\n")[0]
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return Ended(bytes(self._output), f"the command ended with {how}: {complaint}".rstrip(": "))
