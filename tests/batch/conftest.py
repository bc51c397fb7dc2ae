"""The engines that jobs are tested on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.engines import ENGINES, open_by_name, pytest_collection_modifyitems

from scoter.engine import Engine

__all__ = ["engine", "pytest_collection_modifyitems"]


# Jobs without ranges are covered by the tests of crawls and of commands; ranges between two others by those of engines.
@pytest.fixture(params=[each for each in ENGINES if each != "duckdb"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with open_by_name(request.param, tmp_path / "engine", ranges=2) as opened:
        yield opened
