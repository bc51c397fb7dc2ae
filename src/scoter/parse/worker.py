"""The main program of the parser process: parses contents from standard input and writes the results.

``parser_process`` starts it as ``python -m scoter.parse.worker SECONDS CPU BYTES``. It ends when its input ends.

CPU time is limited by ``ITIMER_PROF``, whose signal ends the process. Unlike ``setrlimit``, the timer restarts with
each content and counts fractions of a second. A second timer limits wall time in case the crawl itself is gone. Memory
is limited, core dumps are off, and Python's sockets are blocked, because parsers must not use the network.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import signal
import sys
from typing import Any, BinaryIO

from scoter.core.display import size
from scoter.heap import keep_memory
from scoter.parse.chain import LONGEST_DETAIL, ParserChain
from scoter.parse.parser_process import HEAD, MOST, READY, RETIRED, content, frame, most_memory
from scoter.parse.records import ParseFailed

_GRACE = 5.0  # seconds in which the crawl should have stopped us
_NETWORK = ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname")


def main() -> None:
    seconds, cpu, memory = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the crawl handles interrupts
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # a command started by a plug-in must not read our input
    os.dup2(2, 1)  # output of a plug-in must not get into the results
    path, make = pickle.loads(_read(source))  # noqa: S301 - from the process that started this one
    sys.path[:] = path
    chain: ParserChain = pickle.loads(make)()  # noqa: S301 - likewise
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    keep_memory()
    sys.addaudithook(_refuse_network)
    with contextlib.suppress(EOFError, BrokenPipeError):
        sink.write(READY)
        sink.flush()
        while True:
            body = _read(source)
            if seconds:
                signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE)
            signal.setitimer(signal.ITIMER_PROF, cpu)
            answer = _answer(chain, body, memory)
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            sink.write(answer)
            sink.flush()


def _answer(chain: ParserChain, body: bytes, memory: int) -> bytes:
    try:
        found = chain.parse(content(body))
        # A library that runs out of memory may raise any exception.
        if isinstance(found, ParseFailed) and found.reason == "broken_plugin" and most_memory() > RETIRED * memory:
            found = ParseFailed("memory", found.detail)
        answer = frame(found)
    except MemoryError:
        answer = frame(ParseFailed("memory", "refused an allocation"))
    except Exception as error:  # report it and go on
        answer = frame(ParseFailed("broken_plugin", f"{type(error).__name__}: {error}"[:LONGEST_DETAIL]))
    if len(answer) > MOST:
        return frame(ParseFailed("memory", f"the pages take {size(len(answer))}"))
    return answer


def _refuse_network(event: str, _: tuple[Any, ...]) -> None:
    if event in _NETWORK:
        raise PermissionError(f"network access is blocked in the parser process ({event})")


def _read(source: BinaryIO) -> bytes:
    size = int.from_bytes(_exactly(source, HEAD))
    return _exactly(source, size)


def _exactly(source: BinaryIO, size: int) -> bytes:
    found = source.read(size)
    if len(found) < size:
        raise EOFError
    return found


if __name__ == "__main__":
    main()
