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
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, TypeVar

import yaml  # type: ignore[import-untyped]
from tests.servers.running import free_port

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "deploy" / "compose" / "compose.yaml"
KUBERNETES = ROOT / "deploy" / "kubernetes" / "scoter.yaml"
ENTRYPOINT = (sys.executable, "-m", "scoter.cli.main")  # what the image's is, here
PORT = "8008"
PATIENCE = 60.0
VARIABLE = r"\$(?:\$|\{(?P<name>\w+)(?::-(?P<default>[^}]*)|:\?[^}]*)?\})"
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
        paths: Mapping[str, Path],
        *,
        names: Mapping[str, str] | None = None,
    ) -> None:
        """``paths`` are the folders of its volumes and scratch space, ``names`` the addresses of other hosts."""
        self.port = free_port()
        self._paths = {**{path: str(folder) for path, folder in paths.items()}, PORT: str(self.port)}
        self._names = names or {}
        self._command = [self._here(word) for word in command]
        self._environment = environment
        self._process: subprocess.Popen[str] | None = None
        self.key = ""

    def _here(self, text: str) -> str:
        """Return a word of a command with this machine's paths and port."""
        pattern = "|".join(rf"{re.escape(each)}(?![\w.])" for each in self._paths)
        return re.sub(pattern, lambda match: self._paths[match[0]], text)

    @property
    def _variables(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SCOTER")}
        own = dict(self._environment)
        for name, address in self._names.items():
            own = {key: re.sub(rf'(?<="){re.escape(name)}(?=")', address, value) for key, value in own.items()}
        return kept | own

    def run(self, *command: str) -> str:
        """Run another command in it, and return its output."""
        done = subprocess.run(
            [*ENTRYPOINT, *map(self._here, command)],
            env=self._variables, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def start(self) -> None:
        self._process = subprocess.Popen([*ENTRYPOINT, *self._command], env=self._variables, text=True)

    def stop(self, within: float) -> None:
        """Stop it as an engine does: SIGTERM, and exit code 0 in time."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(within) == 0

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def is_healthy(self, check: Sequence[str]) -> bool:
        """Run a health check."""
        assert self._process is not None
        assert self._process.poll() is None, "it has ended"
        check = [self._here(word) for word in check]
        if check[0].endswith("python"):
            check[0] = sys.executable
        return subprocess.run(check, capture_output=True, timeout=PATIENCE, check=False).returncode == 0

    def ask(self, method: str, target: str, body: object = None) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"}
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


def seconds(text: str) -> float:
    """Return a duration of a Compose file, for example ``60s``."""
    return float(text.removesuffix("s"))
