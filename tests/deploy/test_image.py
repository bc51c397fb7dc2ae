"""The image: what is in it, and that the service, its roles, the web interface and a crawl run in it without rights."""

from __future__ import annotations

import json
import os
import resource
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.deploy.containers import (
    PATIENCE,
    PORT,
    UID,
    URLS,
    Container,
    cluster_profile,
    make_volume,
    on_a_synthetic_web,
    running,
    small_profile,
    submits_and_finds_again,
    wait_for,
)

from scoter import __version__
from scoter.simweb import SimServer

pytestmark = [pytest.mark.image, pytest.mark.timeout(400)]
IMAGE = os.environ.get("IMAGE", "scoter")
_ENGINE = next((each for each in ("podman", "docker") if shutil.which(each)), "podman")
# podman's own default, crun, does not start on machines with both versions of cgroups.
ENGINE = (_ENGINE, "--runtime", "runc") if _ENGINE == "podman" and shutil.which("runc") else (_ENGINE,)
_OPEN_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
UNPRIVILEGED = (
    *("--read-only", "--tmpfs", "/tmp:mode=1777", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
    *("--network", "host", "--no-healthcheck"),
    *("--ulimit", f"nofile={_OPEN_FILES}:{_OPEN_FILES}", "--ulimit", "nproc=4000:4000"),
)


def engine(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ENGINE, *words], capture_output=True, text=True, timeout=PATIENCE, check=False)


class ImageContainer(Container):
    """A real container: the image's user on a read-only root, with nothing but its volumes and /tmp to write to."""

    entrypoint = ""

    def _options(self) -> Sequence[str]:
        self._name = f"scoter-test-{secrets.token_hex(4)}"
        mounted = (f"--volume={folder}:{path}" for path, folder in self.volumes.items())
        given = (f"--env={name}={value}" for name, value in self._environment.items())
        entrypoint = [f"--entrypoint={self.entrypoint}"] if self.entrypoint else []
        return ["--rm", "--name", self._name, *UNPRIVILEGED, *mounted, *given, *entrypoint, IMAGE]

    def _run_argv(self) -> Sequence[str]:
        return [*ENGINE, "run", *self._options()]

    _start_argv = _run_argv

    def _check_argv(self) -> Sequence[str]:
        return [*ENGINE, "exec", self._name]

    def _variables(self) -> dict[str, str]:
        return dict(os.environ)

    def _here(self, words: Sequence[str]) -> list[str]:
        return [word.replace(PORT, str(self.port)) for word in words]

    def _terminate(self, within: float) -> None:
        engine("stop", "--time", str(int(within)), self._name)  # afterwards it is killed, and its exit code is 137

    def kill(self) -> None:
        engine("rm", "--force", self._name)
        super().kill()


def without_tini(container: ImageContainer) -> ImageContainer:
    """Let Scoter itself be the first process."""
    container.entrypoint = "/usr/bin/scoter"
    return container


def container(folder: Path, web: SimServer, *command: str) -> ImageContainer:
    volume = folder / "data"
    if not volume.exists():
        make_volume(volume)
    environment = {"SCOTER_AGENT__NAME": "image-test", **on_a_synthetic_web(web.port)}
    return ImageContainer(command, environment, {"/data": volume}, folder)


@pytest.fixture(scope="module", autouse=True)
def image() -> dict[str, Any]:
    """The image as the engine describes it."""
    inspected = engine("image", "inspect", IMAGE) if shutil.which(_ENGINE) else None
    if inspected is None or inspected.returncode != 0:
        pytest.skip("there is no image, or no podman and no docker; run: make test-image")
    found: dict[str, Any] = json.loads(inspected.stdout)[0]
    return found


def test_image_says_what_it_is_and_how_to_run_it(image: dict[str, Any]) -> None:
    config = image["Config"]
    assert config["User"] == f"{UID}:{UID}"
    assert config["Entrypoint"] == ["tini", "--", "scoter"]
    assert config["Cmd"] == ["serve", "--dir", "/data", "--host", "0.0.0.0"]
    assert set(config["Volumes"]) == {"/data"}
    assert set(config["ExposedPorts"]) == {"8008/tcp", "8010/tcp"}
    assert config["Labels"]["org.opencontainers.image.version"] == __version__
    assert config["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_image_is_small_and_has_no_build_tools(image: dict[str, Any], folder: Path, web: SimServer) -> None:
    assert image["Size"] < 500 * 10**6
    shell = container(folder, web)
    shell.entrypoint = "/bin/sh"
    tools = "for each in cc gcc ld make strip pip pip3; do command -v $each; done; true"
    assert shell.run("-c", tools) == ""
    assert shell.run("-c", "id -u; id -g; touch /usr/x 2>/dev/null || echo read-only").split() == [
        str(UID),
        str(UID),
        "read-only",
    ]


def test_service_runs_in_the_image(folder: Path, web: SimServer) -> None:
    submits_and_finds_again(small_profile(folder, web.port, ImageContainer))


@pytest.mark.parametrize("first", ["tini", "scoter"])
def test_default_command_passes_its_health_check_and_stops(
    image: dict[str, Any], folder: Path, web: SimServer, first: str
) -> None:
    served = container(folder, web, *image["Config"]["Cmd"], "--port", PORT)
    served.run("serve", "--dir", "/data", "--new-key", "owner")
    if first == "scoter":
        without_tini(served)
    how, *check = (image.get("Healthcheck") or image["Config"]["Healthcheck"])["Test"]  # podman, docker
    assert how == "CMD"
    with running([served]):
        wait_for(lambda: served.is_healthy(check), "the health check fails")
        served.stop(30)


@pytest.mark.parametrize("first", ["tini", "scoter"])
def test_web_interface_runs_in_the_image(folder: Path, web: SimServer, first: str) -> None:
    ui = container(folder, web, "ui", "/data", "--port", PORT)
    if first == "scoter":
        without_tini(ui)
    with running([ui]):
        assert wait_for(lambda: ui.ask("GET", "/v1/crawls"), "no answer")[0] == 200
        ui.stop(30)


def test_crawl_runs_in_the_image(folder: Path, web: SimServer) -> None:
    crawled = container(folder, web)
    crawled.run("crawl", "demo", *URLS[:2], "--rounds", "2")
    assert (
        int(crawled.run("sql", "demo", "select count(*) from crawldb where status = 'fetched'", "--csv").split()[-1])
        > 2
    )


@pytest.mark.parametrize("first", ["tini", "scoter"])
def test_crawl_stops_and_goes_on_in_another_container(folder: Path, web: SimServer, first: str) -> None:
    slow = container(folder, web, "crawl", "demo", *URLS, "--rounds", "5", "-D", "fetch.delay=2s")
    if first == "scoter":
        without_tini(slow)
    requests = web.ledger.count()
    with running([slow]):
        wait_for(lambda: web.ledger.count() > requests, "it requests nothing")
        slow.stop(60)
    container(folder, web).run("crawl", "demo", "--rounds", "1")


@pytest.mark.parametrize("command", ["serve --dir /data", "ui /data", "crawl /data/demo http://a.example/"])
def test_volume_that_cannot_be_written_is_a_clear_error(folder: Path, web: SimServer, command: str) -> None:
    refused = container(folder, web)
    volume = refused.volumes["/data"]
    os.chown(volume, 0, 0)
    volume.chmod(0o755)
    done = engine("run", *refused._options(), *command.split())
    assert done.returncode == 2, done.stderr
    assert "Permission denied" in done.stderr
    assert "/data" in done.stderr
    assert f"user {UID}, group {UID}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.cluster
def test_roles_run_in_the_image(folder: Path, web: SimServer) -> None:
    with cluster_profile(folder, web.port, ImageContainer) as services:
        submits_and_finds_again(services)
