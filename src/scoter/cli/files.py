"""Files that people name on the command line: read within a limit, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from scoter.errors import UsageError

DEFAULT_LIMIT = 64 * 1024 * 1024


def read_bytes(file: Path, limit: int = DEFAULT_LIMIT) -> bytes:
    """Return a file's bytes; `-` and /dev/stdin are standard input."""
    try:
        with Path("/dev/stdin" if str(file) == "-" else file).open("rb") as source:
            body = source.read(limit + 1)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(file)) from error
    if len(body) > limit:
        raise UsageError(f"is larger than {limit:,} bytes", where=str(file), hint="Is it the right file?")
    return body


def write_text(file: Path, text: str) -> None:
    """Write a file whole: what stood there before stays until the new one is complete."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=file.parent, prefix=".scoter-", delete=False
        ) as new:
            try:
                new.write(text)
                new.flush()
                os.fsync(new.fileno())
                Path(new.name).chmod(0o644)
                Path(new.name).replace(file)
            except BaseException:
                Path(new.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(file)) from error
