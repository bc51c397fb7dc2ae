"""Locks in an object store.

A lease is an object that its holder renews. It is free if the object is missing or empty, and may be taken over once
it has not been renewed for its duration. The age of the object is judged by the store's clock alone, so clocks of
machines may differ. A process that was killed on this machine is noticed at once.

Every change of the object names the version that it replaces: of two processes that want a lease, one gets it, and a
holder that was suspended cannot renew a lease that was taken over. ``check`` is called before each publication; what a
process publishes after a check is protected by conditions of its own (``ObjectStorage``).
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

from msgspec.structs import replace

from scoter.errors import StoreConflict, UsageError, UserError
from scoter.store.objects.client import ABSENT, ObjectClient, StoredObject
from scoter.store.tables.storage import Holder, decode_holder, encode_holder, refusal

RENEWALS = 3
"""Renewals in the time that a lease lasts without one."""
_SLACK = 2.0  # times of objects have a resolution of one second
_TRIES = 20
_proven: WeakSet[ObjectClient] = WeakSet()
"""The stores that have refused a conditional write of this process as they should."""
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # runs on while the machine is suspended


def steady_clock() -> float:
    """Return the seconds since the machine started, including the time it slept."""
    return time.clock_gettime(_CLOCK)


class StoreLease:
    """A lease held by this process, renewed in the background until it is released."""

    def __init__(self, client: ObjectClient, key: str, holder: Holder) -> None:
        self.token = holder.token
        self._client = client
        self._key = key
        self._holder = holder
        self._seconds = client.lease_seconds
        self._version = ABSENT
        self._valid_until = 0.0
        self._lost: UserError | None = None
        self._guard = threading.Lock()
        self._ended = threading.Event()

    def __repr__(self) -> str:
        return f"StoreLease({self._client.url(self._key)}, {self._seconds:g} s)"

    @classmethod
    def take(cls, client: ObjectClient, key: str, holder: Holder, where: str) -> StoreLease:
        """Take a free or expired lease, or raise an error that names its holder; ``where`` is what it protects."""
        lease = cls(client, key, replace(holder, lease=client.lease_seconds, process=process_identity()))
        for _ in range(_TRIES):
            found = client.get(key)
            if found is not None and found.data.strip() and not _is_free(found):
                raise _refusal(found, client.url(key), where)
            try:
                lease._write(found.version if found is not None else ABSENT)
            except StoreConflict:
                continue  # another process was faster: see who
            if found is None:
                lease._require_conditions(where)
            thread = threading.Thread(target=lease._renew_in_background, name="scoter-lease", daemon=True)
            thread.start()
            return lease
        raise UserError("other processes keep taking its lock", where=where, hint="Run this again.")

    def check(self) -> None:
        """Raise unless the lease is ours; it is renewed first if that is uncertain."""
        with self._guard:
            if self._lost is None and steady_clock() >= self._valid_until:
                self._renew()
            if self._lost is not None:
                raise self._lost

    def release(self) -> None:
        """Make the lease free for others."""
        self._ended.set()
        with self._guard, suppress(UserError):  # it expires by itself
            if self._lost is None:
                self._client.put(self._key, b"", self._version)

    def _require_conditions(self, where: str) -> None:
        """Raise if the store writes what it must refuse, because it ignores the conditions of requests."""
        if not self._client.has_conditions or self._client in _proven:
            return
        try:
            self._client.put(self._key, encode_holder(self._holder) + b"\n", ABSENT)
        except StoreConflict:
            _proven.add(self._client)
            return
        self._client.delete([self._key])
        hint = "Use a store with conditional writes (docs/object-stores.md), or crawl into a local directory."
        raise UsageError("the store ignores If-None-Match, which locks need", where=where, hint=hint)

    def _renew_in_background(self) -> None:
        while not self._ended.wait(self._seconds / RENEWALS):
            with self._guard:
                if self._ended.is_set() or self._lost is not None:
                    return
                with suppress(UserError):  # the next attempt may succeed before the lease expires
                    self._renew()

    def _renew(self) -> None:
        self._holder = replace(self._holder, renewals=self._holder.renewals + 1)
        try:
            self._write(self._version)
        except StoreConflict as failure:
            hint = "This process was suspended or cut off for too long, and changed nothing. Run this again."
            message = "the lock of this process has expired, and another process took it"
            self._lost = UserError(message, where=self._client.url(self._key), hint=hint)
            self._lost.__cause__ = failure

    def _write(self, replaces: str) -> None:
        # Counted from before the request: the store may have executed it at any time since.
        began = steady_clock()
        self._version = self._client.put(self._key, encode_holder(self._holder), replaces)
        # A renewal must be due before others may take the lease.
        self._valid_until = began + self._seconds / 2


class LeaseView:
    """A lease that another process holds for this one, such as that of a worker's parent."""

    def __init__(self, client: ObjectClient, key: str, token: str) -> None:
        self._client = client
        self._key = key
        self._token = token

    def check(self) -> None:
        """Raise unless the lease still belongs to the same holder."""
        found = self._client.get(self._key)
        holder = decode_holder(found.data) if found is not None else None
        if holder is None or holder.token != self._token:
            hint = "Nothing was published. To fetch the rest, run the command again."
            raise UserError("the lock of this fetch has expired", where=self._client.url(self._key), hint=hint)


def _is_free(found: StoredObject) -> bool:
    holder = decode_holder(found.data)
    if holder is None or not holder.lease:
        return False
    is_expired = found.age is not None and found.age > holder.lease + _SLACK
    return is_expired or is_gone(holder.process)


def _refusal(found: StoredObject, lock: str, where: str) -> UserError:
    holder = decode_holder(found.data)
    if holder is not None and holder.lease:
        hint = f"Wait until it is done. If it was killed, its lock expires {holder.lease:g} seconds after its end."
    else:
        hint = f"If that process no longer runs, break its lock: remove {lock}, or call break_lock()."
    return refusal(holder, where, hint)


def process_identity() -> str:
    """Return what identifies this process among all processes of all machines; empty if unknown."""
    try:
        return f"{_machine()} {os.getpid()} {_start_time(os.getpid())}"
    except OSError:  # not Linux
        return ""


def is_gone(process: str) -> bool:
    """Return whether a process was on this machine and no longer exists."""
    machine, _, rest = process.rpartition(" ")[0].rpartition(" ")
    try:
        if not machine or machine != _machine():
            return False
        return _start_time(int(rest)) != process.rpartition(" ")[2]
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False


def _machine() -> str:
    """Return the identity of the machine since its last start, and of the process namespace."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"


def _start_time(pid: int) -> str:
    stat = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace")
    fields = stat.rpartition(")")[2].split()
    if fields[0] in "ZX":
        raise FileNotFoundError(pid)  # it has ended, but its parent has not asked for its exit code
    return fields[19]
