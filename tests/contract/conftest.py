"""Fixtures of the contract suites. Spark and the servers of indexes take seconds to start: they run on request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.engines import ENGINES, IN_STORE, open_by_name
from tests.servers import running
from tests.servers.running import RunningServer

from scoter.engine import Engine


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests with these markers unless ``-m`` mentions them."""
    unwanted = [marker for marker in ("spark", "indexes") if marker not in config.option.markexpr]
    left_out = [item for item in items if any(item.get_closest_marker(marker) for marker in unwanted)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(params=[*ENGINES, IN_STORE])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with open_by_name(request.param, tmp_path / "engine") as opened:
        yield opened


@pytest.fixture(scope="session")
def opensearch() -> Iterator[RunningServer]:
    with running.opensearch() as server:
        yield server


@pytest.fixture(scope="session")
def solr() -> Iterator[RunningServer]:
    with running.solr() as server:
        yield server


@pytest.fixture(scope="session")
def kafka() -> Iterator[RunningServer]:
    with running.kafka() as server:
        yield server


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[RunningServer]:
    with running.rabbitmq() as server:
        yield server
