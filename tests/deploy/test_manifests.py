"""The Compose file and the Kubernetes manifests: valid by their schemas, and consistent with each other and Scoter."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from scoter.config import load

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "build" / "schemas"  # of ``make test-manifests``
COMPOSE = ROOT / "deploy" / "compose" / "compose.yaml"
KUBERNETES = ROOT / "deploy" / "kubernetes" / "scoter.yaml"
VERSION = "1.31"  # of Kubernetes
ROLES = {"api", "pipeline", "worker"}


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return found


def manifests() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(KUBERNETES.read_text()))


def named(kind: str) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in manifests() if each["kind"] == kind}


def pods() -> dict[str, dict[str, Any]]:
    """Return the pod templates by role."""
    found = {**named("Deployment"), **named("StatefulSet")}
    return {each["spec"]["template"]["metadata"]["labels"]["role"]: each["spec"] for each in found.values()}


def settings_of(environment: dict[str, str]) -> list[str]:
    """Return environment variables as settings."""
    names = {name: name.removeprefix("SCOTER_").lower().replace("__", ".") for name in environment}
    return [f"{names[name]}={value}" for name, value in environment.items()]


def test_settings_of_compose_and_kubernetes_are_valid() -> None:
    shared = dict(compose()["x-scoter"]["environment"], SCOTER_AGENT__NAME="bot")
    assert load(overrides=settings_of(shared)).live.backend == "cluster"
    (configured,) = named("ConfigMap").values()
    found = load(overrides=settings_of(configured["data"]))
    assert (found.live.backend, found.kafka.security) == ("cluster", "sasl-tls")


def test_compose_starts_every_role_and_only_workers_reach_the_web() -> None:
    services = compose()["services"]
    for role in ROLES:
        assert services[role]["command"][:4] == ["scoter", "serve", "--role", role]
    networks = compose()["networks"]
    assert set(networks) == {name for each in services.values() for name in each["networks"]}
    assert {name for name, each in networks.items() if each.get("internal")} == {"broker", "database"}
    assert [name for name, each in services.items() if "web" in each["networks"]] == ["worker"]
    assert "database" not in services["worker"]["networks"]
    mounted = {each.partition(":")[0] for service in services.values() for each in service.get("volumes", ())}
    assert mounted == set(compose()["volumes"])


def test_kubernetes_starts_every_role_with_what_it_mounts() -> None:
    assert set(pods()) == ROLES
    secrets, settings = named("Secret"), named("ConfigMap")
    for role, spec in pods().items():
        assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
        pod = spec["template"]["spec"]
        (container,) = pod["containers"]
        assert container["args"][:4] == ["scoter", "serve", "--role", role]
        assert {each["configMapRef"]["name"] for each in container["envFrom"]} <= set(settings)
        claimed = {each["metadata"]["name"] for each in spec.get("volumeClaimTemplates", ())}
        volumes = {each["name"] for each in pod["volumes"]} | claimed
        assert {each["name"] for each in container["volumeMounts"]} == volumes
        for volume in pod["volumes"]:
            if "secret" in volume:
                known = secrets[volume["secret"]["secretName"]]["stringData"]
                assert {each["key"] for each in volume["secret"].get("items", ())} <= set(known)
    (worker,) = (each for each in named("NetworkPolicy").values() if each["metadata"]["name"] == "scoter-worker")
    assert {"cassandra"}.isdisjoint(json.dumps(worker).split('"'))  # workers do not reach the database


def test_compose_file_fits_the_schema_of_compose() -> None:
    import jsonschema  # type: ignore[import-untyped]

    schema = SCHEMAS / "compose" / "config" / "compose_spec.json"
    if not schema.exists():
        pytest.skip("run: make test-manifests")
    # Variables are replaced before a file is checked.
    jsonschema.Draft7Validator(json.loads(schema.read_text())).validate(compose())


@pytest.mark.parametrize("number", range(len(manifests())))
def test_manifest_fits_the_schema_of_kubernetes(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (SCHEMAS / "kubernetes_validate").is_dir():
        pytest.skip("run: make test-manifests")
    monkeypatch.setattr(sys, "path", [*sys.path, str(SCHEMAS)])
    validator = import_module("kubernetes_validate")
    validator.validate(manifests()[number], VERSION, strict=True)


def test_schema_of_kubernetes_refuses_what_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    if not (SCHEMAS / "kubernetes_validate").is_dir():
        pytest.skip("run: make test-manifests")
    monkeypatch.setattr(sys, "path", [*sys.path, str(SCHEMAS)])
    validator = import_module("kubernetes_validate")
    broken = named("Deployment")["scoter-api"]
    broken["spec"]["replica"] = 2
    with pytest.raises(validator.ValidationError):
        validator.validate(broken, VERSION, strict=True)
