"""The manifests and the chart are accepted by a real control plane, in a namespace that enforces "restricted"."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from tests.deploy.control_plane import ControlPlane, control_plane
from tests.deploy.test_manifests import ROLES, chart, manifests, named, pods

pytestmark = pytest.mark.kubernetes


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with control_plane() as found:
        yield found


@pytest.fixture(scope="module")
def namespace(plane: ControlPlane) -> str:
    return plane.make_restricted_namespace()


def pod(role: str) -> dict[str, Any]:
    """Return the pod of a role, as its controller would create it."""
    template = deepcopy(pods()[role]["template"])
    spec = template["spec"]
    for claim in pods()[role].get("volumeClaimTemplates", ()):
        name = claim["metadata"]["name"]
        spec["volumes"].append({"name": name, "persistentVolumeClaim": {"claimName": name}})
    metadata = {**template["metadata"], "name": f"scoter-{role}-0"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_manifests_are_accepted_without_a_warning(plane: ControlPlane, namespace: str) -> None:
    for manifest in manifests():
        answer = plane.apply(manifest, namespace)
        assert (answer.status, answer.warnings) == (201, ()), (manifest["metadata"], answer)


def test_manifests_are_accepted_again(plane: ControlPlane, namespace: str) -> None:
    for _ in range(2):
        statuses = {plane.apply(manifest, namespace).status for manifest in manifests()}
    assert statuses == {200}


@pytest.mark.parametrize("role", sorted(ROLES))
def test_pods_are_admitted_where_restricted_is_enforced(plane: ControlPlane, namespace: str, role: str) -> None:
    answer = plane.apply(pod(role), namespace)
    assert (answer.status, answer.warnings) == (201, ()), answer


def test_pod_with_a_right_too_many_is_refused(plane: ControlPlane, namespace: str) -> None:
    wrong = pod("worker")
    wrong["metadata"]["name"] = "wrong"
    wrong["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True

    answer = plane.apply(wrong, namespace)

    assert answer.status == 403
    assert "allowPrivilegeEscalation" in answer.content["message"]


def test_unknown_field_is_refused(plane: ControlPlane, namespace: str) -> None:
    wrong = named("Deployment")["scoter-api"]
    wrong["metadata"]["name"] = "wrong"
    wrong["spec"]["replica"] = 2

    answer = plane.apply(wrong, namespace)

    assert answer.status in (400, 500)
    assert "replica" in answer.content["message"]


def test_chart_with_every_part_switched_on_is_accepted(plane: ControlPlane) -> None:
    namespace = plane.make_restricted_namespace()
    scaled = [f"--set={role}.autoscaling.enabled=true" for role in sorted(ROLES)]
    found = chart(
        *scaled,
        "--set=api.service.type=LoadBalancer,pipeline.storage.class=fast,kafka.namespace=,cassandra.namespace=",
        "--set=networkPolicies.servers[0].ipBlock.cidr=192.0.2.0/24,imagePullSecrets[0]=registry",
        "--set=networkPolicies.clients[0].podSelector.matchLabels.app=gateway,worker.nodeSelector.zone=web",
        "--set=worker.tolerations[0].key=web,worker.tolerations[0].operator=Exists,worker.podAnnotations.note=here",
    )
    assert sum(kind == "HorizontalPodAutoscaler" for kind, _ in found) == len(ROLES)
    for manifest in found.values():
        answer = plane.apply(manifest, namespace)
        assert (answer.status, answer.warnings) == (201, ()), (manifest["metadata"], answer)
