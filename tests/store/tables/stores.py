"""Storage for table tests: a folder, fsspec's memory file system, and an S3 server on loopback."""

from __future__ import annotations

import atexit
import itertools
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from tests.store.tables.rows import SCHEMA, write

from scoter.store.tables import Manifest, NewVersion, Table
from scoter.store.tables.local import storage_at
from scoter.store.tables.storage import TableStorage

_NAMES = itertools.count()


class Store(Struct, frozen=True):
    """Storage for one table, and the fsspec options to reach it."""

    root: str
    options: Mapping[str, Any]

    @property
    def is_remote(self) -> bool:
        return "://" in self.root

    @property
    def place(self) -> TableStorage:
        return storage_at(self.root, self.options)

    def names(self, path: str = "") -> set[str]:
        return {name for name in self.place.entries(path) or () if not name.startswith(".")}

    def versions(self) -> list[int]:
        return sorted(int(name[1:]) for name in self.names() if name.startswith("v"))

    def write(self, mark: int, **settings: Any) -> Manifest:
        return write(self.root, mark, options=self.options, **settings)

    def new(self, **settings: Any) -> NewVersion:
        return Table.write(self.root, SCHEMA, options=self.options, **settings)

    def open(self, *wanted: Any, **settings: Any) -> Table:
        return Table.open(self.root, *wanted, options=self.options, **settings)


def make_store(kind: str, folder: Path) -> Store:
    """Return empty storage of a kind."""
    if kind == "folder":
        return Store(str(folder / "table"), {})
    if kind == "memory":
        return Store(f"memory://{next(_NAMES)}/table", {})
    return Store(f"s3://crawls/{next(_NAMES)}/table", _server())


@cache
def _server() -> Mapping[str, Any]:
    """Start the server once for all tests, and return the options to reach it."""
    pytest.importorskip("moto", reason="moto is not installed")
    s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed")
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    atexit.register(server.stop)
    host, port = server.get_host_and_port()
    region = {"region_name": "eu-west-1"}
    options = {"key": "test", "secret": "test", "endpoint_url": f"http://{host}:{port}", "client_kwargs": region}
    s3fs.S3FileSystem(**options).mkdir("crawls")
    return options
