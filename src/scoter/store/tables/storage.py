"""Who holds a lock: written into it, so that whoever is turned away knows whom to ask."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from uuid import uuid4

import msgspec
from msgspec import Struct

from scoter.errors import UsageError


class Holder(Struct, frozen=True, kw_only=True):
    """The process that writes."""

    pid: int
    host: str
    started: datetime
    command: str
    token: str = ""

    def __str__(self) -> str:
        since = self.started.isoformat(" ", "seconds")
        return f"process {self.pid} on {self.host} ({self.command}), since {since}"


def this_process(command: str, now: datetime) -> Holder:
    """Return this process as a holder; the token tells its lock from every other one."""
    # Arguments are left out: they may hold secrets, and everyone who can read the table can read its lock.
    shown = command or Path(sys.argv[0]).name or "python"
    return Holder(pid=os.getpid(), host=socket.gethostname(), started=now, command=shown, token=uuid4().hex)


def encode_holder(holder: Holder) -> bytes:
    """Return what is written into a lock."""
    return msgspec.json.encode(holder) + b"\n"


def decode_holder(data: bytes) -> Holder | None:
    """Return who a lock says holds it, if it says so."""
    try:
        return msgspec.json.decode(data, type=Holder)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def refusal(holder: Holder | None, where: str, hint: str) -> UsageError:
    """Return the error of a second writer."""
    return UsageError(f"it is being written by {holder or 'another process'}", where=where, hint=hint)


Release = Callable[[], None]


class TableStorage(Protocol):
    """A folder that holds tables or parts."""

    lasting_names: bool
    """Whether a failed ``replace`` has surely not happened; false where it may still arrive."""

    @property
    def filesystem(self) -> Any:
        """What Arrow reads the place by."""

    def arrow_path(self, name: str) -> str:
        """Return the path that ``filesystem`` knows a file by."""

    def location(self, name: str = "") -> str:
        """Return the path or URL that other tools know a file by."""

    def make(self, name: str = "") -> None:
        """Create a folder, and those above it."""

    def entries(self, name: str = "") -> dict[str, int | None] | None:
        """Return the names in a folder with their sizes (a folder has none); nothing when there is no such folder."""

    def read(self, name: str) -> bytes | None:
        """Return a small file whole, or nothing when it is not there."""

    def open(self, name: str) -> BinaryIO | None:
        """Open a file for reading, or return nothing when it is not there."""

    def replace(self, name: str, data: bytes) -> None:
        """Put a small file in the place of the one of that name: at any moment there is the old one or the new one."""

    def draft(self, name: str) -> Path:
        """Return where on this machine to write a file that ``finish`` is to give that name."""

    def finish(self, name: str, draft: Path) -> None:
        """Give a written file its name, once it would outlive a power failure."""

    def sync(self, name: str = "") -> None:
        """Return when the names in a folder would outlive a power failure."""

    def remove(self, name: str) -> None:
        """Remove a file or a folder with all in it, if it is there."""

    def hold(self, name: str) -> tuple[bytes, Release] | None:
        """Read a version's manifest and keep the version from being removed until released, where that can be done.

        Nothing: it is not there, or is being removed.
        """

    def remove_version(self, name: str, manifest: str) -> bool:
        """Remove a version, its manifest first; false when somebody holds it."""

    def lock(self, name: str, holder: Holder) -> StorageLock:
        """Become the only writer, or say who is."""

    def break_lock(self, name: str) -> Holder | None:
        """Remove a lock that a killed writer left, and return whose it was."""

    def close(self) -> None:
        """Remove what only this process needed: drafts that were never finished."""


class StorageLock(Protocol):
    """The right to write, until it is released."""

    def check(self) -> None:
        """Raise unless the lock is still ours."""

    def release(self) -> None:
        """Give it back."""
