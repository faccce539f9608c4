"""One sequence whose values are not finite ends alone: with INTERNAL, before its token is sent, and
without a bit of its mates' answers changed."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from grpc_api import GrpcApi, completion
from http_api import HttpApi
from servers import Servers

BROKEN_TOKEN = 30
MATES = [[41 + i, 60, 61 + i, 62] for i in range(6)]


@pytest.fixture
def broken_model(tmp_path: Path) -> Path:
    """A tiny model in which the embedding of one token is NaN; the output projection is its own."""
    import numpy
    import tiny_checkpoint
    from cases import case_named
    from safetensors_file import write_shards

    folder = tmp_path / "broken"
    case = case_named("llama-learned_sink-affine-elementwise")
    tiny_checkpoint.write(case, folder)
    tensors = dict(tiny_checkpoint.tensors(case))
    embedding = tensors["model.embed_tokens.weight"]
    tensors.setdefault("lm_head.weight", embedding.copy())
    embedding[BROKEN_TOKEN] = numpy.nan
    for file in folder.glob("*.safetensors*"):
        file.unlink()
    write_shards(folder, tensors, 1)
    config = json.loads((folder / "config.json").read_text())
    config["tie_word_embeddings"] = False
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_a_sequence_that_is_not_finite_ends_alone_and_its_mates_do_not_notice(
    servers: Servers, broken_model: Path
) -> None:
    server = servers.start(broken_model, "--kv_cache_gib=0.05", "--stability_sample_every=1")
    fields = {"max_tokens": 40, "temperature": 0.0, "ignore_eos": True, "logprobs": 2}
    with GrpcApi(server.address) as api, ThreadPoolExecutor(len(MATES) + 1) as pool:
        alone = [api.complete(prompt, **fields, cache_salt="alone") for prompt in MATES]
        mates = [pool.submit(api.complete, prompt, **fields, cache_salt="b") for prompt in MATES]
        broken = api.stub.StreamComplete(completion([50, BROKEN_TOKEN, 51], **fields), timeout=60)
        with pytest.raises(grpc.RpcError) as error:
            for chunk in broken:
                pytest.fail(f"a token was sent: {chunk}")
        assert error.value.code() is grpc.StatusCode.INTERNAL
        assert "not finite" in error.value.details()
        for before, mate in zip(alone, mates, strict=True):
            answer = mate.result()
            assert answer.token_ids == before.token_ids
            assert answer.logprobs == before.logprobs
    server.assert_idle()  # no block leaked


def test_it_is_counted_and_logged_with_its_request_id(
    servers: Servers, broken_model: Path
) -> None:
    server = servers.start(broken_model, "--kv_cache_gib=0.05", "--stability_sample_every=1")
    with GrpcApi(server.address) as api:
        error = api.error([BROKEN_TOKEN], max_tokens=4, request_id="the-broken-one")
        assert error.code() is grpc.StatusCode.INTERNAL
    metrics = HttpApi(server.address).get("/metrics").text
    counted = re.search(r'unstable_requests_total\{limit="non_finite"[^}]*\} (\S+)', metrics)
    assert counted and float(counted.group(1)) == 1.0
    assert float(re.search(r"attention_non_finite_total\{[^}]*\} (\S+)", metrics).group(1)) > 0
    line = server.wait_log("request finished")
    assert line["request_id"] == "the-broken-one"
    assert line["code"] == "INTERNAL"
