"""Who holds a lock: written into it, so that whoever is turned away knows whom to ask."""

from __future__ import annotations

import os
import socket
import sys
from datetime import datetime
from pathlib import Path
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
