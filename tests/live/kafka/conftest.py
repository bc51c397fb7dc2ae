from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.servers.cluster import CASSANDRA_PORT, CASSANDRA_USER, KAFKA_PORT, is_up
from tests.servers.running import listens

from scoter.config import Config, load

_WHY = "Kafka and Cassandra do not run; start them with: make cluster-up"


# Tests that run side by side do not share a keyspace: some empty its tables.
_KEYSPACE = "scoter_tests_" + os.environ.get("PYTEST_XDIST_WORKER", "main")


def cluster_settings(prefix: str, keyspace: str = _KEYSPACE) -> list[str]:
    """Return the settings of a service on the servers of ``make cluster-up``."""
    return [
        "live.backend=cluster",
        f'kafka.brokers=["127.0.0.1:{KAFKA_PORT}"]',
        f"kafka.prefix={prefix}",
        "kafka.partitions=8",
        "kafka.replication=1",
        'cassandra.hosts=["127.0.0.1"]',
        f"cassandra.port={CASSANDRA_PORT}",
        f"cassandra.keyspace={keyspace}",
        "cassandra.replication=1",
        f"cassandra.username={CASSANDRA_USER}",
        f"cassandra.password={CASSANDRA_USER}",
    ]


@pytest.fixture(autouse=True)
def _servers(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("cluster") is None or is_up():
        return
    if os.environ.get("CI"):
        pytest.fail(_WHY)
    pytest.skip(_WHY)


@pytest.fixture
def prefix() -> Iterator[str]:
    """What the topics of a test begin with; they are deleted at the end."""
    with own_topics() as name:
        yield name


@contextmanager
def own_topics() -> Iterator[str]:
    """Yield what the topics of a service begin with; delete them at the end."""
    name = f"t{secrets.token_hex(4)}"
    yield name
    if not listens(KAFKA_PORT):
        return
    from scoter.live.kafka.kafka import admin_client

    admin = admin_client(load(overrides=cluster_settings(name)).kafka, "tests")
    found = [topic for topic in admin.list_topics(timeout=10).topics if topic.startswith(f"{name}.")]
    for deleted in (admin.delete_topics(found) if found else {}).values():
        deleted.result(10)


@pytest.fixture
def config(prefix: str) -> Config:
    return load(overrides=["agent.name=cluster-test", *cluster_settings(prefix)])
