"""The crawls below a folder: their names, paths and locks. No name leads out of the folder."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from scoter.batch.crawldir.directory import LOCK, MARKER, CrawlDir
from scoter.errors import UsageError
from scoter.store.disk import check_utf8_path, disk_errors
from scoter.store.tables.storage import Holder, decode_holder

STATE: Final = ".scoter"
_HOLDER_SIZE: Final = 4096
_LONGEST_NAME: Final = 255


class NoSuchCrawl(UsageError):
    """There is no crawl of that name below the folder."""


class CrawlFolder:
    """A folder whose subfolders are crawls; what the server itself stores is in ``.scoter``."""

    def __init__(self, root: Path) -> None:
        check_utf8_path(root)
        if not root.is_dir():
            hint = "Create it first, or pass the folder that holds your crawls."
            raise UsageError("no such folder", where=str(root), hint=hint)
        if (root / MARKER).exists():
            hint = f"Pass the folder above it: scoter ui {root.absolute().parent}"
            raise UsageError("this is a crawl, not a folder of crawls", where=str(root), hint=hint)
        self.root = root.absolute()
        self.state = self.root / STATE

    def create(self) -> None:
        """Create the folder for what the server stores, which only this user can read: it holds the hashes of keys."""
        with disk_errors("create the folder", self.state):
            self.state.mkdir(mode=0o700, exist_ok=True)

    def names(self) -> list[str]:
        """Return the names of the crawls, sorted; links to other folders are left out."""
        with disk_errors("list the crawls", self.root), os.scandir(self.root) as entries:
            return sorted(entry.name for entry in entries if _is_usable(entry.name) and self._has_crawl(entry))

    def _has_crawl(self, entry: os.DirEntry[str]) -> bool:
        return entry.is_dir(follow_symlinks=False) and os.path.lexists(Path(entry.path) / MARKER)

    def path(self, name: str) -> Path:
        """Return the path of an existing crawl."""
        path = self.root / name
        if not _is_usable(name) or path.is_symlink() or not path.is_dir() or not os.path.lexists(path / MARKER):
            raise NoSuchCrawl("there is no such crawl", where=name)
        return path

    def crawl(self, name: str) -> CrawlDir:
        """Open an existing crawl; raise if it is damaged or of a newer version."""
        return CrawlDir.open(self.path(name))

    def is_free(self, name: str) -> bool:
        """Return whether a new crawl can have a name."""
        return _is_usable(name) and not os.path.lexists(self.root / name)

    def holder(self, name: str) -> Holder | None:
        """Return the process that is changing a crawl, as its locks say, if it is alive."""
        path = self.path(name)
        return next(filter(None, map(_living_holder, _locks(path))), None)


def _locks(path: Path) -> Iterator[Path]:
    yield path / LOCK
    # A fetch or parse locks only its segment, which is one of the newest.
    with suppress(OSError):
        segments = sorted(each for each in (path / "segments").iterdir() if not each.name.startswith("."))
        yield from (each / LOCK for each in segments[:-3:-1])


def _living_holder(lock: Path) -> Holder | None:
    # The lock itself is not tried: a command that starts at this moment would find it taken.
    try:
        with lock.open("rb") as file:
            holder = decode_holder(file.read(_HOLDER_SIZE))
    except OSError:
        return None
    if holder is None or holder.host != socket.gethostname():
        return holder
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return holder


def _is_usable(name: str) -> bool:
    """Return whether a name is that of a direct, visible subfolder.

    >>> [_is_usable(name) for name in ("news", "..", ".scoter", "a/b", "")]
    [True, False, False, False, False]
    """
    return bool(name) and name[0] != "." and "/" not in name and "\0" not in name and len(name) <= _LONGEST_NAME
