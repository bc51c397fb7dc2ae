"""Table storage in a local folder: atomic renames, and kernel locks that end with their process."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow.fs as arrow_fs

from scoter.errors import UsageError
from scoter.store.disk import disk_errors, make_folder, sync_file, sync_folder, try_lock
from scoter.store.objects.client import is_url
from scoter.store.objects.path import StorePath, any_path
from scoter.store.objects.registry import client_of
from scoter.store.tables.storage import Holder, Release, TableStorage, decode_holder, encode_holder, refusal

_DRAFT = ".open"
_NEW = ".new"
_HOLDER_SIZE = 4096


class LocalStorage:
    """A folder on a local or mounted disk."""

    lasting_names = True
    refuses_names = False

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    def __repr__(self) -> str:
        return f"LocalStorage({self.root})"

    @property
    def filesystem(self) -> Any:
        return arrow_fs.LocalFileSystem()

    def arrow_path(self, name: str) -> str:
        return str(self.root / name)

    def location(self, name: str = "") -> str:
        return str(self.root / name)

    def make(self, name: str = "") -> None:
        folder = self.root / name
        with disk_errors("create the folder", folder):
            make_folder(folder)

    def entries(self, name: str = "") -> dict[str, int | None] | None:
        folder = self.root / name
        found: dict[str, int | None] = {}
        try:
            with disk_errors("list the folder", folder), os.scandir(folder) as listing:
                for entry in listing:
                    with suppress(FileNotFoundError):  # renamed or removed after it was listed
                        found[entry.name] = None if entry.is_dir() else entry.stat().st_size
        except UsageError as failure:
            if isinstance(failure.__cause__, FileNotFoundError) and not folder.exists():
                return None
            raise
        return found

    def read(self, name: str) -> bytes | None:
        file = self.open(name)
        if file is None:
            return None
        with disk_errors("read the file", self.root / name), file:
            return file.read()

    def open(self, name: str) -> BinaryIO | None:
        path = self.root / name
        with disk_errors("open the file", path):
            try:
                return path.open("rb")
            except (FileNotFoundError, NotADirectoryError):
                return None

    def replace(self, name: str, data: bytes) -> None:
        path = self.root / name
        with disk_errors("write the file", path):
            with _replacing(path) as new:
                new.write_bytes(data)
            sync_folder(path.parent)

    def draft(self, name: str) -> Path:
        return self.root / f"{name}{_DRAFT}"

    def finish(self, name: str, draft: Path) -> None:
        path = self.root / name
        with disk_errors("name the file", path):
            if not path.parent.exists():
                self.make(name.rpartition("/")[0])
            sync_file(draft)
            try:
                draft.replace(path)
            except OSError as failure:
                if failure.errno != errno.EXDEV:
                    raise
                with _replacing(path) as new:  # the draft is on another disk
                    shutil.copyfile(draft, new)
                draft.unlink()
            sync_folder(path.parent)

    def sync(self) -> None:
        with disk_errors("write the folder", self.root):
            sync_folder(self.root)

    def remove(self, name: str) -> None:
        path = self.root / name
        with disk_errors("remove the file", path):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def hold(self, name: str) -> tuple[bytes, Release] | None:
        path = self.root / name
        with disk_errors("read the manifest", path):
            try:
                handle = os.open(path, os.O_RDONLY)
            except (FileNotFoundError, NotADirectoryError):
                return None
            if not try_lock(handle, fcntl.LOCK_SH) or os.fstat(handle).st_nlink == 0:
                os.close(handle)
                return None
            file = os.fdopen(handle, "rb")
            try:
                return file.read(), file.close
            except BaseException:
                file.close()
                raise

    def remove_version(self, name: str, manifest: str, spared: frozenset[str] = frozenset()) -> bool:
        path = self.root / name / manifest
        with disk_errors("remove the version", path.parent):
            try:
                handle = os.open(path, os.O_RDWR)  # NFS grants exclusive locks only on files open for writing
            except (FileNotFoundError, NotADirectoryError):
                self._remove_except(name, spared)
                return True
            try:
                if not try_lock(handle):
                    return False
                path.unlink()
                self._remove_except(name, spared)
            finally:
                os.close(handle)
        return True

    def _remove_except(self, name: str, spared: frozenset[str]) -> None:
        if not spared:
            self.remove(name)
            return
        folder = self.root / name
        for path in sorted(folder.rglob("*"), reverse=True):  # the content of a folder before the folder
            if not path.is_dir() and path.relative_to(folder).as_posix() not in spared:
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()

    def lock(self, name: str, holder: Holder, guards: Sequence[str] = ()) -> LocalStorageLock:
        path = self.root / name
        with disk_errors("lock the table", path):
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                if not try_lock(handle):
                    found = decode_holder(os.pread(handle, _HOLDER_SIZE, 0))
                    hint = "Wait until it is done, or stop that process; its lock ends with it."
                    raise refusal(found, self.location(), hint)
                with suppress(OSError):  # on a full disk the lock names no holder, but ``clean`` can still free space
                    os.ftruncate(handle, 0)
                    os.pwrite(handle, encode_holder(holder), 0)
            except BaseException:
                os.close(handle)
                raise
        return LocalStorageLock(handle)

    def break_lock(self, name: str) -> Holder | None:
        raise UsageError(
            "a lock on this machine cannot be broken",
            where=self.location(name),
            hint="It ends with its process: stop that process.",
        )

    def close(self) -> None:
        """Do nothing: unfinished files stay in the folder for recovery."""


class LocalStorageLock:
    """A lock that the kernel releases when its process ends."""

    token = ""

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle

    def check(self) -> None:
        """Do nothing: the kernel grants the lock to no other process."""

    def release(self) -> None:
        """Empty the file but keep it: otherwise two processes could lock two files of the same name."""
        handle, self._handle = self._handle, None
        if handle is not None:
            with suppress(OSError):  # the next writer overwrites its content
                os.ftruncate(handle, 0)
            os.close(handle)


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path; the file written there replaces another, synced, if the context ends without an error."""
    new = path.with_name(path.name + _NEW)
    try:
        yield new
        sync_file(new)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def storage_at(path: str | Path | TableStorage, options: Mapping[str, Any] | None = None) -> TableStorage:
    """Return the storage for a path or URL; ``options`` are passed to fsspec's file system.

    >>> storage_at("crawl/crawldb").location("CURRENT").endswith("/crawl/crawldb/CURRENT")
    True
    """
    if isinstance(path, str):
        path = any_path(path) if options is None or not is_url(path) else StorePath(*client_of(path, options))
    if isinstance(path, StorePath):
        # The libraries of object stores are slow to import, and most crawls are local.
        from scoter.store.tables.remote import ObjectStorage

        return ObjectStorage(path)
    return LocalStorage(path) if isinstance(path, Path) else path
