"""The parser process: reads contents from its standard input, parses them, and writes what came of them.

It is started by ``containment`` as ``python -m scoter.parse.worker SECONDS CPU BYTES`` and ends with its input. For
each content it has CPU seconds, of all its threads together; a timer ends the process when they are spent. It is
``ITIMER_PROF``: the process cannot catch its signal while a library is at work, and need not; and unlike the limit of
``setrlimit`` it starts anew with each content, and counts in less than seconds. A second timer, of wall time, ends the
process should the crawl be gone that would do it. Memory is limited, dumps are not written, and Python's sockets are
refused: parsers have no business on the network, though a library may think it has.
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

_GRACE = 5.0  # seconds that the crawl has to stop us before we do it ourselves
_NETWORK = ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname")


def main() -> None:
    seconds, cpu, memory = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the crawl decides what an interrupt means
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # a command that a plug-in starts must not read our contents
    os.dup2(2, 1)  # what a plug-in prints must not end up among the answers
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
        # A library that gets no memory may say anything; a process that had much of it before is not used again.
        if isinstance(found, ParseFailed) and found.reason == "broken_plugin" and most_memory() > RETIRED * memory:
            found = ParseFailed("memory", found.detail)
        answer = frame(found)
    except MemoryError:
        answer = frame(ParseFailed("memory", "refused an allocation"))
    except Exception as error:  # the crawl is told, and this process lives on
        answer = frame(ParseFailed("broken_plugin", f"{type(error).__name__}: {error}"[:LONGEST_DETAIL]))
    if len(answer) > MOST:
        return frame(ParseFailed("memory", f"its pages take {size(len(answer))}"))
    return answer


def _refuse_network(event: str, _: tuple[Any, ...]) -> None:
    if event in _NETWORK:
        raise PermissionError(f"the parser process has no network ({event})")


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
