"""The files of an object store as a query reads them: in few requests.

An object's end is read first, which also tells its size: there a Parquet file says what is in it, and of a small file
that is all. Nothing is looked up before it is read, and the ends of the last files are kept. The files behind a table
never change, so all this stays true while a query runs.
"""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from datetime import UTC, datetime
from typing import Any, Final

from fsspec import AbstractFileSystem

from scoter.store.objects.client import ObjectClient

END: Final = 2**19
"""How many bytes of an object are read first."""
_BLOCK: Final = 2**20
_MOST_KEPT: Final = 64 * 2**20
_UNCHANGED: Final = datetime(2000, 1, 1, tzinfo=UTC)


class QueryFiles(AbstractFileSystem):  # type: ignore[misc]
    """Reads objects of one store. Its methods are those that DuckDB and Arrow call."""

    cachable = False

    def __init__(self, client: ObjectClient) -> None:
        super().__init__()
        self.protocol = client.url("").partition(":")[0]
        self._client = client
        root = client.arrow_path("")
        self._root = f"{root}/" if root else ""
        self._ends: OrderedDict[str, tuple[bytes, int]] = OrderedDict()  # and the size of the object
        self._kept = 0
        self._guard = threading.Lock()

    def open(self, path: str, mode: str = "rb", **_: Any) -> ObjectReader:
        """Open an object for reading."""
        if mode not in ("r", "rb"):
            raise PermissionError(f"{path}: objects are only read")
        return ObjectReader(self._client, self._key(path), *self._end(path))

    def glob(self, path: str, **_: Any) -> list[str]:
        """Return a path as it is: queries name their files."""
        return [path]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        try:
            return {"name": path, "size": self.size(path), "type": "file"}
        except FileNotFoundError:
            if not self.isdir(path):
                raise
        return {"name": path, "size": 0, "type": "directory"}

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """Return the files and folders in a folder."""
        folder = path.rstrip("/")
        found = [
            {"name": f"{folder}/{name}", "size": size or 0, "type": "directory" if size is None else "file"}
            for name, size in self._client.entries(self._key(folder)).items()
        ]
        return found if detail else [each["name"] for each in found]

    def size(self, path: str) -> int:
        return self._end(path)[1]

    def exists(self, path: str, **_: Any) -> bool:
        try:
            self._end(path)
        except FileNotFoundError:
            return False
        return True

    isfile = exists

    def isdir(self, path: str) -> bool:
        return bool(self._client.entries(self._key(path.rstrip("/"))))

    def modified(self, path: str) -> datetime:
        """Return one time for all files, because they do not change."""
        return _UNCHANGED

    def _key(self, path: str) -> str:
        return path.removeprefix(f"{self.protocol}://").removeprefix(self._root)

    def _end(self, path: str) -> tuple[bytes, int]:
        """Return the end of an object and its size."""
        with self._guard:
            found = self._ends.get(path)
            if found is not None:
                self._ends.move_to_end(path)
                return found
        found = self._client.end(self._key(path), END)
        if found is None:
            raise FileNotFoundError(path)
        with self._guard:
            if path not in self._ends:
                self._kept += len(found[0])
            self._ends[path] = found
            while self._kept > _MOST_KEPT:
                _, (end, _) = self._ends.popitem(last=False)
                self._kept -= len(end)
        return found


class ObjectReader(io.RawIOBase):
    """Reads an object, whose end is known, in blocks."""

    def __init__(self, client: ObjectClient, key: str, end: bytes, size: int) -> None:
        super().__init__()
        self._client = client
        self._key = key
        self._size = size
        self._at = 0
        self._end_at, self._end = size - len(end), end
        self._block_at, self._block = 0, b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def read(self, size: int = -1) -> bytes:
        until = self._size if size < 0 else min(self._at + size, self._size)
        if self._at >= until:
            return b""
        found = self._range(self._at, until)
        self._at = until
        return found

    def _range(self, start: int, until: int) -> bytes:
        if start >= self._end_at:
            return self._end[start - self._end_at : until - self._end_at]
        if not (self._block_at <= start and until <= self._block_at + len(self._block)):
            wanted = min(max(until, start + _BLOCK), max(until, self._end_at))
            self._block_at, self._block = start, self._client.range(self._key, start, wanted)
        return self._block[start - self._block_at : until - self._block_at]
