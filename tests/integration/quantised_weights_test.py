"""Weights rounded to int8 and int4 while loading: the answers make sense, say what they come from,
and don't depend on company."""

from __future__ import annotations

from pathlib import Path

import pytest
from company_test import assert_company_changes_nothing, mixed_requests
from http_api import HttpApi
from servers import Servers

WEIGHTS = ("int8", "int4")


@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_real_model_still_knows_a_fact(
    servers: Servers, real_model: Path, weights: str
) -> None:
    server = servers.start(real_model, f"--weights={weights}", "--kv_cache_gib=0.5")
    http = HttpApi(server.address)
    answer = http.complete(prompt="The capital of France is", max_tokens=16, temperature=0)
    assert "Paris" in answer["choices"][0]["text"]
    (model,) = http.get("/v1/models").json["data"]
    assert (model["dtype"], model["weights"]) == ("bfloat16", weights)
    assert f'weights="{weights}"' in http.get("/metrics").text


@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_tiny_models_answers_do_not_depend_on_company(
    servers: Servers, tiny_model: Path, weights: str
) -> None:
    assert_company_changes_nothing(
        servers,
        tiny_model,
        mixed_requests(6, longest_prompt=300, longest_answer=200),
        f"--weights={weights}",
        "--max_num_batched_tokens=128",
        "--max_num_seqs=24",
        "--kv_cache_gib=0.25",
    )
