"""Parsing where it can be stopped: a process of its own, with limits of wall time, CPU time and memory.

The process is started when the first content needs it and serves one content after another. One that overstays its
time, runs out of memory or dies is replaced, and only the content that did it has failed: what fails in a process that
has served others is tried again in a fresh one, since a predecessor may have left it damaged or short of memory.
Whatever the process has started (a command that parses) ends with it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from scoter.config import Config
from scoter.core.display import size
from scoter.core.page import Content
from scoter.parse.chain import ParserChain
from scoter.parse.records import ParseFailed, ParseOutcome

MEMORY: Final = 1024 * 1024 * 1024
"""Bytes of address space for the parser process, itself included."""
_PIECE: Final = 256 * 1024
_START: Final = 60.0  # seconds that the process may take to start on a busy machine
_FULL: Final = 0.75  # share of its memory that was in use when a process died for want of more


class ParserProcess:
    """A parser process and the way to it; threads may share one, and wait for each other."""

    def __init__(
        self,
        make: Callable[[], ParserChain],
        timeout: timedelta | None = timedelta(seconds=30),
        memory: int = MEMORY,
        cpu: timedelta | None = None,
    ) -> None:
        """``make`` is called in the process, so it must be something that pickles: a function of a module, say.

        ``cpu`` is the CPU time for one content, of all threads together; without it, it is ``timeout``.
        """
        self._make = make
        self.timeout = timeout
        self._seconds = 0.0 if timeout is None else timeout.total_seconds()
        self._cpu = self._seconds if cpu is None else cpu.total_seconds()
        self.memory = memory
        self._process: subprocess.Popen[bytes] | None = None
        self._served = 0  # contents that the process has answered
        self._base = 0  # most bytes that the crawl had when it started the process, which the system counts as its own
        self._closed = 0  # times
        self._turn = threading.Lock()

    @classmethod
    def of(cls, config: Config) -> ParserProcess:
        """Return one whose process has the configuration's own chain."""
        return cls(partial(ParserChain.of, config), config.parse.timeout, config.parse.memory)

    @property
    def pid(self) -> int | None:
        """The process, if it runs."""
        process = self._process
        return None if process is None or process.returncode is not None else process.pid

    def parse(self, content: Content) -> ParseOutcome:
        """Return what came of a content; it takes no longer than the limits, twice at worst, and the start."""
        closed = self._closed
        with self._turn:
            was_fresh = self._process is None or self._process.poll() is not None or not self._served
            found = self._tried(content)
            if was_fresh or self._closed != closed:
                return found
            is_lost = isinstance(found, ParseFailed) and found.reason in ("crash", "memory")
            return self._tried(content) if is_lost else found

    def close(self) -> None:
        """End the process, and with it what it is about."""
        self._closed += 1
        if (process := self._process) is not None:
            _kill(process)  # whoever waits for it learns of it at once, and gives up the turn
        with self._turn:
            self._end()

    def _tried(self, content: Content) -> ParseOutcome:
        """Return what came of a content in one process, which is no more if it is the worse for it."""
        try:
            process = self._process
            if process is None or process.poll() is not None:
                process = self._start()
            until = time.monotonic() + self._seconds if self._seconds else None
            found = outcome(_exchange(process, frame(content), until))
        except TimeoutError:
            self._end()
            return ParseFailed("timeout", f"after {self._seconds:g} s")
        except (EOFError, BrokenPipeError):
            return self._died()
        except msgspec.MsgspecError:
            self._end()
            return ParseFailed("crash", "the parser process sent what is no answer")
        self._served += 1
        if (isinstance(found, ParseFailed) and found.reason == "memory") or most_memory(
            process.pid
        ) > RETIRED * self.memory:
            self._end()
        return found

    def _start(self) -> subprocess.Popen[bytes]:
        self._end()
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", "scoter.parse.worker", str(self._seconds), str(self._cpu), str(self.memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            process_group=0,
        )
        os.set_blocking(_number(process.stdin), False)
        os.set_blocking(_number(process.stdout), False)
        self._process = process
        self._served = 0
        self._base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        start = pickle.dumps((sys.path, pickle.dumps(self._make)))
        hello = len(start).to_bytes(HEAD) + start
        _exchange(process, hello, time.monotonic() + _START)
        return process

    def _died(self) -> ParseFailed:
        """Say why the process is no more, by how it ended and by the memory that it had."""
        code, most = self._end()
        if code == -signal.SIGPROF:
            return ParseFailed("cpu", f"after {self._cpu:g} s of CPU time")
        if code == -signal.SIGALRM:
            return ParseFailed("timeout", f"after {self._seconds:g} s")
        how = f"the parser process ended with {code}"
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                how = f"the parser process was ended by {signal.Signals(-code).name}"
        if most > max(_FULL * self.memory, self._base):
            return ParseFailed("memory", f"{how}, with {size(most)} in use")
        return ParseFailed("crash", how)

    def _end(self) -> tuple[int | None, int]:
        """End the process, if there is one; return how it ended, and the most bytes of memory that it had."""
        process, self._process = self._process, None
        if process is None:
            return None, 0
        _kill(process)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        most = 0
        if process.returncode is None:
            try:
                _, status, usage = os.wait4(process.pid, 0)
            except ChildProcessError:  # another thread was there first
                process.wait()
            else:
                process.returncode = os.waitstatus_to_exitcode(status)
                most = usage.ru_maxrss * 1024
        return process.returncode, most


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and whatever it has started; one that is already dead keeps the status it died with."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


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


HEAD: Final = 8  # bytes of the length
READY: Final = bytes(HEAD)
"""What the process sends when it has started: a message of no length."""
MOST: Final = 128 * 1024 * 1024
"""Bytes of an answer; more is too much for the crawl's own memory."""

RETIRED: Final = 0.5
"""The share of its memory after which a process serves no more: the next content may need what the last one took."""


def most_memory(pid: int | str = "self") -> int:
    """Return the most address space that a process has had, in bytes; nothing where the system does not tell."""
    try:
        found = _PEAK.search(Path(f"/proc/{pid}/status").read_bytes())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


_PEAK = re.compile(rb"VmPeak:\s*(\d+) kB")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be sent to another process")


_encoder = msgspec.msgpack.Encoder(enc_hook=_plain)
_contents = msgspec.msgpack.Decoder(Content)
_outcomes: msgspec.msgpack.Decoder[ParseOutcome] = msgspec.msgpack.Decoder(ParseOutcome)


def frame(message: Content | ParseOutcome) -> bytes:
    """Return a message as it goes over the pipe."""
    body = _encoder.encode(message)
    return len(body).to_bytes(HEAD) + body


def content(body: bytes) -> Content:
    return _contents.decode(body)


def outcome(body: bytes) -> ParseOutcome:
    """Read what the process sent. It is data and never code: a hostile page may have taken the process over."""
    return _outcomes.decode(body)
