"""The crawls below a folder: their names, paths and locks. No name leads out of the folder."""

from __future__ import annotations

import os
import re
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
SPILL: Final = "spill"
"""The folder in it for the temporary files of queries."""
_HOLDER_SIZE: Final = 4096
_LONGEST_NAME: Final = 255
_NEW_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")


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
        check_crawl_name(name)
        path = self.root / name
        if path.is_symlink() or not path.is_dir() or not os.path.lexists(path / MARKER):
            raise NoSuchCrawl("there is no such crawl", where=name)
        return path

    def crawl(self, name: str) -> CrawlDir:
        """Open an existing crawl; raise if it is damaged or of a newer version."""
        return CrawlDir.open(self.path(name))

    def new_path(self, name: str) -> Path:
        """Return the path that a crawl of a name has or would have."""
        check_crawl_name(name)
        return self.root / name

    def is_free(self, name: str) -> bool:
        """Return whether nothing has a name; raise if no new crawl can have it."""
        check_crawl_name(name)
        if os.path.lexists(self.root / name):
            return False
        if _NEW_NAME.match(name) is None:
            hint = "Use up to 100 letters, digits, dots, dashes and underscores, beginning with a letter or digit."
            raise UsageError("a new crawl cannot have this name", where=name, hint=hint)
        return True

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


def check_crawl_name(name: str) -> None:
    """Raise if a name cannot be that of a crawl. Call it before anything else is done with a name from a request."""
    if not _is_usable(name):
        raise NoSuchCrawl("there is no such crawl", where=name)


def _is_usable(name: str) -> bool:
    """Return whether a name is that of a direct, visible subfolder.

    >>> [_is_usable(name) for name in ("news", "..", ".scoter", "a/b", "a\\tb", "")]
    [True, False, False, False, False, False]
    """
    return name.isprintable() and name[:1] not in ("", ".") and "/" not in name and len(name) <= _LONGEST_NAME
