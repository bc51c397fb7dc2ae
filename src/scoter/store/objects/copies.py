"""Local copies of immutable objects, and the temporary folder of this process.

Engines and libraries read local files: a part of a table is downloaded once per process, when it is first read, and
removed when the process ends. A part that this process has written stays as a copy until its version is removed.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from xxhash import xxh3_64_hexdigest

from scoter.errors import StoreConflict, UsageError, UserError
from scoter.store.disk import Scratch, disk_errors, sweep
from scoter.store.objects.client import ABSENT, StoredObject, is_url
from scoter.store.objects.path import StorePath
from scoter.store.objects.registry import client_of

PUBLISH_SECONDS = 60.0
"""Between two attempts to publish a shared file."""
PAUSES = 20
"""Publishing a shared file takes at most about this fraction of the time."""
_guard = threading.RLock()
_folder: tuple[int, Scratch] | None = None


def base_folder() -> Path:
    """Return the folder of all temporary folders of this user, in ``TMPDIR``."""
    return Path(tempfile.gettempdir()) / f"scoter-{os.getuid()}"


def process_folder() -> Path:
    """Return the temporary folder of this process, which is removed when the process ends."""
    global _folder
    with _guard:
        if _folder is None or _folder[0] != os.getpid():
            base = base_folder()
            with disk_errors("create a folder for temporary files", base):
                base.mkdir(mode=0o700, parents=True, exist_ok=True)
                if base.stat().st_uid != os.getuid():
                    raise UsageError("the folder belongs to another user", where=str(base), hint="Set TMPDIR.")
            processes = base / "processes"
            # One process at a time: a new folder is not locked yet, and another process would remove it.
            with (base / "processes.lock").open("ab") as turn:
                fcntl.flock(turn, fcntl.LOCK_EX)
                sweep(processes)
                _folder = os.getpid(), Scratch(processes, "process")
            atexit.register(_close, os.getpid())
        return _folder[1].path


def lock_file(url: str) -> Path:
    """Return a local file by which the processes of this machine lock something in a store."""
    process_folder()
    folder = base_folder() / "locks"
    with disk_errors("create a folder for locks", folder):
        folder.mkdir(exist_ok=True)
    return folder / xxh3_64_hexdigest(url.encode())


def _close(owner: int) -> None:
    if _folder is not None and _folder[0] == owner == os.getpid():
        _folder[1].close()


def local_file(file: str, *, refresh: bool = False) -> str:
    """Return a local path with the content of a file: the path itself, or that of a copy of the object at a URL.

    ``refresh``: the object may have changed since it was copied.
    """
    if not is_url(file):
        return file
    path = _path(file)
    with _guard:
        if path.exists() and not refresh:
            return str(path)
        client, key = client_of(file)
        with disk_errors("copy the object", path):
            path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}")
        if not client.download(key, draft):
            message = "this object no longer exists: newer ones replaced it"
            raise UsageError(message, where=file, hint="Run the command again.")
        draft.replace(path)
    return str(path)


def copied_file(file: str) -> str:
    """Return the path of the local copy of an object, if there is one; otherwise its URL, or a local path as it is."""
    if not is_url(file):
        return file
    path = _path(file)
    return str(path) if path.exists() else file


@contextmanager
def shared_copy(original: StorePath, folder: Path, *, publish: bool) -> Iterator[Path]:
    """Yield the path of a local copy of a SQLite file, and replace the object when the copy has changed.

    With ``publish``, that happens from time to time and at the end, so that a killed process loses little. The file is
    only a cache: if another process has replaced the object meanwhile, that one stays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = original.client.get(original.key)
    with tempfile.TemporaryDirectory(prefix="shared-", dir=folder) as own:
        file = Path(own, original.name)
        if found is not None and found.data:
            file.write_bytes(found.data)
        if not publish:
            yield file
            return
        copy = _PublishedCopy(original, file, found)
        ended = threading.Event()
        thread = threading.Thread(target=copy.publish_until, args=[ended], name="scoter-shared-file", daemon=True)
        thread.start()
        try:
            yield file
        except BaseException:
            ended.set()
            thread.join()
            with suppress(UserError, sqlite3.Error):  # the first error is the one to report
                copy.publish()
            raise
        ended.set()
        thread.join()
        copy.publish()


class _PublishedCopy:
    """A local SQLite file that several processes use, and the object that gets its content."""

    def __init__(self, original: StorePath, file: Path, found: StoredObject | None) -> None:
        self._original = original
        self._file = file
        self._content = found.data if found is not None else b""
        self._version: str | None = found.version if found is not None else ABSENT

    def publish_until(self, ended: threading.Event) -> None:
        """Publish the content from time to time; a large file or a slow store makes the pauses longer."""
        pause = PUBLISH_SECONDS
        while not ended.wait(pause):
            began = time.monotonic()
            with suppress(UserError, sqlite3.Error, OSError):  # the next attempt, or the one at the end, may succeed
                self.publish()
            pause = max(PUBLISH_SECONDS, PAUSES * (time.monotonic() - began))

    def publish(self) -> None:
        """Replace the object if the content has changed, and nobody else has replaced it."""
        if self._version is None or not self._file.exists():
            return
        snapshot = self._file.with_name(f"{self._file.name}.snapshot")
        with closing(sqlite3.connect(self._file)) as source, closing(sqlite3.connect(snapshot)) as target:
            source.backup(target)
        content = snapshot.read_bytes()
        snapshot.unlink()
        if content == self._content:
            return
        try:
            self._version = self._original.client.put(self._original.key, content, self._version)
            self._content = content
        except StoreConflict:
            self._version = None


def keep_copy(url: str, draft: Path) -> None:
    """Turn the local draft of an object that was just uploaded into its local copy."""
    path = _path(url)
    with _guard, disk_errors("keep the file", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(draft, path)


def drop_copies(url: str) -> None:
    """Remove the local copies of an object, or of all objects below a folder."""
    if _folder is None or _folder[0] != os.getpid():
        return
    if not is_url(url):
        return
    path = _path(url)
    with suppress(OSError):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _path(url: str) -> Path:
    scheme, _, rest = url.partition("://")
    pieces = [quote(piece, safe="") for piece in rest.split("/") if piece]
    return Path(process_folder(), "copies", scheme, *pieces)
