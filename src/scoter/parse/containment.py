"""Parsing where it can be stopped: a process of its own, with a time limit and a memory limit.

The process is started when the first content needs it and serves one content after another. One that overstays its
time, runs out of memory or dies is replaced, and only the content that did it has failed.
"""

from __future__ import annotations

import os
import pickle
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Final

import msgspec

from scoter.config import Config
from scoter.core.page import Content
from scoter.parse.chain import Outcome, ParseFailed, ParserChain
from scoter.parse.frames import HEAD, MOST, frame, outcome

MEMORY: Final = 1024 * 1024 * 1024
"""Bytes of address space for the parser process, itself included."""
_PIECE: Final = 256 * 1024
_START: Final = 60.0  # seconds that the process may take to start on a busy machine


class Confinement:
    """A parser process and the way to it; threads may share one, and wait for each other."""

    def __init__(
        self, make: Callable[[], ParserChain], timeout: timedelta | None = timedelta(seconds=30), memory: int = MEMORY
    ) -> None:
        """``make`` is called in the process, so it must be something that pickles: a function of a module, say."""
        self._make = make
        self._seconds = 0.0 if timeout is None else timeout.total_seconds()
        self._memory = memory
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = threading.Lock()

    @classmethod
    def of(cls, config: Config) -> Confinement:
        """Return one whose process has the configuration's own chain."""
        return cls(partial(ParserChain.of, config), config.parse.timeout)

    def parse(self, content: Content) -> Outcome:
        """Return what came of a content; it takes no longer than the time limit and the start of a process."""
        with self._turn:
            try:
                answer = self._ask(content)
            except TimeoutError:
                self._end()
                return ParseFailed("timeout", f"after {self._seconds:g} s")
            except (EOFError, BrokenPipeError):
                return ParseFailed("crash", self._died())
            try:
                found = outcome(answer)
            except msgspec.MsgspecError:
                self._end()
                return ParseFailed("crash", "the parser process sent what is no answer")
            if isinstance(found, ParseFailed) and found.reason == "memory":
                self._end()  # what it could not get may be in pieces everywhere
            return found

    def close(self) -> None:
        """End the process, and with it what it is about."""
        if (process := self._process) is not None:
            process.kill()  # whoever waits for it learns of it at once, and gives up the turn
        with self._turn:
            self._end()

    def _ask(self, content: Content) -> bytes:
        process = self._process
        if process is None or process.poll() is not None:
            process = self._process = self._start()
        return _exchange(process, frame(content), time.monotonic() + self._seconds if self._seconds else None)

    def _start(self) -> subprocess.Popen[bytes]:
        self._end()
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", "scoter.parse.worker", str(self._seconds), str(self._memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        os.set_blocking(_number(process.stdin), False)
        os.set_blocking(_number(process.stdout), False)
        self._process = process
        start = pickle.dumps((sys.path, pickle.dumps(self._make)))
        hello = len(start).to_bytes(HEAD) + start
        _exchange(process, hello, time.monotonic() + _START)
        return process

    def _died(self) -> str:
        process = self._process
        self._end()
        code = process.returncode if process is not None else None
        return f"the parser process ended with {code}"

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.wait()


def _number(pipe: object) -> int:
    return pipe.fileno()  # type: ignore[attr-defined, no-any-return]


def _exchange(process: subprocess.Popen[bytes], request: bytes, until: float | None) -> bytes:
    """Send a request and return the answer; TimeoutError when it is late, EOFError when nobody is there."""
    sink, source = _number(process.stdin), _number(process.stdout)
    poll = select.poll()
    poll.register(source, select.POLLIN)
    poll.register(sink, select.POLLOUT)
    rest, answer, wanted = memoryview(request), bytearray(), HEAD
    while len(answer) < wanted:
        left = None if until is None else (until - time.monotonic()) * 1000
        if left is not None and left <= 0:
            raise TimeoutError
        for number, _ in poll.poll(left):
            if number == sink:
                rest = rest[os.write(sink, rest[:_PIECE]) :]
                if not rest:
                    poll.unregister(sink)
                continue
            piece = os.read(source, _PIECE)
            if not piece:
                raise EOFError
            answer += piece
            if wanted == HEAD and len(answer) >= HEAD:
                wanted = HEAD + int.from_bytes(answer[:HEAD])
                if wanted > MOST:
                    raise EOFError
    return bytes(answer[HEAD:])
