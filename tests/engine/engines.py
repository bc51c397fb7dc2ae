"""The engines under test: DuckDB with and without ranges, and Spark, which runs only on request."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from scoter.engine import Engine
from scoter.engine.duckdb import DuckDbEngine

MEMORY = 2**28
ENGINES = ("duckdb", "duckdb in ranges", pytest.param("spark", marks=pytest.mark.spark))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip Spark unless the markers of ``-m`` mention it: starting it takes seconds."""
    if "spark" in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker("spark")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("spark")]


@cache
def _session() -> Any:
    """Start Spark once for all tests; it ends with the process."""
    from scoter.engine.spark import start_session

    return start_session(Path(tempfile.mkdtemp(prefix="scoter-spark-")), max(MEMORY, 2**30), "local[2]")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with open_by_name(request.param, tmp_path / "engine") as opened:
        yield opened


def open_by_name(name: str, folder: Path) -> Engine:
    if name == "spark":
        from scoter.engine.spark import SparkEngine

        return SparkEngine(folder, _session())
    return DuckDbEngine(folder, MEMORY, threads=2, ranges=3 if name == "duckdb in ranges" else None)
