"""Where tables lie: a folder on this machine, or anything that fsspec reaches by a URL.

Names are relative to the place, with ``/`` between folders. What is missing is told by a value; every other failure is
a ``UserError`` that says what could not be done, and where.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from scoter.store.tables.holder import Holder

Release = Callable[[], None]


class Place(Protocol):
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

    def lock(self, name: str, holder: Holder) -> Lock:
        """Become the only writer, or say who is."""

    def break_lock(self, name: str) -> Holder | None:
        """Remove a lock that a killed writer left, and return whose it was."""

    def close(self) -> None:
        """Remove what only this process needed: drafts that were never finished."""


class Lock(Protocol):
    """The right to write, until it is released."""

    def check(self) -> None:
        """Raise unless the lock is still ours."""

    def release(self) -> None:
        """Give it back."""


def place_at(path: str | Path | Place, options: Mapping[str, Any] | None = None) -> Place:
    """Return the place that a path or a URL names; ``options`` are what fsspec's file system takes.

    >>> place_at("crawl/crawldb").location("CURRENT").endswith("/crawl/crawldb/CURRENT")
    True
    """
    if not isinstance(path, str | Path):
        return path
    text = str(path)
    if isinstance(path, str) and "://" in text and not text.startswith("file://"):
        # fsspec's file systems are slow to import, and most crawls are local.
        from scoter.store.tables.remote import RemotePlace

        return RemotePlace(text, options or {})
    from scoter.store.tables.local import LocalPlace

    return LocalPlace(Path(text.removeprefix("file://")))
