"""The port for the storage of tables: a local folder, or anything that fsspec reaches by a URL.

Names are relative to the storage, with ``/`` between folders. A missing file is a value; every other failure is a
``UserError`` that says what could not be done, and where. The holder of a lock is written into it, so that the error
for a second writer can name it.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from uuid import uuid4

import msgspec
from msgspec import Struct

from scoter.errors import UsageError


class Holder(Struct, frozen=True, kw_only=True):
    """The process that holds a lock."""

    pid: int
    host: str
    started: datetime
    command: str
    token: str = ""
    lease: float = 0.0
    """Seconds after which the lock expires unless it is renewed; 0 if it lasts until it is removed."""
    renewals: int = 0
    process: str = ""
    """What identifies the process among those of all machines, if known."""

    def __str__(self) -> str:
        since = self.started.isoformat(" ", "seconds")
        return f"process {self.pid} on {self.host} ({self.command}), since {since}"


def this_process(command: str, now: datetime) -> Holder:
    """Return this process as a holder; the token identifies its lock."""
    # Without arguments: they may contain secrets, and everyone who can read the table can read its lock.
    shown = command or Path(sys.argv[0]).name or "python"
    return Holder(pid=os.getpid(), host=socket.gethostname(), started=now, command=shown, token=uuid4().hex)


def encode_holder(holder: Holder) -> bytes:
    """Return the content of a lock."""
    return msgspec.json.encode(holder) + b"\n"


def decode_holder(data: bytes) -> Holder | None:
    """Return the holder written in a lock, if it is readable."""
    try:
        return msgspec.json.decode(data, type=Holder)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def refusal(holder: Holder | None, where: str, hint: str) -> UsageError:
    """Return the error for a second writer."""
    return UsageError(f"it is being written by {holder or 'another process'}", where=where, hint=hint)


Release = Callable[[], None]


class TableStorage(Protocol):
    """A folder of tables or parts."""

    lasting_names: bool
    """Whether a failed ``replace`` certainly did not happen; false if it may still arrive."""

    refuses_names: bool
    """Whether ``finish`` refuses a name that exists."""

    @property
    def filesystem(self) -> Any:
        """The Arrow file system for reading."""

    def arrow_path(self, name: str) -> str:
        """Return the path of a file for ``filesystem``."""

    def location(self, name: str = "") -> str:
        """Return the path or URL of a file for other tools."""

    def make(self, name: str = "") -> None:
        """Create a folder and its parents."""

    def entries(self, name: str = "") -> dict[str, int | None] | None:
        """Return the names in a folder with their sizes (``None`` for folders), or ``None`` if it does not exist."""

    def read(self, name: str) -> bytes | None:
        """Return the content of a small file, or ``None`` if it does not exist."""

    def open(self, name: str) -> BinaryIO | None:
        """Open a file for reading, or return ``None`` if it does not exist."""

    def replace(self, name: str, data: bytes) -> None:
        """Replace a small file atomically."""

    def draft(self, name: str) -> Path:
        """Return a local path to write a file to that ``finish`` will give its name."""

    def finish(self, name: str, draft: Path) -> None:
        """Give a written file its name, after syncing it."""

    def sync(self) -> None:
        """Make the names in the storage survive a power failure."""

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with its content, if it exists."""

    def hold(self, name: str) -> tuple[bytes, Release] | None:
        """Read the manifest of a version and, if possible, protect the version from removal until released.

        ``None`` if it does not exist or is being removed.
        """

    def remove_version(self, name: str, manifest: str, spared: frozenset[str] = frozenset()) -> bool:
        """Remove a version, its manifest first, except the spared files in it; return false if a reader holds it."""

    def lock(self, name: str, holder: Holder, guards: Sequence[str] = ()) -> StorageLock:
        """Become the only writer, or raise an error that names it.

        ``guards`` are small files that a former holder must not replace any more, even if it does not know yet that
        its lock has expired.
        """

    def break_lock(self, name: str) -> Holder | None:
        """Remove a lock that a killed writer left, and return its holder."""

    def close(self) -> None:
        """Remove unfinished drafts of this process."""


class StorageLock(Protocol):
    """The right to write, until it is released."""

    token: str
    """What identifies the lock to other processes that work for its holder."""

    def check(self) -> None:
        """Raise unless the lock is still ours."""

    def release(self) -> None:
        """Release the lock."""
