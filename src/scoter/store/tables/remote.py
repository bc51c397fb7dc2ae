"""Table storage in an object store: objects are immutable, and one conditional PUT makes a version current.

Drafts are written locally and uploaded when finished; an upload never replaces an object. A small file is replaced only
if the store still has the version that this process has read. While a lock is held, the files that it guards end with
a line that names the lock: taking the lock changes that line, so a former holder, which does not know yet that its lock
has expired, fails to replace them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4
from weakref import WeakKeyDictionary

from scoter.errors import StoreConflict, UserError
from scoter.store.objects.client import ABSENT, ObjectClient
from scoter.store.objects.copies import drop_copies, keep_copy, process_folder
from scoter.store.objects.leases import StoreLease
from scoter.store.objects.path import StorePath
from scoter.store.tables.storage import (
    Holder,
    Release,
    StorageLock,
    decode_holder,
    encode_holder,
    refusal,
)

_MARK = b"#lock "
_MANIFEST = "_manifest.json"
_WRITER = ".writer"
"""An object in each version, so that a suspended writer cannot use the number of a later one."""
_MANIFESTS = 64
_TRIES = 20
_numbers = itertools.count(1)


class _KnownObjects:
    """The versions of small files that this process has read or written, and the locks that guard them."""

    def __init__(self) -> None:
        self.versions: dict[str, str] = {}
        self.guards: dict[str, str] = {}
        self.manifests: dict[str, bytes] = {}
        """The last manifests read or written; they never change."""


_known: WeakKeyDictionary[ObjectClient, _KnownObjects] = WeakKeyDictionary()


class ObjectStorage:
    """A folder in an object store."""

    lasting_names = False

    def __init__(self, root: StorePath) -> None:
        self.refuses_names = root.client.has_conditions
        self._client = root.client
        self._root = root.key
        self._drafts: Path | None = None
        self._known = _known.setdefault(root.client, _KnownObjects())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.location()})"

    @property
    def filesystem(self) -> Any:
        return self._client.filesystem

    def arrow_path(self, name: str) -> str:
        return self._client.arrow_path(self._key(name))

    def location(self, name: str = "") -> str:
        return self._client.url(self._key(name))

    def make(self, name: str = "") -> None:
        """Reserve the name of a version for one writer; otherwise folders are only prefixes of object names."""
        if name and self._client.has_conditions:
            self._client.put(self._key(f"{name}/{_WRITER}"), uuid4().bytes, ABSENT)

    def entries(self, name: str = "") -> dict[str, int | None] | None:
        return self._client.entries(self._key(name)) or None

    def read(self, name: str) -> bytes | None:
        key = self._key(name)
        if key in self._known.manifests:
            return self._known.manifests[key]
        found = self._client.get(key)
        # A guarded file is replaced only in the version that this process wrote: a later one belongs to a later holder.
        if key not in self._known.guards:
            self._known.versions[key] = found.version if found is not None else ABSENT
        if found is None:
            return None
        data = _without_mark(found.data)
        self._keep_manifest(key, data)
        # A guarded file that does not exist yet has only the line of its lock.
        return None if not data and found.data else data

    def open(self, name: str) -> BinaryIO | None:
        return self._client.open(self._key(name))

    def replace(self, name: str, data: bytes) -> None:
        key = self._key(name)
        guard = self._known.guards.get(key)
        if guard is not None:
            data += _mark(guard)
        elif key.endswith(f"/{_MANIFEST}"):
            self._known.versions[key] = ABSENT
        elif key not in self._known.versions:
            self.read(name)
        # Not known any more if this fails: the store may have executed it.
        replaces = self._known.versions.pop(key)
        self._known.versions[key] = self._client.put(key, data, replaces)
        self._keep_manifest(key, data)

    def draft(self, name: str) -> Path:
        if self._drafts is None:
            self._drafts = process_folder() / f"drafts-{next(_numbers)}"
            self._drafts.mkdir()
        return self._drafts / name.replace("/", "-")

    def finish(self, name: str, draft: Path) -> None:
        self._client.upload(self._key(name), draft)
        if "/" in name:  # a file of a version, which the next job reads
            keep_copy(self.location(name), draft)
        else:
            draft.unlink()

    def sync(self) -> None:
        """Do nothing: an accepted object is durable."""

    def remove(self, name: str) -> None:
        key = self._key(name)
        drop_copies(self._client.url(key))
        self._client.delete([*self._client.tree(key)] or [key])

    def hold(self, name: str) -> tuple[bytes, Release] | None:
        data = self.read(name)
        return None if data is None else (data, _nothing)

    def remove_version(self, name: str, manifest: str, spared: frozenset[str] = frozenset()) -> bool:
        self._known.manifests.pop(self._key(f"{name}/{manifest}"), None)
        self._client.delete([self._key(f"{name}/{manifest}")])
        if not spared:
            self.remove(name)
            return True
        # Stores differ in whether keys start with a slash.
        found = self._client.tree(self._key(name))
        gone = [key for key in found if key.rpartition(f"/{name}/")[2] not in spared]
        for key in gone:
            drop_copies(self._client.url(key))
        if gone:
            self._client.delete(gone)
        return True

    def lock(self, name: str, holder: Holder, guards: Sequence[str] = ()) -> StorageLock:
        if not self._client.has_conditions:
            lock = LastingLock(self._client, self._key(name), holder, self.location())
            lock.take()
            return lock
        lease = StoreLease.take(self._client, self._key(name), holder, self.location())
        try:
            self._forget()
            for each in guards:
                self._guard(each, lease)
        except BaseException:
            lease.release()
            raise
        return _GuardingLock(lease, self._known, [self._key(each) for each in guards])

    def break_lock(self, name: str) -> Holder | None:
        found = self._client.get(self._key(name))
        self._client.delete([self._key(name)])
        return decode_holder(found.data) if found is not None else None

    def close(self) -> None:
        if self._drafts is not None:
            for left in self._drafts.iterdir():
                left.unlink()
            self._drafts.rmdir()
            self._drafts = None

    def _key(self, name: str) -> str:
        return "/".join(filter(None, (self._root, name)))

    def _keep_manifest(self, key: str, data: bytes) -> None:
        kept = self._known.manifests
        if key.endswith(f"/{_MANIFEST}"):
            kept[key] = data
            if len(kept) > _MANIFESTS:
                del kept[next(iter(kept))]

    def _forget(self) -> None:
        """Forget the versions of files in this folder: other holders of the lock may have changed them."""
        below = self._key("") + "/"
        for key in [key for key in self._known.versions if key.startswith(below)]:
            del self._known.versions[key]

    def _guard(self, name: str, lease: StoreLease) -> None:
        """Change the last line of a file, so that only the holder of this lease can replace the file."""
        key = self._key(name)
        for _ in range(_TRIES):
            found = self._client.get(key)
            data = _without_mark(found.data) if found is not None else b""
            try:
                replaces = found.version if found is not None else ABSENT
                self._known.versions[key] = self._client.put(key, data + _mark(lease.token), replaces)
            except StoreConflict:
                lease.check()  # either ours was taken over, or the former holder was just in time
                continue
            self._known.guards[key] = lease.token
            return
        raise UserError("other processes keep changing it", where=self.location(name), hint="Run this again.")


class _GuardingLock:
    """A lease, and the files that it guards."""

    def __init__(self, lease: StoreLease, known: _KnownObjects, keys: Sequence[str]) -> None:
        self.token = lease.token
        self.check = lease.check
        self._lease = lease
        self._known = known
        self._keys = keys

    def release(self) -> None:
        for key in self._keys:
            self._known.guards.pop(key, None)
        self._lease.release()


class LastingLock:
    """A lock that stays until it is removed, for stores that can create objects but not replace a known version."""

    def __init__(self, client: ObjectClient, key: str, holder: Holder, where: str) -> None:
        self.token = holder.token
        self._client = client
        self._key = key
        self._holder = holder
        self._where = where

    def take(self) -> None:
        """Create the lock, or raise an error that names its holder."""
        try:
            self._client.put(self._key, encode_holder(self._holder), ABSENT)
        except StoreConflict:
            self.check()

    def check(self) -> None:
        found = self._client.get(self._key)
        if found is None:
            hint = "Another process broke it; nothing was changed. Run this again."
            raise UserError("the lock of this writer is gone", where=self._where, hint=hint)
        owner = decode_holder(found.data)
        if owner is None or owner.token != self.token:
            url = self._client.url(self._key)
            hint = f"If that process no longer runs, break its lock: remove {url}, or call break_lock()."
            raise refusal(owner, self._where, hint)

    def release(self) -> None:
        found = self._client.get(self._key)
        owner = decode_holder(found.data) if found is not None else None
        if owner is not None and owner.token == self.token:
            self._client.delete([self._key])


def _mark(token: str) -> bytes:
    # The number makes every content unique: versions may be derived from contents.
    return b"%b%b %d\n" % (_MARK, token.encode(), next(_numbers))


def _without_mark(data: bytes) -> bytes:
    start = data.rfind(_MARK)
    is_last = start >= 0 and data.find(b"\n", start) == len(data) - 1
    return data[:start] if is_last and data[start - 1 : start] in (b"", b"\n") else data


def _nothing() -> None:
    """Release nothing: object stores have no shared locks."""
