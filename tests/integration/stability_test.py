"""How stable the attention is, by request and by model: one set of figures over gRPC and HTTP, and
the same for the same request whatever else the server does. Bit for bit, but that company may cut
a prompt into other steps: then sums are added up in another order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from affine_client._proto import completion_pb2 as pb
from grpc_api import GrpcApi
from http_api import HttpApi
from server_process import ServerProcess
from servers import Servers

PROMPT = [20 + 7 * i % 250 for i in range(80)]  # more than one cache block
TOKENS = 24
GREEDY = {"max_tokens": TOKENS, "temperature": 0, "ignore_eos": True}
OBSERVED = {**GREEDY, "stability": True, "stability_heads": True}
POSITIONS = len(PROMPT) + TOKENS - 1  # the last token is sampled and never attended from
HEADS = {field.name for field in pb.AttentionHeads.DESCRIPTOR.fields}
ALPHA = {"alpha", "alpha_deviation", "alpha_at_zero", "alpha_at_one", "alpha_ma"}


@pytest.fixture(scope="module")
def server(module_servers: Servers, tiny_model: Path) -> ServerProcess:
    """Samples each step, so that one completion fills the window."""
    return module_servers.start(
        tiny_model,
        "--served_model_name=tiny",
        "--kv_cache_gib=0.25",
        "--max_num_batched_tokens=256",
        "--stability_sample_every=1",
    )


@pytest.fixture(scope="module")
def api(server: ServerProcess) -> Iterator[GrpcApi]:
    with GrpcApi(server.address) as api:
        yield api


@pytest.fixture(scope="module")
def http(server: ServerProcess) -> HttpApi:
    return HttpApi(server.address)


@pytest.fixture(scope="module")
def alone(api: GrpcApi) -> pb.CompleteResponse:
    """The answer that all the others are held against."""
    return api.complete(PROMPT, **OBSERVED)


def bits(message: pb.StabilitySummary) -> bytes:
    return message.SerializeToString(deterministic=True)


def rows(values: Sequence[float], columns: int) -> list[list[float]]:
    return [list(values[at : at + columns]) for at in range(0, len(values), columns)]


def assert_same_heads(shown: dict[str, Any], heads: pb.AttentionHeads) -> None:
    """JSON's matrices and the message's lists are the same numbers, to the last bit."""
    filled = {name for name in HEADS if name.startswith("num_") or len(getattr(heads, name))}
    assert set(shown) & HEADS == filled
    for name in filled:
        value = getattr(heads, name)
        if name.startswith("num_"):
            assert shown[name] == value
        else:
            columns = 23 if name == "weight_sum_counts" else heads.num_heads
            assert shown[name] == rows(value, columns), name


def assert_same_summary(shown: dict[str, Any], summary: pb.StabilitySummary) -> None:
    assert set(shown) == {field.name for field, _ in summary.ListFields()} | {
        field.name
        for field in summary.DESCRIPTOR.fields
        if field.message_type is None and not field.has_presence
    }
    for name, value in shown.items():
        told = getattr(summary, name)
        if name == "heads":
            assert_same_heads(value, told)
        elif isinstance(value, dict):
            assert value == {"value": told.value, "layer": told.layer, "head": told.head}, name
        else:
            assert value == told, name


def get_attention(api: GrpcApi, model: str = "") -> pb.GetAttentionResponse:
    return api.stub.GetAttention(pb.GetAttentionRequest(model=model), timeout=60)


def test_every_position_of_prompt_and_answer_is_measured_in_every_head(
    alone: pb.CompleteResponse,
) -> None:
    summary, heads = alone.stability, alone.stability.heads
    assert summary.queries == POSITIONS
    assert summary.non_finite == 0
    places = heads.num_layers * heads.num_heads
    assert list(heads.queries) == [POSITIONS] * places
    assert {name for name in HEADS if name.startswith("num_") or getattr(heads, name)} == HEADS
    for counts in rows(heads.weight_sum_counts, 23):
        assert sum(counts) == POSITIONS * heads.num_heads


def test_the_summary_is_what_its_heads_add_up_to(alone: pb.CompleteResponse) -> None:
    summary, heads = alone.stability, alone.stability.heads
    places = heads.num_layers * heads.num_heads
    drifts = [abs(a - ma) for a, ma in zip(heads.alpha, heads.alpha_ma, strict=True)]
    for mean, matrix in (
        (summary.entropy, heads.entropy),
        (summary.first_token_mass, heads.first_token_mass),
        (summary.alpha, heads.alpha),
        (summary.alpha_at_zero, heads.alpha_at_zero),
        (summary.alpha_at_one, heads.alpha_at_one),
        (summary.alpha_drift, drifts),
    ):
        assert mean == pytest.approx(sum(matrix) / places)
    for worst, value, matrix in (
        (summary.worst_entropy, min(heads.entropy), heads.entropy),
        (
            summary.worst_first_token_mass,
            max(heads.first_token_mass),
            heads.first_token_mass,
        ),
        (summary.largest_score, max(heads.largest_score), heads.largest_score),
        (summary.worst_alpha_drift, max(drifts), drifts),
    ):
        assert worst.value == value
        assert worst.layer * heads.num_heads + worst.head == list(matrix).index(value)


def test_a_grpc_stream_brings_the_unary_summary_with_its_end(
    api: GrpcApi, alone: pb.CompleteResponse
) -> None:
    *pieces, last = api.stream(PROMPT, **OBSERVED)
    assert not any(piece.HasField("stability") for piece in pieces)
    assert bits(last.stability) == bits(alone.stability)


def test_http_gives_the_same_summary(http: HttpApi, alone: pb.CompleteResponse) -> None:
    answer = http.complete(prompt=PROMPT, **OBSERVED)
    assert_same_summary(answer["stability"], alone.stability)
    assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] == 0


def test_an_http_stream_gives_it_beside_the_finish_reason(
    http: HttpApi, alone: pb.CompleteResponse
) -> None:
    *pieces, last = http.stream(prompt=PROMPT, **OBSERVED)
    assert not any("stability" in piece for piece in pieces)
    assert last["choices"][0]["finish_reason"] == "length"
    assert_same_summary(last["stability"], alone.stability)


def test_heads_come_only_if_asked_for(
    api: GrpcApi, http: HttpApi, alone: pb.CompleteResponse
) -> None:
    summary = api.complete(PROMPT, **GREEDY, stability=True).stability
    assert not summary.HasField("heads")
    summary.heads.CopyFrom(alone.stability.heads)
    assert bits(summary) == bits(alone.stability)
    assert "heads" not in http.complete(prompt=PROMPT, **GREEDY, stability=True)["stability"]
    assert not api.complete(PROMPT, **GREEDY).HasField("stability")
    assert "stability" not in http.complete(prompt=PROMPT, **GREEDY)


def test_a_cached_prompt_is_computed_anew(api: GrpcApi, alone: pb.CompleteResponse) -> None:
    assert api.complete(PROMPT, **GREEDY).usage.cached_tokens > 0
    again = api.complete(PROMPT, **OBSERVED)
    assert again.usage.cached_tokens == 0
    assert list(again.token_ids) == list(alone.token_ids)
    assert bits(again.stability) == bits(alone.stability)


def test_company_changes_nothing(api: GrpcApi, alone: pb.CompleteResponse) -> None:
    """Observed ones among others, prompts cut up by the small steps."""

    def ask(number: int) -> pb.CompleteResponse:
        if number % 3 == 0:
            return api.complete(PROMPT, **OBSERVED)
        others = [20 + (number * i) % 250 for i in range(40 * number + 1)]
        return api.complete(others, **GREEDY, stability=number % 3 == 1)

    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(ask, range(24)))
    for answer in answers[::3]:
        assert list(answer.token_ids) == list(alone.token_ids)
        assert bits(answer.stability) == bits(alone.stability)


def test_both_ways_give_the_same_matrices_of_the_model(
    server: ServerProcess, api: GrpcApi, http: HttpApi, alone: pb.CompleteResponse
) -> None:
    server.assert_idle()
    over_grpc = get_attention(api)
    assert over_grpc.model == "tiny"
    assert 1 <= over_grpc.observed_steps <= 64
    assert set(over_grpc.heads.queries) == {over_grpc.heads.queries[0]}
    assert over_grpc.heads.queries[0] >= over_grpc.observed_steps
    for path in ("/v1/attention", "/v1/attention?model=tiny"):
        shown = http.get(path).json
        assert shown["object"] == "attention"
        assert shown["model"] == "tiny"
        assert shown["observed_steps"] == over_grpc.observed_steps
        assert len(shown["weight_sum_edges"]) == 22
        assert_same_heads(shown, over_grpc.heads)
    assert get_attention(api, "tiny") == over_grpc


def test_an_unknown_model_is_not_found(api: GrpcApi, http: HttpApi) -> None:
    error = api.error_of("GetAttention", pb.GetAttentionRequest(model="huge"))
    assert error.code() is grpc.StatusCode.NOT_FOUND
    answer = http.get("/v1/attention?model=huge")
    assert answer.status == 404
    assert answer.error["code"] == "model_not_found"
    assert answer.error["message"] == error.details()


@pytest.mark.parametrize("field", ["stability", "stability_heads"])
@pytest.mark.parametrize("value", [1, "true", []])
def test_values_of_other_types_are_named(http: HttpApi, field: str, value: Any) -> None:
    answer = http.post("/v1/completions", {"prompt": "x", "stability": True, field: value})
    assert answer.status == 400
    assert answer.error["param"] == field
    assert f"`{field}` is " in answer.error["message"]
    assert "it must be true or false" in answer.error["message"]


def test_heads_without_the_summary_are_refused_alike(api: GrpcApi, http: HttpApi) -> None:
    error = api.error("x", stability_heads=True)
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    answer = http.post("/v1/completions", {"prompt": "x", "stability_heads": True})
    assert answer.status == 400
    assert answer.error["param"] == "stability_heads"
    assert answer.error["message"] == error.details()


def test_a_plain_model_has_no_alpha(servers: Servers, tmp_path: Path) -> None:
    """Before its first step there are zeros; after it, no figure of alpha."""
    import tiny_checkpoint
    from cases import case_named

    folder = tmp_path / "plain"
    tiny_checkpoint.write(case_named("llama-softmax-unscaled-none"), folder)
    server = servers.start(folder, "--kv_cache_gib=0.01", "--stability_sample_every=1")
    http = HttpApi(server.address)
    with GrpcApi(server.address) as api:
        before = get_attention(api)
        assert before.observed_steps == 0
        assert set(before.heads.queries) == set(before.heads.entropy) == {0}
        assert_same_heads(http.get("/v1/attention").json, before.heads)
        answer = api.complete("x", max_tokens=4, ignore_eos=True, stability=True)
        assert not answer.stability.HasField("alpha")
        after = get_attention(api)
        assert after.observed_steps >= 4
        assert not any(len(getattr(after.heads, name)) for name in ALPHA)
        assert after.heads.weight_sum[0] == pytest.approx(1)
        assert_same_heads(http.get("/v1/attention").json, after.heads)


def test_a_request_is_measured_even_where_no_step_is_sampled(
    servers: Servers, tiny_model: Path, alone: pb.CompleteResponse
) -> None:
    server = servers.start(tiny_model, "--kv_cache_gib=0.25", "--stability_sample_every=0")
    with GrpcApi(server.address) as api:
        assert bits(api.complete(PROMPT, **OBSERVED).stability) == bits(alone.stability)
        error = api.error_of("GetAttention", pb.GetAttentionRequest())
    assert error.code() is grpc.StatusCode.UNIMPLEMENTED
    assert "--stability_sample_every" in error.details()
    answer = HttpApi(server.address).get("/v1/attention")
    assert answer.status == 404
    assert answer.error["message"] == error.details()


def test_an_unstable_end_has_its_reason_and_its_summary(servers: Servers, tiny_model: Path) -> None:
    server = servers.start(
        tiny_model,
        "--kv_cache_gib=0.25",
        "--stability_limits=largest_score=0.0001",
        "--unstable_action=finish",
    )
    http = HttpApi(server.address)
    with GrpcApi(server.address) as api:
        answer = api.complete(PROMPT, **OBSERVED)
        assert answer.finish_reason == pb.FINISH_REASON_UNSTABLE
        assert answer.usage.output_tokens == 0
        assert answer.stability.queries == len(PROMPT)
        assert answer.stability.largest_score.value > 0.0001
    whole = http.complete(prompt=PROMPT, **OBSERVED)
    *_, last = http.stream(prompt=PROMPT, **OBSERVED)
    for shown in (whole, last):
        assert shown["choices"][0]["finish_reason"] == "unstable"
        assert_same_summary(shown["stability"], answer.stability)
