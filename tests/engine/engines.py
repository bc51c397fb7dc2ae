"""The engines under test: DuckDB with and without ranges, and Spark, which runs only on request."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from scoter.engine import Engine
from scoter.engine.duckdb import DuckDbEngine

MEMORY = 2**28
ENGINES = ("duckdb", "duckdb in ranges", pytest.param("spark", marks=pytest.mark.spark))
# PySpark does not close the socket of a collected frame.
_IGNORE_SOCKETS = pytest.mark.filterwarnings("ignore:unclosed <socket.socket fd=:ResourceWarning")
IN_STORE = pytest.param("spark with a store", marks=[pytest.mark.spark, _IGNORE_SOCKETS])
"""Spark whose executors exchange files through an object store."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip Spark unless the markers of ``-m`` mention it: starting it takes seconds.

    ``SPARK_SHARE`` percent of its tests run, chosen by ``SPARK_SEED``; all by default.
    """
    share = int(os.environ.get("SPARK_SHARE") or 100) if "spark" in config.option.markexpr else 0
    seed = os.environ.get("SPARK_SEED", "1")
    left_out = [
        item
        for item in items
        if item.get_closest_marker("spark") and crc32(f"{seed} {item.nodeid}".encode()) % 100 >= share
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        chosen = set(left_out)
        items[:] = [item for item in items if item not in chosen]


@cache
def _session() -> Any:
    """Start Spark once for all tests; it ends with the process."""
    from scoter.engine.spark import start_session

    _store_url()  # before Spark, whose executors inherit the environment
    return start_session(Path(tempfile.mkdtemp(prefix="scoter-spark-")), max(MEMORY, 2**30), "local[2]")


@cache
def _store_url() -> str:
    """Start an object store; return the URL of a folder in it."""
    from tests.stores.servers import BUCKET, environment, server_port

    os.environ.update(environment(f"http://127.0.0.1:{server_port('moto')}"))
    return f"s3://{BUCKET}/engine"


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with open_by_name(request.param, tmp_path / "engine") as opened:
        yield opened


def open_by_name(name: str, folder: Path, ranges: int = 6) -> Engine:
    if name.startswith("spark"):
        from scoter.engine.spark import SparkEngine

        return SparkEngine(folder, _session(), store=_store_url() if name == "spark with a store" else "")
    return DuckDbEngine(folder, MEMORY, threads=2, ranges=ranges if name == "duckdb in ranges" else None)
