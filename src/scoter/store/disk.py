"""What a disk does wrong, told as an error a person can act on."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scoter.errors import UsageError, UserError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def telling(doing: str, path: Path) -> Iterator[None]:
    """Raise a failure of the disk as a message that says what could not be done, and where."""
    try:
        yield
    except OSError as failure:
        raise disk_error(doing, path, failure) from failure


def disk_error(doing: str, path: Path, failure: OSError) -> UserError:
    """Return the error that tells of a failure; a full disk is not the caller's wrong argument."""
    message = f"cannot {doing}: {failure.strerror or failure}"
    if failure.errno in _FULL:
        hint = "Make room on the disk; what was written before is whole."
        return UserError(message, where=str(path), hint=hint)
    return UsageError(message, where=str(path))


def check_name(folder: str | Path) -> None:
    """Raise if the name of a folder, or of one that it lies in, is not UTF-8: engines and libraries take no other."""
    try:
        str(Path(folder).absolute()).encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            "the name of a directory, and of those it lies in, must be UTF-8",
            where=str(folder),
            hint="Rename it, or name another.",
        ) from error


def sync_folder(folder: Path) -> None:
    """Make names that were given or changed in a folder outlive a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems refuse; there is nothing else to do
            os.fsync(handle)
    finally:
        os.close(handle)
