"""Two webs that the tests share: a plain one and one with faults."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.simweb.walker import Client

from scoter.simweb import SimServer, WebSpec, running

FAULTY = WebSpec(hosts=20, pages=60, faults=True, drip_seconds=0.1, silence_seconds=0.2)


@pytest.fixture(scope="session")
def plain() -> Iterator[SimServer]:
    with running(WebSpec()) as server:
        yield server


@pytest.fixture(scope="session")
def faulty() -> Iterator[SimServer]:
    with running(FAULTY) as server:
        yield server


@pytest.fixture
def client(plain: SimServer) -> Iterator[Client]:
    connected = Client(plain.port)
    yield connected
    connected.close()


@pytest.fixture
def faulty_client(faulty: SimServer) -> Iterator[Client]:
    connected = Client(faulty.port)
    yield connected
    connected.close()
