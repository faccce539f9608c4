"""The Dockerfile and the Kubernetes manifests agree with each other and with the server.

Reads the files; needs no Docker and no cluster. Flags are those of the built affine_server.
"""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

REPO = Path(__file__).resolve().parents[2]
KUBERNETES = REPO / "deploy" / "kubernetes"
BASE = KUBERNETES / "base"
OVERLAYS = [KUBERNETES / "overlays" / name for name in ("dev", "prod")]
SERVER = Path(os.environ.get("AFFINE_SERVER_BINARY", REPO / "build/server/app/affine_server"))
IDENTITY = {"app.kubernetes.io/name", "app.kubernetes.io/instance"}


def load(path):
    return yaml.safe_load(path.read_text())


def pod(deployment):
    return deployment["spec"]["template"]["spec"]


def server_container(deployment):
    (container,) = [c for c in pod(deployment)["containers"] if c["name"] == "server"]
    return container


def environment(deployment):
    return {e["name"]: e.get("value") for e in server_container(deployment).get("env", [])}


def deployments():
    return {folder.name: load(folder / "deployment.yaml") for folder in [BASE, *OVERLAYS]}


def instructions():
    """(instruction, its words) of the Dockerfile, with continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", (REPO / "Dockerfile").read_text(), flags=re.M)
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.split()[0].upper(), line.split(None, 1)[1]) for line in lines if line.strip()]


def stages():
    """{stage name: its instructions}, in the order of the file."""
    found = {}
    for name, rest in instructions():
        if name == "FROM":
            image, _, stage = rest.split()
            found[stage] = [("FROM", image)]
        elif found:
            found[list(found)[-1]].append((name, rest))
    return found


def copies(stage):
    """(stage copied from or None, sources, target) of each COPY."""
    for name, rest in stage:
        if name == "COPY":
            words = shlex.split(rest)
            flags = [w for w in words if w.startswith("--")]
            paths = [w for w in words if not w.startswith("--")]
            origin = next((f.split("=")[1] for f in flags if f.startswith("--from=")), None)
            yield origin, paths[:-1], paths[-1]


@pytest.mark.parametrize("folder", [BASE, *OVERLAYS], ids=lambda f: f.name)
def test_what_a_kustomization_names_exists(folder):
    kustomization = load(folder / "kustomization.yaml")
    named = kustomization["resources"] + [p["path"] for p in kustomization.get("patches", [])]
    for name in named:
        path = folder / name
        assert path.is_file() or (path / "kustomization.yaml").is_file(), name


def test_every_manifest_of_the_base_is_named_by_its_kustomization():
    present = {p.name for p in BASE.glob("*.yaml")} - {"kustomization.yaml"}
    assert present == set(load(BASE / "kustomization.yaml")["resources"])


def test_selectors_are_name_and_instance_and_match_the_pods():
    deployment = load(BASE / "deployment.yaml")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    for selector in (
        deployment["spec"]["selector"]["matchLabels"],
        load(BASE / "service.yaml")["spec"]["selector"],
        load(BASE / "poddisruptionbudget.yaml")["spec"]["selector"]["matchLabels"],
    ):
        assert set(selector) == IDENTITY
        assert selector.items() <= labels.items()


def test_labels_that_change_stay_out_of_selectors():
    for labels in load(BASE / "kustomization.yaml")["labels"]:
        assert not labels["includeSelectors"]
        assert not IDENTITY & set(labels["pairs"])


@pytest.mark.parametrize(
    "probe, path",
    [("startupProbe", "/ready"), ("livenessProbe", "/health"), ("readinessProbe", "/ready")],
)
def test_probes_ask_the_right_page_on_the_one_port(probe, path):
    get = server_container(load(BASE / "deployment.yaml"))[probe]["httpGet"]
    assert get == {"path": path, "port": "http"}


def test_startup_may_take_minutes():
    probe = server_container(load(BASE / "deployment.yaml"))["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] >= 300


def test_the_grace_period_outlasts_draining():
    base = load(BASE / "deployment.yaml")
    stop = server_container(base)["lifecycle"]["preStop"]["exec"]["command"]
    assert stop[0] == "sleep"
    for name, deployment in deployments().items():
        grace = pod(deployment).get("terminationGracePeriodSeconds", pod(base)["terminationGracePeriodSeconds"])
        drain = float({**environment(base), **environment(deployment)}["AFFINE_SHUTDOWN_TIMEOUT"])
        assert grace > int(stop[1]) + drain, name


def test_ports_agree():
    deployment = load(BASE / "deployment.yaml")
    container = server_container(deployment)
    (port,) = container["ports"]
    assert port["name"] == "http"
    assert f"--port={port['containerPort']}" in container["args"]
    assert "--host=0.0.0.0" in container["args"]
    annotations = deployment["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == str(port["containerPort"])
    assert ("EXPOSE", str(port["containerPort"])) in stages()["cpu"]
    service = {p["name"]: p for p in load(BASE / "service.yaml")["spec"]["ports"]}
    assert set(service) == {"http", "grpc"}
    assert {p["targetPort"] for p in service.values()} == {"http"}
    assert len({p["port"] for p in service.values()}) == 2
    assert all("appProtocol" in p for p in service.values())


def test_variables_and_flags_are_known_to_the_server():
    page = subprocess.run([SERVER, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
    known = set(re.findall(r"Environment: (AFFINE_\w+)", page))
    assert known
    for name, deployment in deployments().items():
        assert set(environment(deployment)) <= known, name
    flags = {a.split("=")[0] for a in server_container(load(BASE / "deployment.yaml"))["args"]}
    assert flags <= set(re.findall(r"^  (--\w+)", page, flags=re.M))


def test_service_links_are_off_since_they_would_set_affine_port():
    assert pod(load(BASE / "deployment.yaml"))["enableServiceLinks"] is False


def test_the_pod_is_confined():
    deployment = load(BASE / "deployment.yaml")
    container = server_container(deployment)
    assert pod(deployment)["securityContext"]["runAsNonRoot"] is True
    assert pod(deployment)["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"
    assert {"requests", "limits"} <= set(container["resources"])


def test_the_cpu_stage_is_the_default_and_runs_as_the_pods_user():
    assert list(stages())[-1] == "cpu"
    (user,) = [rest for name, rest in stages()["cpu"] if name == "USER"]
    security = pod(load(BASE / "deployment.yaml"))["securityContext"]
    assert user == f"{security['runAsUser']}:{security['runAsGroup']}"
    assert security["runAsUser"] != 0
    assert ("STOPSIGNAL", "SIGTERM") in stages()["cpu"]


def test_the_pod_serves_the_model_of_the_image():
    args = server_container(load(BASE / "deployment.yaml"))["args"]
    (model,) = [a.split("=", 1)[1] for a in args if a.startswith("--model=")]
    assert model in [target for origin, _, target in copies(stages()["cpu"]) if origin == "model"]


def test_stages_that_are_copied_from_stand_before():
    seen = []
    for stage, lines in stages().items():
        for origin, _, _ in copies(lines):
            assert origin is None or origin in seen, f"{stage} copies from {origin}"
        seen.append(stage)
    assert {"build", "model", "cuda"} <= set(seen)


def test_what_the_image_copies_exists_and_is_not_ignored():
    ignore = (REPO / ".dockerignore").read_text().split("\n")
    kept = [line[1:] for line in ignore if line.startswith("!")]
    assert "*" in ignore
    sources = [s for lines in stages().values() for origin, paths, _ in copies(lines) if not origin for s in paths]
    assert sources
    for source in sources:
        assert (REPO / source).exists(), source
        assert any(source == k or source.startswith(k + "/") for k in kept), f".dockerignore leaves out {source}"
