"""Parse in a separate process with limits on wall time, CPU time and memory.

The process starts with the first content that needs it and serves one content after another. It is replaced when it
exceeds a limit or crashes. A content that fails in a process which has served others is retried in a fresh one, since
an earlier content may have left the process damaged or short of memory. Commands that a parser started end with it.

Messages are MessagePack with their length in front.
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
"""Bytes of address space for the parser process, including the interpreter."""
HEAD: Final = 8  # bytes of a message's length, which comes before the message itself
READY: Final = bytes(HEAD)
"""The empty message that the process sends once it has started."""
MOST: Final = 128 * 1024 * 1024
"""Bytes of a result; a larger one would exhaust the memory of the crawl."""
RETIRED: Final = 0.5
"""Share of its memory limit after which a process is replaced: the next content may need what the last one took."""
_PIECE: Final = 256 * 1024
_START: Final = 60.0  # seconds to start, on a busy machine
_FULL: Final = 0.75  # share of the limit in use above which a crash is put down to lack of memory
_PEAK: Final = re.compile(rb"VmPeak:\s*(\d+) kB")


class ParserProcess:
    """A parser process, started on demand. Threads may share it; one content is parsed at a time."""

    def __init__(
        self,
        make: Callable[[], ParserChain],
        timeout: timedelta | None = timedelta(seconds=30),
        memory: int = MEMORY,
        cpu: timedelta | None = None,
    ) -> None:
        """``make`` is pickled and called in the process. ``cpu`` limits the CPU time of one content.

        Without ``cpu``, ``timeout`` limits CPU time too.
        """
        self._make = make
        self.timeout = timeout
        self._seconds = 0.0 if timeout is None else timeout.total_seconds()
        self._cpu = self._seconds if cpu is None else cpu.total_seconds()
        self.memory = memory
        self._process: subprocess.Popen[bytes] | None = None
        self._served = 0  # contents parsed by the current process
        self._base = 0  # our own peak memory at the fork, which the system counts as the child's
        self._closed = 0  # number of calls of close()
        self._lock = threading.Lock()

    @classmethod
    def of(cls, config: Config) -> ParserProcess:
        """Return a process with the configured parsers and limits."""
        return cls(partial(ParserChain.of, config), config.parse.timeout, config.parse.memory)

    @property
    def pid(self) -> int | None:
        """The process id, if the process is running."""
        process = self._process
        return None if process is None or process.returncode is not None else process.pid

    def parse(self, content: Content) -> ParseOutcome:
        """Parse a content; takes at most twice the time limit, plus the start of the process."""
        closed = self._closed
        with self._lock:
            was_fresh = self._process is None or self._process.poll() is not None or not self._served
            found = self._parse_once(content)
            if was_fresh or self._closed != closed:
                return found
            is_lost = isinstance(found, ParseFailed) and found.reason in ("crash", "memory")
            return self._parse_once(content) if is_lost else found

    def close(self) -> None:
        """End the process, and with it the content being parsed."""
        self._closed += 1
        if (process := self._process) is not None:
            _kill(process)  # wakes the thread that waits for it, which then releases the lock
        with self._lock:
            self._end()

    def interrupt(self) -> None:
        """End the process if it is parsing a content; otherwise keep it for others."""
        if self._lock.locked():
            self.close()

    def _parse_once(self, content: Content) -> ParseOutcome:
        """Parse a content in the current process, and end that process if it may be damaged."""
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
            return ParseFailed("crash", "the parser process sent an invalid message")
        self._served += 1
        is_short = isinstance(found, ParseFailed) and found.reason == "memory"
        if is_short or most_memory(process.pid) > RETIRED * self.memory:
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
        """Return why the process died, judging by its exit status and its peak memory."""
        code, most = self._end()
        if code == -signal.SIGPROF:
            return ParseFailed("cpu", f"after {self._cpu:g} s of CPU time")
        if code == -signal.SIGALRM:
            return ParseFailed("timeout", f"after {self._seconds:g} s")
        how = f"the parser process exited with {code}"
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                how = f"the parser process was killed by {signal.Signals(-code).name}"
        if most > max(_FULL * self.memory, self._base):
            return ParseFailed("memory", f"{how}, with {size(most)} in use")
        return ParseFailed("crash", how)

    def _end(self) -> tuple[int | None, int]:
        """End the process, if any; return its exit code and its peak memory in bytes."""
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
            except ChildProcessError:  # another thread has waited for it already
                process.wait()
            else:
                process.returncode = os.waitstatus_to_exitcode(status)
                most = usage.ru_maxrss * 1024
        return process.returncode, most


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children; one that is already dead keeps its exit status."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _number(pipe: object) -> int:
    return pipe.fileno()  # type: ignore[attr-defined, no-any-return]


def _exchange(process: subprocess.Popen[bytes], request: bytes, until: float | None) -> bytes:
    """Send a request and return the answer; raise TimeoutError if it is late, EOFError if the process has ended."""
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


def most_memory(pid: int | str = "self") -> int:
    """Return the peak address space of a process in bytes; 0 if the system does not report it."""
    try:
        found = _PEAK.search(Path(f"/proc/{pid}/status").read_bytes())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be sent to another process")


_encoder = msgspec.msgpack.Encoder(enc_hook=_plain)
_contents = msgspec.msgpack.Decoder(Content)
_outcomes: msgspec.msgpack.Decoder[ParseOutcome] = msgspec.msgpack.Decoder(ParseOutcome)


def frame(message: Content | ParseOutcome) -> bytes:
    """Encode a message with its length in front."""
    body = _encoder.encode(message)
    return len(body).to_bytes(HEAD) + body


def content(body: bytes) -> Content:
    return _contents.decode(body)


def outcome(body: bytes) -> ParseOutcome:
    """Decode a result. MessagePack holds no code: a hostile page may have taken over the process."""
    return _outcomes.decode(body)
