"""A real control plane of Kubernetes on loopback: etcd and the API server, without nodes, so no container starts."""

from __future__ import annotations

import json
import secrets
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPSConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct
from tests.deploy.containers import ROOT
from tests.servers.certificates import make_certificates
from tests.servers.running import free_port

API_SERVER = ROOT / "build" / "kubernetes" / "kube-apiserver"  # of ``make test-kubernetes``
_PATIENCE = 120.0
_GROUPS = {
    "ConfigMap": ("api/v1", "configmaps"),
    "Secret": ("api/v1", "secrets"),
    "Service": ("api/v1", "services"),
    "Pod": ("api/v1", "pods"),
    "Deployment": ("apis/apps/v1", "deployments"),
    "StatefulSet": ("apis/apps/v1", "statefulsets"),
    "PodDisruptionBudget": ("apis/policy/v1", "poddisruptionbudgets"),
    "HorizontalPodAutoscaler": ("apis/autoscaling/v2", "horizontalpodautoscalers"),
    "NetworkPolicy": ("apis/networking.k8s.io/v1", "networkpolicies"),
}


class ApiAnswer(Struct, frozen=True):
    """What the API server said: its status, the object or the reason, and the warnings that kubectl would print."""

    status: int
    content: Any
    warnings: tuple[str, ...]


class ControlPlane:
    """The API server, as somebody who may do everything."""

    def __init__(self, port: int, token: str, trust: ssl.SSLContext) -> None:
        self._port, self._token, self._trust = port, token, trust

    def call(self, method: str, path: str, content: Any = None, kind: str = "application/json") -> ApiAnswer:
        connection = HTTPSConnection("127.0.0.1", self._port, timeout=30, context=self._trust)
        try:
            headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind}
            connection.request(method, f"/{path}", None if content is None else json.dumps(content), headers)
            answer = connection.getresponse()
            text = answer.read()
            found = json.loads(text) if text.startswith(b"{") else text.decode()
            return ApiAnswer(answer.status, found, tuple(answer.headers.get_all("Warning") or ()))
        finally:
            connection.close()

    def make_restricted_namespace(self) -> str:
        """Make a namespace that enforces the Pod Security Standard "restricted", with warnings."""
        name = f"test-{secrets.token_hex(4)}"
        rules = {f"pod-security.kubernetes.io/{each}": "restricted" for each in ("enforce", "warn")}
        made = self.call("POST", "api/v1/namespaces", {"metadata": {"name": name, "labels": rules}})
        assert made.status == 201, made
        return name

    def apply(self, manifest: Mapping[str, Any], namespace: str) -> ApiAnswer:
        """Apply a manifest as ``kubectl apply --server-side`` does, with unknown fields as errors."""
        group, names = _GROUPS[manifest["kind"]]
        options = "fieldManager=tests&fieldValidation=Strict"
        path = f"{group}/namespaces/{namespace}/{names}/{manifest['metadata']['name']}?{options}"
        return self.call("PATCH", path, manifest, "application/apply-patch+yaml")


@contextmanager
def control_plane() -> Iterator[ControlPlane]:
    """Start etcd and the API server."""
    with TemporaryDirectory(prefix="scoter-kubernetes-") as temporary, ExitStack() as stack:
        folder = Path(temporary)
        store, peers, port = free_port(), free_port(), free_port()
        token = secrets.token_hex(16)
        make_certificates(folder)
        (folder / "tokens.csv").write_text(f"{token},tests,tests,system:masters\n")
        listens = f"--listen-client-urls=http://127.0.0.1:{store}", f"--advertise-client-urls=http://127.0.0.1:{store}"
        etcd = ["etcd", f"--data-dir={folder / 'etcd'}", *listens, f"--listen-peer-urls=http://127.0.0.1:{peers}"]
        stack.enter_context(_running(etcd, folder / "etcd.log"))
        server = [
            *(str(API_SERVER), f"--etcd-servers=http://127.0.0.1:{store}", f"--secure-port={port}"),
            *("--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--cert-dir={folder}"),
            *(f"--tls-cert-file={folder / 'server.pem'}", f"--tls-private-key-file={folder / 'server.pem'}"),
            *("--service-account-issuer=https://127.0.0.1", f"--service-account-key-file={folder / 'server.pem'}"),
            f"--service-account-signing-key-file={folder / 'server.pem'}",
            *("--authorization-mode=RBAC", f"--token-auth-file={folder / 'tokens.csv'}"),
            # Nothing here makes the accounts that this would wait for.
            *("--disable-admission-plugins=ServiceAccount", "--service-cluster-ip-range=10.96.0.0/16"),
        ]
        stack.enter_context(_running(server, folder / "server.log"))
        found = ControlPlane(port, token, ssl.create_default_context(cafile=str(folder / "ca.pem")))
        _wait(found, folder / "server.log")
        yield found


@contextmanager
def _running(command: Sequence[str], log: Path) -> Iterator[None]:
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _wait(plane: ControlPlane, log: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        with suppress(OSError):
            if plane.call("GET", "readyz").status == 200:
                return
        time.sleep(0.1)
    raise RuntimeError(f"the API server did not start:\n{log.read_text(errors='replace')[-4000:]}")
