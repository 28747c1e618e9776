# SPDX-License-Identifier: Apache-2.0
"""deploy/kubernetes: built by kustomize, checked against Kubernetes' own schemas. It was run on no cluster."""

import subprocess
import tomllib
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from airbound.configuration.environment import overrides
from airbound.configuration.layers import load

VERSIONS = ("1.29", "1.37")  # the oldest and the newest that this is checked for
KUSTOMIZATIONS = ("base", "overlays/example")


def built(root: Path, name: str) -> list[dict[str, Any]]:
    folder = root / "deploy" / "kubernetes" / name
    text = subprocess.run(["kustomize", "build", str(folder)], check=True, capture_output=True, text=True).stdout
    return list(yaml.safe_load_all(text))


@pytest.fixture(scope="module", params=KUSTOMIZATIONS)
def manifests(request: pytest.FixtureRequest, root: Path) -> list[dict[str, Any]]:
    return built(root, request.param)


def one(manifests: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (found,) = (manifest for manifest in manifests if manifest["kind"] == kind)
    return found


def pod(manifests: list[dict[str, Any]]) -> dict[str, Any]:
    spec: dict[str, Any] = one(manifests, "Deployment")["spec"]["template"]["spec"]
    return spec


def environment(manifests: list[dict[str, Any]]) -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in pod(manifests)["containers"][0]["env"]}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_schemas(manifests: list[dict[str, Any]], version: str) -> None:
    assert len(manifests) >= 9
    for manifest in manifests:
        kubernetes_validate.validate(manifest, version, strict=True)


def test_the_schemas_refuse_what_is_wrong(root: Path) -> None:
    deployment = one(built(root, "base"), "Deployment")
    deployment["spec"]["template"]["spec"]["container"] = []
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(deployment, VERSIONS[-1], strict=True)


def test_containers_have_no_more_than_they_need(manifests: list[dict[str, Any]]) -> None:
    """As the Pod Security Standard `restricted` asks for, and a root that is read-only."""
    spec = pod(manifests)
    assert spec["automountServiceAccountToken"] is False
    assert (spec["securityContext"]["runAsNonRoot"], spec["securityContext"]["runAsUser"]) == (True, 900)
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in (*spec["initContainers"], *spec["containers"]):
        context = container["securityContext"]
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert (context["allowPrivilegeEscalation"], context["readOnlyRootFilesystem"]) == (False, True)
        assert container["resources"]["limits"]["memory"]


def test_the_controller_takes_its_configuration(manifests: list[dict[str, Any]], tmp_path: Path) -> None:
    (file, text), *rest = one(manifests, "ConfigMap")["data"].items()
    assert not rest
    assert tomllib.loads(text)
    (tmp_path / file).write_text(text, encoding="utf-8")
    values = environment(manifests)
    assert len(overrides(values)) == len(values)
    config = load(tmp_path / file, values).config
    assert config.store.url.startswith(("redis://", "rediss://"))
    assert not config.tls.plain_text
    arguments = pod(manifests)["containers"][0]["args"]
    assert arguments[-1] == f"/etc/airbound/{file}"


def test_ports_are_those_that_the_controller_listens_on(manifests: list[dict[str, Any]]) -> None:
    ports = {port["name"]: port["containerPort"] for port in pod(manifests)["containers"][0]["ports"]}
    values = environment(manifests)
    assert values["AIRBOUND_LISTEN"] == f"0.0.0.0:{ports['agents']}"
    assert values["AIRBOUND_OPERATORS"] == f'["0.0.0.0:{ports["operators"]}"]'
    assert values["AIRBOUND_METRICS__LISTEN"] == f"0.0.0.0:{ports['metrics']}"
    assert values["AIRBOUND_TLS__ENROLLMENT"] == f"0.0.0.0:{ports['enrollment']}"
    published = {
        port["targetPort"]: service["spec"].get("type", "ClusterIP")
        for service in manifests
        if service["kind"] == "Service"
        for port in service["spec"]["ports"]
    }
    assert published == {
        "agents": "LoadBalancer", "enrollment": "LoadBalancer", "operators": "ClusterIP", "metrics": "ClusterIP",
    }  # fmt: skip
    allowed = {port["port"] for rule in one(manifests, "NetworkPolicy")["spec"]["ingress"] for port in rule["ports"]}
    assert allowed == set(ports)


def test_everything_is_about_the_same_pods(manifests: list[dict[str, Any]]) -> None:
    labels = one(manifests, "Deployment")["spec"]["template"]["metadata"]["labels"]
    selectors = [
        one(manifests, "Deployment")["spec"]["selector"]["matchLabels"],
        one(manifests, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        one(manifests, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
        *(manifest["spec"]["selector"] for manifest in manifests if manifest["kind"] == "Service"),
    ]
    assert all(selector and selector.items() <= labels.items() for selector in selectors)
    scaled = one(manifests, "HorizontalPodAutoscaler")["spec"]
    assert scaled["scaleTargetRef"]["name"] == one(manifests, "Deployment")["metadata"]["name"]
    # A fixed number here would end what the autoscaler started, with each update.
    assert "replicas" not in one(manifests, "Deployment")["spec"]
    assert scaled["minReplicas"] > one(manifests, "PodDisruptionBudget")["spec"]["maxUnavailable"]


def test_secrets_are_named_and_not_here(manifests: list[dict[str, Any]]) -> None:
    assert not [manifest for manifest in manifests if manifest["kind"] == "Secret"]
    named = {volume["secret"]["secretName"] for volume in pod(manifests)["volumes"] if "secret" in volume}
    assert named == {"airbound-ca", "airbound-store"}


def test_the_overlay_changes_what_it_means_to(root: Path) -> None:
    manifests = built(root, "overlays/example")
    assert {manifest["metadata"].get("namespace", "airbound") for manifest in manifests} == {"airbound"}
    assert {container["image"] for container in (*pod(manifests)["containers"], *pod(manifests)["initContainers"])} == {
        "registry.example.net/airbound-controller:0.1.0"
    }
    values = environment(manifests)
    assert (values["AIRBOUND_STORE__CLUSTER"], values["AIRBOUND_LISTEN"]) == ("true", "0.0.0.0:50051")
    metrics = one(manifests, "NetworkPolicy")["spec"]["ingress"][2]
    assert metrics["from"][0]["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "observability"}
