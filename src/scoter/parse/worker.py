"""The parser process: reads contents from its standard input, parses them, and writes what came of them.

It is started by ``containment`` as ``python -m scoter.parse.worker SECONDS BYTES`` and ends with its input. It ends
itself, too: an alarm stops it shortly after the time limit should the crawl be gone, and memory is limited.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import signal
import sys
from typing import BinaryIO

from scoter.parse.chain import LONGEST_DETAIL, Outcome, ParseFailed, ParserChain
from scoter.parse.frames import HEAD, READY, content, frame

_GRACE = 5.0  # seconds that the crawl has to stop us before we do it ourselves


def main() -> None:
    seconds, memory = float(sys.argv[1]), int(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the crawl decides what an interrupt means
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a plug-in prints must not end up among the answers
    path, make = pickle.loads(_read(source))  # noqa: S301 - from the process that started this one
    sys.path[:] = path
    chain: ParserChain = pickle.loads(make)()  # noqa: S301 - likewise
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    sink.write(READY)
    sink.flush()
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            body = _read(source)
            if seconds:
                signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE)
            answer = frame(_parse(chain, body))
            signal.setitimer(signal.ITIMER_REAL, 0)
            sink.write(answer)
            sink.flush()


def _parse(chain: ParserChain, body: bytes) -> Outcome:
    try:
        return chain.parse(content(body))
    except MemoryError:
        return ParseFailed("memory")
    except Exception as error:  # the crawl is told, and this process lives on
        return ParseFailed("broken_plugin", f"{type(error).__name__}: {error}"[:LONGEST_DETAIL])


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
