"""Services of the Compose file and containers of the manifests, started as processes: same command and environment."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml  # type: ignore[import-untyped]
from tests.live.kafka.conftest import cluster_settings, own_topics
from tests.live.service.running import pages
from tests.servers.cluster import KAFKA_PORT, is_up
from tests.servers.running import free_port

from scoter.simweb import WebSpec

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "deploy" / "compose" / "compose.yaml"
KUBERNETES = ROOT / "deploy" / "kubernetes" / "scoter.yaml"
ENTRYPOINT = (sys.executable, "-m", "scoter.cli.main")  # what the image's is, here
PYTHON = "/opt/scoter/bin/python"  # in the image
PORT = "8008"
UID = 10001
PATIENCE = 60.0
VARIABLE = r"\$(?:\$|\{(?P<name>\w+)(?::-(?P<default>[^}]*)|:\?[^}]*)?\})"
WEB = WebSpec(hosts=20, pages=60, page_bytes=2_000)
URLS = pages(WEB, 6)
T = TypeVar("T")


def compose(**variables: str) -> dict[str, Any]:
    """Return the Compose file, with its variables replaced as Compose does."""

    def value(match: re.Match[str]) -> str:
        name, default = match["name"], match["default"]
        assert name is None or name in variables or default is not None, f"{name} has no value"
        return "$" if name is None else variables.get(name, default or "")

    def replaced(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: replaced(each) for key, each in node.items()}
        if isinstance(node, list):
            return [replaced(each) for each in node]
        return re.sub(VARIABLE, value, node) if isinstance(node, str) else node

    found: dict[str, Any] = replaced(yaml.safe_load(COMPOSE.read_text()))
    return found


def wait_for(look: Callable[[], T | None], what: str) -> T:
    """Poll until the result is true, and return it."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with suppress(OSError, HTTPException):
            if found := look():
                return found
        time.sleep(0.1)
    raise AssertionError(what)


class Container:
    """A container as a process. Its volumes are folders that stay; its scratch space is new at each start."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        volumes: Mapping[str, Path],
        scratch: Path,
        names: Mapping[str, str] | None = None,
    ) -> None:
        """``volumes`` are folders by the paths in the container, ``names`` the addresses of other hosts."""
        self.port = free_port()
        self.key = ""
        self.volumes = dict(volumes)
        self._scratch = scratch
        self._log = scratch / "log"
        self.command = [*command]
        self._environment = dict(environment)
        for name, address in (names or {}).items():
            for variable, value in self._environment.items():
                self._environment[variable] = re.sub(rf'(?<="){re.escape(name)}(?=")', address, value)
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, *command: str) -> str:
        """Run another command of Scoter in it, and return its output."""
        done = self._call([*self._run_argv(), *self._here(command)])
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def start(self) -> None:
        arguments = [*self._start_argv(), *self._here(self.command)]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(arguments, env=self._variables(), stdout=log, stderr=log)

    def stop(self, within: float) -> None:
        """Stop it as an engine does: SIGTERM, and exit code 0 in time."""
        assert self._process is not None
        self._terminate(within)
        assert self._process.wait(within) == 0, self._log.read_text()

    def _terminate(self, within: float) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def is_healthy(self, check: Sequence[str]) -> bool:
        """Run a health check."""
        assert self._process is not None
        assert self._process.poll() is None, f"it has ended: {self._log.read_text()}"
        return self._call([*self._check_argv(), *self._here(check)]).returncode == 0

    def ask(self, method: str, target: str, body: object = None) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            headers = {"Content-Type": "application/json"}
            if self.key:
                headers["Authorization"] = f"Bearer {self.key}"
            connection.request(method, target, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def record(self, url: str) -> dict[str, Any]:
        """Wait for the record of a URL."""

        def look() -> dict[str, Any] | None:
            status, found = self.ask("GET", f"/v1/urls?url={url}&wait=2s")
            return found if status == 200 else None

        return wait_for(look, f"no record of {url}")

    def _call(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            arguments, env=self._variables(), capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    def _run_argv(self) -> Sequence[str]:
        return ENTRYPOINT

    def _start_argv(self) -> Sequence[str]:
        return ENTRYPOINT

    def _check_argv(self) -> Sequence[str]:
        return ()

    def _variables(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SCOTER")}
        return kept | self._environment | {"HOME": str(self._scratch), "TMPDIR": str(self._scratch)}

    def _here(self, words: Sequence[str]) -> list[str]:
        """Return a command with this machine's paths and port."""
        places = {path: str(folder) for path, folder in self.volumes.items()}
        places |= {"/tmp": str(self._scratch), PYTHON: sys.executable, PORT: str(self.port)}
        pattern = "|".join(rf"(?<!\w){re.escape(each)}(?![\w.])" for each in places)
        return [re.sub(pattern, lambda match: places[match[0]], word) for word in words]


@contextmanager
def running(containers: Sequence[Container]) -> Iterator[None]:
    """Start containers, and kill those that are left at the end."""
    try:
        for each in containers:
            each.start()
        yield
    finally:
        for each in containers:
            each.kill()


class ComposeService:
    """A service of the Compose file, whose containers share its volumes."""

    def __init__(
        self,
        name: str,
        folder: Path,
        environment: Mapping[str, str],
        names: Mapping[str, str] | None = None,
        kind: type[Container] = Container,
    ) -> None:
        """``environment`` is added to the file's; ``names`` are the addresses of the other hosts."""
        self._service: dict[str, Any] = compose(AGENT_NAME="compose-test")["services"][name]
        mounted = (each.split(":") for each in self._service.get("volumes", ()))
        self._volumes = {path: folder / "volumes" / volume for volume, path in mounted}
        self._scratch = folder / "scratch" / name
        self._environment = {**self._service["environment"], **environment}
        self._names = names
        self._kind = kind
        self._count = 0

    def container(self) -> Container:
        """Return a new container with new scratch space."""
        self._count += 1
        scratch = self._scratch / str(self._count)
        scratch.mkdir(parents=True)
        for path in self._volumes.values():
            if not path.exists():
                make_volume(path)
        return self._kind(self._service["command"], self._environment, self._volumes, scratch, self._names)

    @property
    def check(self) -> Sequence[str]:
        """The command of its health check."""
        how, *words = self._service["healthcheck"]["test"]
        return words if how == "CMD" else ["sh", "-c", *words]

    @property
    def grace(self) -> float:
        """The seconds in which it must stop."""
        return float(self._service["stop_grace_period"].removesuffix("s"))


def make_volume(path: Path) -> None:
    """Create the folder of a volume as Kubernetes does: of root, writable for the pod's fsGroup."""
    path.mkdir(parents=True)
    if os.geteuid() == 0:
        os.chown(path, 0, UID)
    path.chmod(0o2770)


def wait_until_healthy(services: Sequence[ComposeService], containers: Sequence[Container]) -> None:
    for service, container in zip(services, containers, strict=True):
        wait_for(partial(container.is_healthy, service.check), "a health check fails")


def stop_all(services: Sequence[ComposeService], containers: Sequence[Container]) -> None:
    for service, container in zip(services, containers, strict=True):
        container.stop(service.grace)


def commands_in_docs(service: str) -> list[list[str]]:
    """Return what docs/operations.md runs with ``docker compose run`` in a service."""
    text = (ROOT / "docs" / "operations.md").read_text()
    found = re.findall(rf"^\$ docker compose (?:--profile cluster )?run --rm {service} (.*)$", text, re.MULTILINE)
    return [line.split() for line in found]


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


def small_profile(folder: Path, web: int, kind: type[Container] = Container) -> list[ComposeService]:
    """Return the services of the Compose file without a profile, on a synthetic web."""
    return [ComposeService("scoter", folder, on_a_synthetic_web(web), kind=kind)]


@contextmanager
def cluster_profile(folder: Path, web: int, kind: type[Container] = Container) -> Iterator[list[ComposeService]]:
    """Yield those of the profile ``cluster``, on the servers of ``make cluster-up``."""
    if not is_up():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("Kafka and Cassandra do not run: make cluster-up")
    names = {"kafka:9092": f"127.0.0.1:{KAFKA_PORT}", "cassandra": "127.0.0.1"}
    in_file = {"live.backend", "kafka.brokers", "kafka.replication", "cassandra.hosts", "cassandra.replication"}
    with own_topics() as prefix:
        # What the file does not say of the servers of the tests: ports, a password, few partitions.
        settings = (each.split("=", 1) for each in cluster_settings(prefix))
        others = {f"SCOTER_{key.upper().replace('.', '__')}": value for key, value in settings if key not in in_file}
        environment = {**on_a_synthetic_web(web), **others}
        yield [ComposeService(role, folder, environment, names, kind) for role in ("api", "pipeline", "worker")]


def on_a_synthetic_web(port: int) -> dict[str, str]:
    """Return the settings that send every request to a synthetic web."""
    return {
        "SCOTER_FETCH__CONNECT_TO": json.dumps([f"*:*=127.0.0.1:{port}"]),
        "SCOTER_FETCH__ALLOW_PORTS": json.dumps(["1-65535"]),
        "SCOTER_FETCH__DELAY": "0",
        "SCOTER_STORE__DISK_FLOOR": "0",
    }
