"""A path in an object store, with the methods of ``pathlib.Path`` that a crawl directory needs.

A folder is a prefix of keys: it exists while there is an object below it.
"""
# mypy: disable-error-code="override, assignment, misc"

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

from scoter.store.objects.client import ObjectClient, is_url
from scoter.store.objects.registry import client_of

if TYPE_CHECKING:
    _Base = Path
else:
    _Base = object


class StoreStat(Struct, frozen=True):
    """The size of an object, under the name that ``os.stat`` gives it."""

    st_size: int


class StorePath(_Base):
    """A path in a store.

    To a type checker it is a ``Path``, so that code which reads a crawl need not know where the crawl is. But it is no
    ``os.PathLike``: functions for local files reject it.
    """

    def __init__(self, client: ObjectClient, key: str, size: int | None = None) -> None:
        self.client = client
        self.key = key
        self._size = size

    @classmethod
    def of(cls, url: str) -> StorePath:
        """Return the path of a URL."""
        return cls(*client_of(url))

    def __repr__(self) -> str:
        return f"StorePath({str(self)!r})"

    def __str__(self) -> str:
        return self.client.url(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorePath) and str(self) == str(other)

    def __lt__(self, other: object) -> bool:
        return str(self) < str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __truediv__(self, name: str) -> StorePath:
        return StorePath(self.client, f"{self.key}/{name}" if self.key else name)

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]

    @property
    def stem(self) -> str:
        return self.name.rpartition(".")[0] or self.name

    @property
    def parent(self) -> StorePath:
        return StorePath(self.client, self.key.rpartition("/")[0])

    def with_name(self, name: str) -> StorePath:
        return self.parent / name

    def resolve(self) -> StorePath:
        return self

    absolute = resolve

    def exists(self) -> bool:
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        return self._size is not None or self.client.size(self.key) is not None

    def is_dir(self) -> bool:
        return self._size is None and bool(self.client.entries(self.key))

    def stat(self) -> StoreStat:
        """Return the size; raise if there is no such object."""
        size = self.client.size(self.key) if self._size is None else self._size
        if size is None:
            raise FileNotFoundError(2, "no such object", str(self))
        return StoreStat(size)

    lstat = stat

    def iterdir(self) -> Iterator[StorePath]:
        """Yield the objects and folders in this folder."""
        for name, size in sorted(self.client.entries(self.key).items()):
            yield StorePath(self.client, f"{self.key}/{name}" if self.key else name, size)

    def glob(self, pattern: str) -> Iterator[StorePath]:
        """Yield what is in this folder and matches a pattern without folders."""
        return (each for each in self.iterdir() if fnmatch.fnmatchcase(each.name, pattern))

    def rglob(self, pattern: str) -> Iterator[StorePath]:
        """Yield all objects below this folder whose names match a pattern."""
        found = (StorePath(self.client, key, size) for key, size in self.client.tree(self.key).items())
        return (each for each in found if fnmatch.fnmatchcase(each.name, pattern))

    def read_bytes(self) -> bytes:
        """Return the content of a small object."""
        found = self.client.get(self.key)
        if found is None:
            raise FileNotFoundError(2, "no such object", str(self))
        return found.data

    def read_text(self, encoding: str = "utf-8") -> str:
        return self.read_bytes().decode(encoding)

    def open(self, mode: str = "rb") -> BinaryIO:
        """Open an object for reading."""
        found = self.client.open(self.key)
        if found is None:
            raise FileNotFoundError(2, "no such object", str(self))
        return found

    def unlink(self, missing_ok: bool = True) -> None:
        """Remove an object; a missing one is ignored."""
        self.client.delete([self.key])


def any_path(path: str | Path) -> Path:
    """Return a path, or a path in a store for a URL.

    >>> any_path("crawl/segments").name
    'segments'
    """
    if not isinstance(path, str):
        return path
    return StorePath.of(path) if is_url(path) else Path(path.removeprefix("file://"))
