"""The services of the Compose file start with their own commands, stop, and find everything again."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.deploy.containers import ROOT, Container, compose, running, seconds, wait_for
from tests.live.kafka.conftest import cluster_settings, own_topics
from tests.live.service.running import pages
from tests.servers.cluster import KAFKA_PORT, is_up

from scoter.simweb import SimServer, WebSpec
from scoter.simweb import running as running_web

WEB = WebSpec(hosts=20, pages=60, page_bytes=2_000)
URLS = pages(WEB, 6)
VARIABLES = {"AGENT_NAME": "compose-test"}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a path as short as those in a container, so that sockets are in the service's directory."""
    with TemporaryDirectory(prefix="sc-", dir="/tmp") as found:
        yield Path(found)


@pytest.fixture(scope="module")
def web() -> Iterator[SimServer]:
    with running_web(WEB) as found:
        yield found


def on_the_synthetic_web(web: SimServer) -> dict[str, str]:
    """Return the settings that send every request to the synthetic web."""
    return {
        "SCOTER_FETCH__CONNECT_TO": json.dumps([f"*:*=127.0.0.1:{web.port}"]),
        "SCOTER_FETCH__ALLOW_PORTS": json.dumps(["1-65535"]),
        "SCOTER_FETCH__DELAY": "0",
        "SCOTER_STORE__DISK_FLOOR": "0",
    }


class ComposeService:
    """A service of the Compose file, as a process."""

    def __init__(
        self, name: str, folder: Path, environment: Mapping[str, str], names: Mapping[str, str] | None = None
    ) -> None:
        found = compose(**VARIABLES)
        self._service: dict[str, Any] = found["services"][name]
        self._volumes = {}
        for mounted in self._service.get("volumes", ()):
            volume, path = mounted.split(":")
            self._volumes[path] = folder / "volumes" / volume
            self._volumes[path].mkdir(parents=True, exist_ok=True)
        self._scratch = folder / "scratch" / name
        self._environment = {**self._service["environment"], **environment}
        self._names = names
        self._starts = 0

    def container(self) -> Container:
        """Return a new container with the same volumes and new scratch space."""
        self._starts += 1
        scratch = self._scratch / str(self._starts)
        scratch.mkdir(parents=True)
        environment = {**self._environment, "HOME": str(scratch), "TMPDIR": str(scratch)}
        return Container(
            self._service["command"], environment, {**self._volumes, "/tmp": scratch}, names=self._names
        )  # fmt: skip

    @property
    def check(self) -> Sequence[str]:
        how, *words = self._service["healthcheck"]["test"]
        return words if how == "CMD" else ["sh", "-c", *words]

    @property
    def grace(self) -> float:
        return seconds(self._service["stop_grace_period"])


def commands_in_docs(service: str) -> list[list[str]]:
    """Return what docs/operations.md runs with ``docker compose run`` in a service."""
    text = (ROOT / "docs" / "operations.md").read_text()
    found = re.findall(rf"^\$ docker compose (?:--profile cluster )?run --rm {service} (.*)$", text, re.MULTILINE)
    assert found, "docs/operations.md does not say how to make a key"
    return [line.split() for line in found]


def wait_until_healthy(services: Sequence[ComposeService], containers: Sequence[Container]) -> None:
    for service, container in zip(services, containers, strict=True):
        wait_for(partial(container.is_healthy, service.check), "a health check fails")


def stop_all(services: Sequence[ComposeService], containers: Sequence[Container]) -> None:
    for service, container in zip(services, containers, strict=True):
        container.stop(service.grace)


def submits_and_finds_again(services: Sequence[ComposeService]) -> None:
    """Start services, the api first; submit and look up; stop them, start new ones, and look up and submit again."""
    first, second = ([each.container() for each in services] for _ in range(2))
    (make_key,) = commands_in_docs("scoter" if len(services) == 1 else "api")
    first[0].key = second[0].key = first[0].run(*make_key)

    with running(first):
        wait_until_healthy(services, first)
        assert first[0].ask("POST", "/v1/messages", {"urls": URLS[:3]})[0] == 202
        assert {first[0].record(url)["state"] for url in URLS[:3]} == {"ok"}
        stop_all(services, first)

    with running(second):
        wait_until_healthy(services, second)
        assert [second[0].ask("GET", f"/v1/urls?url={url}")[1]["state"] for url in URLS[:3]] == ["ok"] * 3
        assert second[0].ask("POST", "/v1/messages", {"urls": URLS[3:]})[0] == 202
        assert {second[0].record(url)["state"] for url in URLS[3:]} == {"ok"}
        stop_all(services, second)


def test_small_profile_submits_and_finds_everything_again_after_a_restart(folder: Path, web: SimServer) -> None:
    submits_and_finds_again([ComposeService("scoter", folder, on_the_synthetic_web(web))])


@pytest.mark.cluster
@pytest.mark.timeout(400)
def test_cluster_profile_submits_and_finds_everything_again_after_a_restart(folder: Path, web: SimServer) -> None:
    if not is_up():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("Kafka and Cassandra do not run: make cluster-up")
    names = {"kafka:9092": f"127.0.0.1:{KAFKA_PORT}", "cassandra": "127.0.0.1"}
    with own_topics() as prefix:
        # How the servers of the tests differ from those in the file: ports, a password, few partitions.
        addresses = ("live.backend", "kafka.brokers", "kafka.replication", "cassandra.hosts", "cassandra.replication")
        settings = [each.split("=", 1) for each in cluster_settings(prefix, f"compose_{prefix}")]
        other = {
            f"SCOTER_{name.upper().replace('.', '__')}": value for name, value in settings if name not in addresses
        }
        environment = {**on_the_synthetic_web(web), **other}
        submits_and_finds_again(
            [ComposeService(name, folder, environment, names) for name in ("api", "pipeline", "worker")]
        )
