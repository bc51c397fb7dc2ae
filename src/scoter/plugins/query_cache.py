"""Compiled queries, stored for later commands of this user.

``$XDG_CACHE_HOME/scoter/queries`` has one file per query. Its name is a digest of the whole expression and of whatever
turns it into SQL: the versions of Scoter, Ibis, its compiler and DuckDB. So no entry can be out of date, and it can be
deleted at any time. Files are written under another name first; two commands that write the same file write the same.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

_PACKAGES: Final = ("scoter", "ibis-framework", "sqlglot", "duckdb")
_MOST: Final = 2_000
"""Files that are kept; a crawl with all its steps makes about a hundred."""
_SOURCE: Final = Path(__file__).parents[1]


class QueryCache:
    """Values by key, in files of a folder."""

    def __init__(self, folder: Path | None = None, most: int = _MOST) -> None:
        self._folder = folder
        self._most = most
        self._known: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"QueryCache({self._folder})"

    def get(self, key: str) -> Any:
        """Return the value of a key, or ``None``."""
        if key not in self._known:
            with suppress(OSError, ValueError, RuntimeError):
                stored = json.loads(self._file(key).read_bytes())
                if isinstance(stored, dict) and stored.get("key") == key and "value" in stored:
                    self._keep(key, stored["value"])
        return self._known.get(key)

    def put(self, key: str, value: Any) -> None:
        """Store a value, which must be JSON; if that is not possible, it is kept in this process only."""
        self._keep(key, value)
        with suppress(OSError, RuntimeError):
            file = self._file(key)
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._make_room(file.parent)  # also of what a killed command left
            handle, name = tempfile.mkstemp(prefix=".new-", dir=file.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as opened:
                json.dump({"key": key, "value": value}, opened)
            Path(name).replace(file)

    def _keep(self, key: str, value: Any) -> None:
        if len(self._known) >= self._most:
            self._known.clear()
        self._known[key] = value

    def _make_room(self, folder: Path) -> None:
        """Delete the older half of the files if there are too many."""
        with os.scandir(folder) as found:
            files = list(found)
        if len(files) >= self._most:
            with suppress(FileNotFoundError):  # another command makes room, too
                for each in sorted(files, key=lambda file: file.stat().st_mtime)[: len(files) // 2 + 1]:
                    Path(each.path).unlink()

    def _file(self, key: str) -> Path:
        folder = _default_folder() if self._folder is None else self._folder
        name = blake2b(f"{self._maker} {key}".encode(), digest_size=20).hexdigest()
        return folder / f"{name}.json"

    @cached_property
    def _maker(self) -> str:
        """What turns an expression into SQL."""
        versions = [f"{name} {_version(name)}" for name in _PACKAGES]
        # In a source tree, the version stays the same when the code changes.
        sources = [*(_SOURCE / "engine").iterdir(), Path(__file__), Path(__file__).with_name("recorded.py")]
        states = [(each.name, each.stat()) for each in sorted(sources) if each.suffix != ".pyc"]
        changes = [f"{name} {state.st_size} {state.st_mtime_ns}" for name, state in states]
        return "\n".join([str(_SOURCE), sys.version, *versions, *changes])


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _default_folder() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "scoter" / "queries"


QUERIES: Final = QueryCache()
