"""Input that people name on the command line: files, lines and URLs."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from scoter.core.display import size
from scoter.errors import UsageError

DEFAULT_LIMIT = 64 * 2**20


def read_bytes(file: Path, limit: int = DEFAULT_LIMIT) -> bytes:
    """Return a file's bytes; `-` and /dev/stdin are standard input."""
    try:
        with Path("/dev/stdin" if str(file) == "-" else file).open("rb") as source:
            body = source.read(limit + 1)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(file)) from error
    if len(body) > limit:
        raise UsageError(f"is larger than {size(limit)}", where=str(file), hint="Is it the right file?")
    return body


def read_urls(arguments: tuple[str, ...]) -> Iterator[str]:
    """Yield the URLs given as arguments; without any, or with a single dash, yield the lines of standard input."""
    if arguments and arguments != ("-",):
        # Bytes that are not UTF-8 arrive as surrogates, which cannot be printed.
        yield from (text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for text in arguments)
        return
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("no URLs given", hint="Pass them as arguments, or pipe them in, one per line.")
    with open(sys.stdin.fileno(), encoding="utf-8", errors="replace", closefd=False) as lines:
        for line in lines:
            text = line.strip("\r\n")
            if text.strip():
                yield text


def open_lines(file: Path | None) -> int:
    """Open a file, or standard input without one, and return its descriptor."""
    if file is None or str(file) == "-":
        if sys.stdin is None or sys.stdin.closed:
            raise UsageError("standard input is closed")
        return sys.stdin.fileno()
    try:
        descriptor = os.open(file, os.O_RDONLY)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        return descriptor
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(file)) from error


def bytes_to_read(descriptor: int) -> int:
    """Return the size of a regular file, 0 for a pipe or a terminal."""
    found = os.fstat(descriptor)
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
