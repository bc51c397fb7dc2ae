"""Any store that fsspec supports, such as ``gs://``, ``abfs://`` and ``hdfs://``.

fsspec can create an object that does not exist, but not replace one version of an object: locks in such a store do not
expire, and are removed by a person if their process was killed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

import fsspec

from scoter.errors import ScoterError, StoreConflict, UsageError, UserError
from scoter.store.objects.client import ABSENT, LEASE_SECONDS, ObjectClient, StoredObject

_UNKNOWN = "unknown"
_PACKAGES = {"gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "abfss": "adlfs", "az": "adlfs", "hdfs": "pyarrow"}
_HADOOP = (
    "hdfs:// needs Java and Hadoop's client: set JAVA_HOME and HADOOP_HOME, or ARROW_LIBHDFS_DIR to the folder of"
    " libhdfs.so, and CLASSPATH to the output of: hadoop classpath --glob"
)


class FsspecClient:
    """The store of a URL."""

    has_conditions = False
    lease_seconds = LEASE_SECONDS

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        with store_errors("reach the store", url):
            self._fs, _ = fsspec.core.url_to_fs(url, **options)

    def __repr__(self) -> str:
        return f"FsspecClient({self._fs.protocol})"

    @staticmethod
    def key_of(client: ObjectClient, url: str) -> str:
        """Return the path of a URL as its file system spells it."""
        fs = cast(FsspecClient, client)._fs
        with store_errors("reach the store", url):
            return str(fs._strip_protocol(url)).rstrip("/")

    def url(self, key: str) -> str:
        return str(self._fs.unstrip_protocol(key))

    @property
    def filesystem(self) -> Any:
        import pyarrow.fs as arrow_fs

        return arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(self._fs))

    def arrow_path(self, key: str) -> str:
        return key

    def get(self, key: str) -> StoredObject | None:
        with store_errors("read the object", self.url(key)):
            try:
                return StoredObject(cast(bytes, self._fs.cat_file(key)), _UNKNOWN)
            except FileNotFoundError:
                return None

    def end(self, key: str, most: int) -> tuple[bytes, int] | None:
        size = self.size(key)
        return None if size is None else (self.range(key, max(0, size - most), size), size)

    def range(self, key: str, start: int, until: int) -> bytes:
        with store_errors("read the object", self.url(key)):
            return cast(bytes, self._fs.cat_file(key, start=start, end=until))

    def put(self, key: str, data: bytes, replaces: str | None = None) -> str:
        with store_errors("write the object", self.url(key)):
            if replaces != ABSENT:
                self._fs.pipe_file(key, data)
                return _UNKNOWN
            try:
                self._fs.pipe_file(key, data, mode="create")
            except PermissionError:
                raise
            except (OSError, TypeError, ValueError, NotImplementedError) as failure:
                # It exists (stores report that in different ways), or the store cannot create exclusively.
                found = self.get(key)
                if found is None:
                    if isinstance(failure, OSError) and not isinstance(failure, FileExistsError):
                        raise  # the store cannot be reached, or refuses
                    raise UserError(
                        "the store cannot create an object only if it does not exist, which locks need",
                        where=self.url(key),
                    ) from failure
                if found.data != data:
                    raise StoreConflict("another process has changed it", where=self.url(key)) from failure
        return _UNKNOWN

    def size(self, key: str) -> int | None:
        with store_errors("look up the object", self.url(key)):
            try:
                self._fs.invalidate_cache()  # other processes write too
                found = self._fs.info(key)
            except FileNotFoundError:
                return None
        return None if found["type"] == "directory" else int(found["size"])

    def upload(self, key: str, file: Path) -> None:
        with store_errors("upload the file", self.url(key)):
            self._fs.put_file(str(file), key)

    def download(self, key: str, file: Path) -> bool:
        with store_errors("download the object", self.url(key)):
            try:
                self._fs.get_file(key, str(file))
            except FileNotFoundError:
                return False
        return True

    def open(self, key: str) -> BinaryIO | None:
        with store_errors("open the object", self.url(key)):
            self._fs.invalidate_cache()
            try:
                return cast(BinaryIO, self._fs.open(key, "rb"))
            except FileNotFoundError:
                return None

    def entries(self, folder: str) -> dict[str, int | None]:
        with store_errors("list the folder", self.url(folder)):
            self._fs.invalidate_cache()
            try:
                listing = self._fs.ls(folder, detail=True)
            except FileNotFoundError:
                return {}
        below = ((str(each["name"]).rstrip("/"), each) for each in listing)
        return {
            full.rsplit("/", 1)[-1]: None if each["type"] == "directory" else int(each["size"])
            for full, each in below
            if full != folder
        }

    def tree(self, folder: str) -> dict[str, int]:
        with store_errors("list the folder", self.url(folder)):
            self._fs.invalidate_cache()
            found = self._fs.find(folder, detail=True)
        return {str(name): int(each["size"]) for name, each in found.items()}

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            with store_errors("remove the object", self.url(key)), suppress(FileNotFoundError):
                self._fs.rm_file(key)


@contextmanager
def store_errors(doing: str, where: str) -> Iterator[None]:
    """Raise any failure of the store or its library as a message that says what could not be done."""
    try:
        yield
    except ScoterError:
        raise
    except ImportError as failure:
        package = _PACKAGES.get(where.partition("://")[0])
        hint = f"Install it: pip install {package}" if package else "Install the package that fsspec names for it."
        raise UsageError(f"cannot {doing}: {failure}", where=where, hint=hint) from failure
    except Exception as failure:
        hint = _HADOOP if "libhdfs" in str(failure) else ""
        raise UserError(
            f"cannot {doing}: {str(failure) or type(failure).__name__}", where=where, hint=hint
        ) from failure
