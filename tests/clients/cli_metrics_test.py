"""`affine metrics` and its reading of Prometheus' text format."""

from __future__ import annotations

import pytest
from affine_client.exposition import Exposition
from command_line import CommandLine
from fake_http import METRICS, FakeHttp


def test_the_key_figures_are_a_table(http: FakeHttp) -> None:
    affine = CommandLine()
    assert affine("metrics", "--address", http.address, "--api-key", "k") == 0
    figures = {line[:18].strip(): line[18:] for line in affine.out.splitlines()[1:]}
    assert figures["running"].startswith("3")
    assert figures["cache in use"].startswith("25.0 %")
    assert figures["prefix hits"].startswith("25.0 %")
    assert figures["output tokens"].startswith("3,456")
    assert figures["finished: length"].startswith("4")
    assert figures["first token"].startswith("100.0 ms / 200.0 ms / 1.82 s")
    assert "between tokens" not in figures  # nothing measured yet
    assert http.headers[0]["Authorization"] == "Bearer k"


def test_raw_prints_the_page_itself(http: FakeHttp) -> None:
    affine = CommandLine()
    assert affine("metrics", "--raw", "--address", http.address) == 0
    assert affine.out == METRICS


def test_a_page_of_something_else_is_an_error(http: FakeHttp) -> None:
    affine = CommandLine()
    http.pages["/metrics"] = "process_cpu_seconds_total 1\n"
    assert affine("metrics", "--address", http.address) == 1
    assert "none of the known figures" in affine.err
    del http.pages["/metrics"]
    assert affine("metrics", "--address", http.address) == 1
    assert "404" in affine.err


def test_the_projects_own_names_come_first() -> None:
    page = Exposition("affine_x 1\nvllm:x 2\n")
    assert page.total("affine_x", "vllm:x") == 1
    assert page.total("absent", "vllm:x") == 2
    assert page.total("absent") is None


def test_labels_may_hold_commas_braces_and_escapes() -> None:
    page = Exposition('a{x="1,}2",y="q\\"r"} 4\na{x="1,}2",y="s"} 5 1700000000\n')
    assert page.by_label("x", "a") == {"1,}2": 9.0}


@pytest.mark.parametrize(("share", "expected"), [(0.25, 0.5), (0.5, 1.0), (0.75, 2.0), (1.0, 3.0)])
def test_quantiles_are_linear_between_edges(share: float, expected: float) -> None:
    page = Exposition('h_bucket{le="1"} 2\nh_bucket{le="3"} 4\nh_bucket{le="+Inf"} 4\n')
    assert page.quantile(share, "h") == expected


def test_a_quantile_beyond_the_last_edge_is_that_edge() -> None:
    page = Exposition('h_bucket{le="1"} 2\nh_bucket{le="+Inf"} 4\n')
    assert page.quantile(0.99, "h") == 1.0
