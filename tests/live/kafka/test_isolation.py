"""Workers in a network of their own: they reach the broker and the web, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.live.kafka.conftest import cluster_settings
from tests.live.kafka.pages import serving
from tests.live.kafka.running import Cluster
from tests.live.service.running import settings
from tests.servers.cluster import CASSANDRA_PORT, KAFKA_PORT
from tests.servers.networks import Gateway, Network, can_isolate
from tests.servers.running import free_port

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]


def answer(url: str) -> bytes | str:
    """Return a page, or a redirect to the database."""
    return f"http://127.0.0.1:{CASSANDRA_PORT}/" if url.endswith("/to-database") else b"<title>A page</title>"


@pytest.fixture
def networks(tmp_path: Path) -> Iterator[dict[str, Network]]:
    if not can_isolate():
        pytest.skip("network namespaces need root and iproute2")
    with ExitStack() as stack:
        gateway = Gateway(tmp_path, stack)
        yield {role: Network(f"scoter-{os.getpid()}-{role}", gateway) for role in ("worker", "pipeline")}


def test_workers_reach_only_broker_and_web(tmp_path: Path, prefix: str, networks: dict[str, Network]) -> None:
    workers, pipelines = networks["worker"], networks["pipeline"]
    with serving(answer) as port:
        workers.open(KAFKA_PORT)
        workers.open(port)
        pipelines.open(KAFKA_PORT)
        pipelines.open(CASSANDRA_PORT)
        assert [workers.reaches(each) for each in (KAFKA_PORT, port, CASSANDRA_PORT)] == [True, True, False]
        assert [pipelines.reaches(each) for each in (KAFKA_PORT, port, CASSANDRA_PORT)] == [True, False, True]
        # The address guard alone would refuse the redirect; it must fail without the guard too.
        options = settings(port, *cluster_settings(prefix), 'fetch.allow_networks=["127.0.0.0/8"]')
        with Cluster(tmp_path / "roles", prefix, options) as live:
            live.start("worker", within=workers.command)
            live.start("pipeline", within=pipelines.command)
            api_port = free_port()
            api = live.start("api", within=pipelines.command, port=api_port)
            api.port = free_port()
            pipelines.offer(api_port, api.port)

            name = f"{prefix}-m"
            got = api.submit("http://a.example/page", "http://b.example/to-database", id=name)
            assert got.status == 202
            live.wait_until_announced({(name, url) for url in got.json["messages"][0]["entries"]}, 60)

            found = {event.url: event.record for event in live.events()}
            page, database = found["http://a.example/page"], found["http://b.example/to-database"]
            assert page.state == "ok"
            assert page.metadata is not None
            assert page.metadata.title == "A page"
            assert database.state == "failed"
            assert database.resolved == f"http://127.0.0.1:{CASSANDRA_PORT}/"
            assert database.reason in {"unreachable", "robots_unreachable"}
