"""A real Prometheus scrapes the real server, as deploy/prometheus says, and its alerts fire.

An alert waits for minutes; here for one second, so that it fires while a test looks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from http_api import HttpApi
from prerequisites import ROOT
from prometheus_process import PrometheusProcess
from server_process import ServerProcess
from servers import Servers

CONFIGURATION = ROOT / "deploy" / "prometheus" / "prometheus.yaml"
ALERTS = CONFIGURATION.with_name("alerts.yaml")
MODEL = "watched"
# Every step is observed, and every score is above the limit.
FLAGS = ("--stability_sample_every=1", "--stability_limits=largest_score=0.000001")
BY_LAYER = (
    "affine_attention_entropy_nats",
    "affine_attention_first_token_mass",
    "affine_attention_largest_score",
    "affine_attention_total_weight",
    "affine_attention_sink_mass",
    "affine_attention_negative_mass",
    "affine_attention_alpha_mean",
    "affine_attention_alpha_at_zero_ratio",
    "affine_attention_alpha_at_one_ratio",
    "affine_attention_alpha_drift",
    "affine_attention_observed_queries_total",
    "affine_attention_non_finite_total",
)


@pytest.fixture(scope="module")
def server(module_servers: Servers, tiny_model: Path) -> ServerProcess:
    return module_servers.start(
        tiny_model, f"--served_model_name={MODEL}", "--kv_cache_gib=0.25", *FLAGS
    )


@pytest.fixture(scope="module")
def leaving_server(module_servers: Servers, tiny_model: Path) -> ServerProcess:
    """For a test to end."""
    return module_servers.start(tiny_model, "--served_model_name=leaving", "--kv_cache_gib=0.25")


@pytest.fixture(scope="module")
def prometheus(
    server: ServerProcess, leaving_server: ServerProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PrometheusProcess]:
    """It has scraped the server before the first request, and after three."""
    targets = [server.address, leaving_server.address]
    process = PrometheusProcess(targets, CONFIGURATION, tmp_path_factory.mktemp("prometheus"))
    try:
        steps = f'affine_attention_observed_steps_total{{model_name="{MODEL}"}}'
        process.eventually(lambda: process.query(f"{steps} == 0"))
        http = HttpApi(server.address)
        for _ in range(3):
            http.complete(prompt="count", max_tokens=8, ignore_eos=True)
        process.eventually(lambda: process.query(f"{steps} >= 24"))
        yield process
    finally:
        code = process.stop()
    assert code == 0


def rules() -> list[dict]:
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_the_target_is_up(prometheus: PrometheusProcess, server: ServerProcess) -> None:
    targets = {each["scrapeUrl"]: each for each in prometheus.get("targets")["activeTargets"]}
    target = targets[f"http://{server.address}/metrics"]
    assert (target["health"], target["lastError"]) == ("up", "")
    assert target["labels"] == {"job": "affine-serve", "instance": server.address}


def test_every_layer_has_its_series(prometheus: PrometheusProcess, tiny_model: Path) -> None:
    layers = json.loads((tiny_model / "config.json").read_text())["num_hidden_layers"]
    wanted = {(name, str(layer)) for name in BY_LAYER for layer in range(layers)}
    series = prometheus.query(f'{{__name__=~"affine_attention_.+",layer!="",model_name="{MODEL}"}}')
    assert {(each["metric"]["__name__"], each["metric"]["layer"]) for each in series} == wanted
    assert len(series) == len(wanted)
    entropies = f'affine_attention_entropy_nats{{model_name="{MODEL}"}} > 0'
    assert len(prometheus.query(entropies)) == layers


def test_the_rules_are_evaluated_without_errors(prometheus: PrometheusProcess) -> None:
    def evaluated() -> list[dict]:
        groups = prometheus.get("rules")["groups"]
        found = [rule for group in groups for rule in group["rules"]]
        return found if all(rule["health"] != "unknown" for rule in found) else []

    found = prometheus.eventually(evaluated)
    assert [rule["name"] for rule in found] == [r.get("alert") or r["record"] for r in rules()]
    assert {(rule["health"], rule.get("lastError", "")) for rule in found} == {("ok", "")}
    share = f'instance:affine_attention_observation:ratio_rate5m{{model_name="{MODEL}"}}'
    (recorded,) = prometheus.eventually(lambda: prometheus.query(f"{share} > 0"))
    assert float(recorded["value"][1]) < 1


def test_metrics_that_the_rules_name_are_there(
    prometheus: PrometheusProcess, server: ServerProcess
) -> None:
    """With the labels' values: a rule on a series that never comes is silent, whatever happens."""
    page = HttpApi(server.address).get("/metrics").text
    samples = set(re.findall(r"^(\w+)[{ ]", page, re.M))
    families = set(re.findall(r"^# TYPE (\w+) ", page, re.M))
    name = re.compile(r"(?<![:\w])affine_\w+\b(?!:)")  # of no recording rule
    asked = {found for rule in rules() for found in name.findall(rule["expr"])}
    assert asked and not asked - samples
    assert not set(name.findall(ALERTS.read_text())) - samples - families  # annotations', too
    selectors = re.findall(r'(affine_\w+)\{(\w+)[=!~]+"([^"]+)"\}', ALERTS.read_text())
    assert {label for _, label, _ in selectors} == {"cause", "limit"}
    for metric, label, values in selectors:
        for value in values.split("|"):
            assert re.search(rf'^{metric}\{{.*{label}="{value}"', page, re.M), (metric, value)


def test_requests_past_a_limit_raise_the_alert(
    prometheus: PrometheusProcess, server: ServerProcess
) -> None:
    assert server.metric("affine_attention_unstable_requests_total") == 3
    name = "AffineAttentionRequestsUnstable"

    def firing() -> dict | None:
        alert = prometheus.alert(name, limit="largest_score")
        return alert if alert and alert["state"] == "firing" else None

    alert = prometheus.eventually(firing)
    assert alert["labels"] == {
        "alertname": name,
        "severity": "warning",
        "job": "affine-serve",
        "instance": server.address,
        "model_name": MODEL,
        "limit": "largest_score",
    }
    assert MODEL in alert["annotations"]["summary"]
    assert "--stability_limits" in alert["annotations"]["description"]
    # It waited before it fired. No other limit was set, and nothing else is wrong with the server.
    pending = f'ALERTS{{alertname="{name}",alertstate="pending"}}'
    assert prometheus.query(f"count_over_time({pending}[1m])")
    for other in ("AffineAttentionNonFinite", "AffineTargetDown", "AffineErrorRatioHigh"):
        assert prometheus.alert(other, instance=server.address) is None
    assert prometheus.alert(name, limit="entropy") is None


def test_a_server_that_ends_raises_the_alert(
    prometheus: PrometheusProcess, leaving_server: ServerProcess
) -> None:
    address = leaving_server.address
    prometheus.eventually(lambda: prometheus.query(f'up{{instance="{address}"}} == 1'))
    assert leaving_server.stop() == 0
    alert = prometheus.eventually(lambda: prometheus.alert("AffineTargetDown", instance=address))
    assert alert["annotations"]["summary"] == f"{address} of affine-serve does not answer"
