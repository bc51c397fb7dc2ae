"""The port for an object store.

Keys are relative to the bucket or root of the store. A missing object is a value; every other failure is a
``UserError`` that says what could not be done, and where. No message contains credentials.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from msgspec import Struct

ABSENT: Final = ""
"""The version of an object that does not exist."""
LEASE_SECONDS: Final = 60.0


class StoredObject(Struct, frozen=True):
    """A small object: its content, its version, and its age in seconds by the clock of the store, if known."""

    data: bytes
    version: str
    age: float | None = None


class ObjectClient(Protocol):
    """A store. Methods may be called by several threads."""

    has_conditions: bool
    """Whether ``put`` replaces only the version that the caller names; otherwise it can only create."""
    lease_seconds: float
    """How long a lock in this store lasts without renewal."""

    def url(self, key: str) -> str:
        """Return the URL of an object."""

    @property
    def filesystem(self) -> Any:
        """The Arrow file system for reading."""

    def arrow_path(self, key: str) -> str:
        """Return the path of an object for ``filesystem``."""

    def get(self, key: str) -> StoredObject | None:
        """Return a small object, or ``None`` if it does not exist."""

    def end(self, key: str, most: int) -> tuple[bytes, int] | None:
        """Return the last bytes of an object and its size, or ``None`` if it does not exist."""

    def range(self, key: str, start: int, until: int) -> bytes:
        """Return some bytes of an object; fewer only where it ends."""

    def put(self, key: str, data: bytes, replaces: str | None = None) -> str:
        """Write a small object and return its version.

        ``replaces`` is the version that must be replaced, or ``ABSENT``; if the store has another one, raise
        ``StoreConflict``.
        """

    def size(self, key: str) -> int | None:
        """Return the size of an object, or ``None`` if it does not exist."""

    def upload(self, key: str, file: Path) -> None:
        """Create an object from a file; raise ``StoreConflict`` if another one exists under this key."""

    def download(self, key: str, file: Path) -> bool:
        """Write an object to a file; return false if it does not exist."""

    def open(self, key: str) -> BinaryIO | None:
        """Open an object for reading at any position, or return ``None`` if it does not exist."""

    def entries(self, folder: str) -> dict[str, int | None]:
        """Return the names in a folder with their sizes; ``None`` for folders."""

    def tree(self, folder: str) -> dict[str, int]:
        """Return the keys of all objects below a folder with their sizes."""

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects; missing ones are ignored."""


def is_url(path: object) -> bool:
    """Return whether a path is the URL of an object store.

    >>> is_url("s3://bucket/crawl"), is_url("file:///crawl"), is_url("crawl")
    (True, False, False)
    """
    return isinstance(path, str) and "://" in path and not path.startswith("file://")
