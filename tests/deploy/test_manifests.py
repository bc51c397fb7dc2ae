"""The Compose file, the Helm chart and the manifests rendered from it: valid by their schemas, and consistent."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from tests.deploy.containers import COMPOSE, KUBERNETES, PORT, ROOT

from scoter import __version__
from scoter.cli.serve import command as serve
from scoter.config import load
from scoter.live.kafka.kafka import TopicNames

CHART = ROOT / "deploy" / "helm" / "scoter"
EXAMPLE = ROOT / "deploy" / "helm" / "example.yaml"
HELM = ROOT / "build" / "tools" / "helm"  # of ``make manifests``
needs_helm = pytest.mark.skipif(not HELM.exists(), reason="run: make manifests")
SCHEMAS = ROOT / "build" / "schemas"  # of ``make test-manifests``
VERSION = "1.31"  # of Kubernetes
ROLES = {"api", "pipeline", "worker"}


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return found


def manifests() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(KUBERNETES.read_text()))


def rendered(*options: str) -> str:
    """Return the manifests that the chart gives with the example's values and other options."""
    command = [str(HELM), "template", "scoter", str(CHART), "--values", str(EXAMPLE), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def chart(*options: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return these manifests by kind and name."""
    found = (each for each in yaml.safe_load_all(rendered(*options)) if each)
    return {(each["kind"], each["metadata"]["name"]): each for each in found}


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


def options_of(command: Sequence[str]) -> dict[str, Any]:
    """Return the options of a container's command; the image's entry point is ``scoter``."""
    name, *words = command
    assert name == "serve"
    return serve.make_context(name, list(words)).params


def container_of(spec: dict[str, Any]) -> dict[str, Any]:
    (found,) = spec["template"]["spec"]["containers"]
    return dict(found)


def not_restricted(pod: dict[str, Any]) -> Iterator[str]:
    """Yield what Kubernetes' Pod Security Standard "restricted" does not allow in a pod, and a writable root.

    https://kubernetes.io/docs/concepts/security/pod-security-standards/
    """
    whole = pod.get("securityContext", {})
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(name):
            yield name
    for volume in pod.get("volumes", ()):
        if not set(volume) - {"name"} <= {"configMap", "emptyDir", "persistentVolumeClaim", "projected", "secret"}:
            yield f"volume {volume['name']}"
    for container in [*pod.get("initContainers", ()), *pod["containers"]]:
        own = {**whole, **container.get("securityContext", {})}
        capabilities = own.get("capabilities", {})
        if own.get("privileged") or own.get("allowPrivilegeEscalation") is not False:
            yield "allowPrivilegeEscalation"
        if own.get("runAsNonRoot") is not True or not own.get("runAsUser"):
            yield "runAsNonRoot"
        if own.get("seccompProfile", {}).get("type") not in ("RuntimeDefault", "Localhost"):
            yield "seccompProfile"
        if "ALL" not in capabilities.get("drop", ()) or capabilities.get("add", ()):
            yield "capabilities"
        if own.get("readOnlyRootFilesystem") is not True:
            yield "readOnlyRootFilesystem"
        if any("hostPort" in port for port in container.get("ports", ())):
            yield "hostPort"


def test_settings_of_compose_and_kubernetes_are_valid() -> None:
    shared = compose()["x-environment"] | compose()["x-cluster"]
    shared = {name: "bot" if value.startswith("${AGENT_NAME") else value for name, value in shared.items()}
    settings = settings_of({name: "" if value.startswith("$") else value for name, value in shared.items()})
    assert load(overrides=settings).live.backend == "cluster"
    (configured,) = named("ConfigMap").values()
    found = load(overrides=settings_of(configured["data"]))
    assert (found.live.backend, found.kafka.security) == ("cluster", "sasl-tls")


def test_compose_starts_the_service_alone_or_with_a_profile_every_role() -> None:
    services = compose()["services"]
    assert [name for name, each in services.items() if "profiles" not in each] == ["scoter"]
    assert options_of(services["scoter"]["command"])["role"] == "all"
    for role in ROLES:
        assert services[role]["profiles"] == ["cluster"]
        assert options_of(services[role]["command"])["role"] == role


def test_only_workers_of_compose_reach_the_web() -> None:
    services = {name: each for name, each in compose()["services"].items() if "profiles" in each}
    networks = compose()["networks"]
    assert set(networks) == {name for each in services.values() for name in each["networks"]}
    assert {name for name, each in networks.items() if each.get("internal")} == {"broker", "database"}
    assert [name for name, each in services.items() if "web" in each["networks"]] == ["worker"]
    assert "database" not in services["worker"]["networks"]


def test_compose_waits_for_servers_and_keeps_their_data() -> None:
    services = compose()["services"]
    mounted = {each.partition(":")[0] for service in services.values() for each in service.get("volumes", ())}
    assert mounted == set(compose()["volumes"])
    assert services["kafka"]["volumes"] == [f"kafka:{services['kafka']['environment']['KAFKA_LOG_DIRS']}"]
    for each in services.values():
        assert each["healthcheck"]["test"]
        assert {needed["condition"] for needed in each.get("depends_on", {}).values()} <= {"service_healthy"}
    assert set(services["api"]["depends_on"]) == set(services["pipeline"]["depends_on"]) == {"kafka", "cassandra"}


def test_containers_of_compose_have_no_privileges() -> None:
    for name in ("scoter", *ROLES):
        service = compose()["services"][name]
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_kubernetes_starts_every_role_with_what_it_mounts() -> None:
    assert set(pods()) == ROLES
    secrets, settings = named("Secret"), named("ConfigMap")
    for role, spec in pods().items():
        assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
        pod = spec["template"]["spec"]
        container = container_of(spec)
        assert options_of(container["args"])["role"] == role
        assert container["image"] == f"scoter:{__version__}"
        assert {each["configMapRef"]["name"] for each in container["envFrom"]} <= set(settings)
        claimed = {each["metadata"]["name"] for each in spec.get("volumeClaimTemplates", ())}
        volumes = {each["name"] for each in pod["volumes"]} | claimed
        assert {each["name"] for each in container["volumeMounts"]} == volumes
        for volume in pod["volumes"]:
            if "secret" in volume:
                known = secrets[volume["secret"]["secretName"]]["stringData"]
                assert {each["key"] for each in volume["secret"].get("items", ())} <= set(known)
        assert pod["enableServiceLinks"] is False  # the variables SCOTER_API_SERVICE_HOST … are no settings


def test_only_workers_and_callbacks_reach_the_web_and_workers_nothing_else() -> None:
    policies = {name.removeprefix("scoter-"): each["spec"] for name, each in named("NetworkPolicy").items()}
    assert set(policies) == ROLES
    for role, policy in policies.items():
        assert policy["podSelector"] == pods()[role]["selector"]
        assert policy["policyTypes"] == ["Ingress", "Egress"]
        reached = json.dumps(policy["egress"])
        assert ("0.0.0.0/0" in reached) == (role != "pipeline")
        assert ("cassandra" in reached) == (role != "worker")
        assert bool(policy["ingress"]) == (role == "api")
    (web,) = (to["ipBlock"] for rule in policies["worker"]["egress"] for to in rule.get("to", ()) if "ipBlock" in to)
    assert {"10.0.0.0/8", "169.254.0.0/16", "192.168.0.0/16"} <= set(web["except"])


def test_all_apis_have_the_same_secret_of_callbacks() -> None:
    (mount,) = (each for each in container_of(pods()["api"])["volumeMounts"] if "subPath" in each)
    assert mount["mountPath"] == "/data/webhook.secret"
    assert named("Secret")["scoter"]["stringData"][mount["subPath"]]


def test_pods_fit_the_restricted_standard_and_write_only_to_their_volumes() -> None:
    for role, spec in pods().items():
        assert set(not_restricted(spec["template"]["spec"])) == set(), role
        assert spec["template"]["spec"]["securityContext"]["fsGroup"] == 10001
        writable = {each["mountPath"] for each in container_of(spec)["volumeMounts"] if not each.get("readOnly")}
        assert writable == {"/data", "/tmp"}


def test_pod_with_a_right_too_many_is_noticed() -> None:
    rights = {
        "allowPrivilegeEscalation": True,
        "capabilities": {"drop": ["NET_RAW"]},
        "readOnlyRootFilesystem": False,
        "runAsNonRoot": False,
        "seccompProfile": {"type": "Unconfined"},
    }
    for name, value in rights.items():
        pod = pods()["worker"]["template"]["spec"]
        pod["containers"][0]["securityContext"][name] = value
        assert set(not_restricted(pod)) == {name}
    assert set(not_restricted({"hostPID": True, "containers": []})) == {"hostPID"}


def test_every_role_has_probes_and_requests_resources() -> None:
    for role, spec in pods().items():
        container = container_of(spec)
        for probe in ("readinessProbe", "livenessProbe"):
            how = container[probe]
            if role == "api":
                assert how["httpGet"]["port"] == "http"
            else:
                assert "/data/run/ready" in how["exec"]["command"][-1]
        assert set(container["resources"]["requests"]) == {"cpu", "memory"}
        assert set(container["resources"]["limits"]) == {"memory"}
    (port,) = container_of(pods()["api"])["ports"]
    assert str(port["containerPort"]) == PORT
    check = compose()["services"]["pipeline"]["healthcheck"]["test"][-1].replace("$$", "$")
    assert container_of(pods()["pipeline"])["readinessProbe"]["exec"]["command"] == ["sh", "-c", check]


def test_every_role_has_a_disruption_budget_and_the_services_that_it_needs() -> None:
    for role, spec in pods().items():
        assert named("PodDisruptionBudget")[f"scoter-{role}"]["spec"]["selector"] == spec["selector"]
    services = named("Service")
    assert services["scoter-api"]["spec"]["selector"] == pods()["api"]["selector"]["matchLabels"]
    governing = services[pods()["pipeline"]["serviceName"]]["spec"]
    assert governing["clusterIP"] == "None"
    assert governing["selector"] == pods()["pipeline"]["selector"]["matchLabels"]


def test_chart_has_the_version_of_scoter_and_its_example_fits_its_schema() -> None:
    import jsonschema  # type: ignore[import-untyped]

    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert about["version"] == about["appVersion"] == __version__
    check = jsonschema.Draft7Validator(json.loads((CHART / "values.schema.json").read_text()))
    defaults, example = (yaml.safe_load(each.read_text()) for each in (CHART / "values.yaml", EXAMPLE))
    whole = {
        name: {**value, **example.get(name, {})} if example.get(name) else value for name, value in defaults.items()
    }
    check.validate(whole)
    # What is missing in the defaults must be entered; and every value is described.
    assert {tuple(each.absolute_path) for each in check.iter_errors(defaults)} == {
        ("agent", "name"),
        ("agent", "url"),
        ("kafka", "brokers"),
        ("cassandra", "hosts"),
    }
    known = check.schema["properties"]
    for name, value in defaults.items():
        if isinstance(value, dict) and name != "settings":
            assert set(value) == set(known[name]["properties"]), name


@needs_helm
def test_the_manifests_are_those_of_the_chart() -> None:
    assert KUBERNETES.read_text().partition("\n")[2] == rendered()


@needs_helm
def test_values_of_the_chart_reach_the_manifests() -> None:
    found = chart(
        "--set=settings.live\\.known_for=7d,settings.kafka\\.partitions=128,secrets.existing=mine,image.tag=v9",
        "--set=worker.autoscaling.enabled=true,pipeline.autoscaling.enabled=true,pipeline.storage.class=fast,networkPolicies.enabled=false",
        "--set=serviceMonitor.enabled=true,kafka.security=tls,api.replicas=5",
    )
    data = found["ConfigMap", "scoter"]["data"]
    assert (data["SCOTER_LIVE__KNOWN_FOR"], data["SCOTER_KAFKA__PARTITIONS"]) == ("7d", "128")
    assert "SCOTER_KAFKA__PASSWORD_FILE" not in data
    load(overrides=settings_of(data))
    assert not [name for kind, name in found if kind in ("Secret", "NetworkPolicy")]
    worker, api = found["Deployment", "scoter-worker"]["spec"], found["Deployment", "scoter-api"]["spec"]
    assert "replicas" not in worker  # the autoscaler's
    assert api["replicas"] == 5
    pod = worker["template"]["spec"]
    assert pod["containers"][0]["image"] == "scoter:v9"
    assert [each["secret"]["secretName"] for each in pod["volumes"] if "secret" in each] == ["mine"]
    scaled = {name: each["spec"] for (kind, name), each in found.items() if kind == "HorizontalPodAutoscaler"}
    assert scaled["scoter-worker"]["scaleTargetRef"] == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "scoter-worker",
    }
    names = TopicNames("scoter")
    for name, topics in (("scoter-worker", [names.requests]), ("scoter-pipeline", names.intakes)):
        metric = scaled[name]["metrics"][0]["external"]["metric"]
        assert metric["name"] == "scoter_consumer_lag"
        (selected,) = metric["selector"]["matchExpressions"]
        assert [f"scoter.{topic}" for topic in selected["values"]] == topics
    claim = found["StatefulSet", "scoter-pipeline"]["spec"]["volumeClaimTemplates"][0]
    assert claim["spec"]["storageClassName"] == "fast"
    assert found["ServiceMonitor", "scoter"]["spec"]["endpoints"][0]["port"] == "http"


@needs_helm
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("agent.name=", "agent/name"),
        ("secrets.webhookSecret=", "set secrets.webhookSecret, or secrets.existing"),
        ("kafka.security=sasl", "kafka/security"),
        ("worker.replica=3", "replica"),
    ],
)
def test_wrong_value_of_the_chart_is_refused(option: str, message: str) -> None:
    command = [str(HELM), "template", "scoter", str(CHART), "--values", str(EXAMPLE), "--set", option]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert message in done.stderr


def test_compose_file_fits_the_schema_of_compose() -> None:
    import jsonschema

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
