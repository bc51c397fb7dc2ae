"""Table storage in an object store, through fsspec: objects are immutable, and one PUT makes a version current.

Drafts are written locally and uploaded when finished. The lock is an object that is created only if it does not exist
(``If-None-Match: *``). If a store does not support that, the operator must ensure that there is only one writer at a
time; only some conflicts are detected.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

import fsspec
import pyarrow.fs as arrow_fs

from scoter.errors import ScoterError, UsageError, UserError
from scoter.store.tables.storage import Holder, Release, decode_holder, encode_holder, refusal


class ObjectStorage:
    """A folder in an object store."""

    lasting_names = False

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        with _store_errors("reach the store", url):
            self._fs, root = fsspec.core.url_to_fs(url, **options)
        self._root = str(root).rstrip("/")
        self._drafts: Path | None = None

    def __repr__(self) -> str:
        return f"ObjectStorage({self.location()})"

    @property
    def filesystem(self) -> Any:
        return arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(self._fs))

    def arrow_path(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def location(self, name: str = "") -> str:
        return str(self._fs.unstrip_protocol(self.arrow_path(name)))

    def make(self, name: str = "") -> None:
        """Do nothing: folders are only prefixes of object names."""

    def entries(self, name: str = "") -> dict[str, int | None] | None:
        path = self.arrow_path(name)
        with _store_errors("list the folder", self.location(name)):
            self._fs.invalidate_cache()  # other processes write too
            try:
                listing = self._fs.ls(path, detail=True)
            except FileNotFoundError:
                return None
        below = ((str(each["name"]).rstrip("/"), each) for each in listing)
        found = {
            full.rsplit("/", 1)[-1]: None if each["type"] == "directory" else int(each["size"])
            for full, each in below
            if full != path
        }
        return found or None

    def read(self, name: str) -> bytes | None:
        with _store_errors("read the object", self.location(name)):
            try:
                return cast(bytes, self._fs.cat_file(self.arrow_path(name)))
            except FileNotFoundError:
                return None

    def open(self, name: str) -> BinaryIO | None:
        with _store_errors("open the object", self.location(name)):
            self._fs.invalidate_cache()
            try:
                return cast(BinaryIO, self._fs.open(self.arrow_path(name), "rb"))
            except FileNotFoundError:
                return None

    def replace(self, name: str, data: bytes) -> None:
        with _store_errors("write the object", self.location(name)):
            self._fs.pipe_file(self.arrow_path(name), data)

    def draft(self, name: str) -> Path:
        if self._drafts is None:
            self._drafts = Path(tempfile.mkdtemp(prefix="scoter-drafts-"))
        return self._drafts / name.replace("/", "-")

    def finish(self, name: str, draft: Path) -> None:
        with _store_errors("upload the file", self.location(name)):
            self._fs.put_file(str(draft), self.arrow_path(name))
        draft.unlink()

    def sync(self) -> None:
        """Do nothing: an accepted object is durable."""

    def remove(self, name: str) -> None:
        with _store_errors("remove the object", self.location(name)):
            self._fs.invalidate_cache()
            with suppress(FileNotFoundError):
                self._fs.rm(self.arrow_path(name), recursive=True)

    def remove_object(self, name: str) -> None:
        """Remove a single object with one request; ``remove`` must also list the objects below a folder."""
        with _store_errors("remove the object", self.location(name)), suppress(FileNotFoundError):
            self._fs.rm_file(self.arrow_path(name))

    def hold(self, name: str) -> tuple[bytes, Release] | None:
        data = self.read(name)
        return None if data is None else (data, _nothing)

    def remove_version(self, name: str, manifest: str, spared: frozenset[str] = frozenset()) -> bool:
        self.remove_object(f"{name}/{manifest}")
        if not spared:
            self.remove(name)
            return True
        with _store_errors("list the folder", self.location(name)):
            self._fs.invalidate_cache()
            found = [
                str(path).removeprefix(self.arrow_path(name) + "/") for path in self._fs.find(self.arrow_path(name))
            ]
        for file in found:
            if file not in spared:
                self.remove_object(f"{name}/{file}")
        return True

    def lock(self, name: str, holder: Holder) -> ObjectStorageLock:
        lock = ObjectStorageLock(self, name, holder)
        if lock.owner() is None:
            self._create(name, encode_holder(holder))
        # Read it back: it may be another writer's, or ours if the response to the first attempt was lost.
        lock.check()
        return lock

    def break_lock(self, name: str) -> Holder | None:
        data = self.read(name)
        self.remove_object(name)
        return decode_holder(data) if data is not None else None

    def close(self) -> None:
        if self._drafts is not None:
            shutil.rmtree(self._drafts, ignore_errors=True)
            self._drafts = None

    def _create(self, name: str, data: bytes) -> None:
        path = self.arrow_path(name)
        with _store_errors("lock the table", self.location(name)):
            try:
                self._fs.pipe_file(path, data, mode="create")
            except PermissionError:
                raise
            except (OSError, TypeError, ValueError, NotImplementedError):
                # It exists (stores report that in different ways), or the store does not support conditions.
                if self.read(name) is None:
                    self._fs.pipe_file(path, data)


class ObjectStorageLock:
    """A lock that stays until it is removed."""

    def __init__(self, place: ObjectStorage, name: str, holder: Holder) -> None:
        self._place = place
        self._name = name
        self._holder = holder

    def owner(self) -> Holder | None:
        """Return the current holder; an unreadable lock has an unknown one."""
        data = self._place.read(self._name)
        if data is None:
            return None
        return decode_holder(data) or Holder(
            pid=0, host="an unknown host", started=self._holder.started, command="unknown"
        )

    def check(self) -> None:
        owner = self.owner()
        if owner is None:
            hint = "Another process broke it; nothing was changed. Run this again."
            raise UserError("the lock of this writer is gone", where=self._place.location(), hint=hint)
        if owner.token != self._holder.token:
            location = self._place.location(self._name)
            hint = f"If that process no longer runs, break its lock: remove {location}, or call break_lock()."
            raise refusal(owner, self._place.location(), hint)

    def release(self) -> None:
        owner = self.owner()
        if owner is not None and owner.token == self._holder.token:
            self._place.remove_object(self._name)


@contextmanager
def _store_errors(doing: str, where: str) -> Iterator[None]:
    """Raise any failure of the store or its library as a message that says what could not be done."""
    try:
        yield
    except ScoterError:
        raise
    except ImportError as failure:
        hint = "Install the package that fsspec names for it: s3fs for s3://, gcsfs for gs://, adlfs for abfs://."
        raise UsageError(f"cannot {doing}: {failure}", where=where, hint=hint) from failure
    except Exception as failure:
        raise UserError(f"cannot {doing}: {str(failure) or type(failure).__name__}", where=where) from failure


def _nothing() -> None:
    """Release nothing: object stores have no shared locks."""
