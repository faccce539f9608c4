"""Several answers to several prompts: each is bit for bit the answer of a request alone, streamed
or whole, over gRPC and over HTTP. AFFINE_STREAM_PAIRS says how many random requests are compared.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from affine_client._proto import completion_pb2 as pb
from grpc_api import GrpcApi, joined
from http_api import HttpApi

STREAM_PAIRS = int(os.environ.get("AFFINE_STREAM_PAIRS", "120"))
MASK = (1 << 64) - 1
SAMPLED = {"max_tokens": 12, "temperature": 1.2, "seed": 77, "logprobs": 2, "ignore_eos": True}


def seed_of(seed: int, answer: int) -> int:
    """SplitMix64, as server/request/answer_seed.h has it."""
    if answer == 0:
        return seed
    x = (seed + answer * 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def parts(answer: Any) -> tuple:
    return (
        answer.text,
        tuple(answer.token_ids),
        tuple(token.SerializeToString(deterministic=True) for token in answer.logprobs),
        answer.finish_reason,
    )


@pytest.mark.parametrize("length", [1, 2, 16, 17, 18, 75])
def test_each_answer_is_that_of_its_seed_alone(tiny_grpc: GrpcApi, length: int) -> None:
    prompt = [20 + 3 * i % 200 for i in range(length)]
    whole = tiny_grpc.complete(prompt, n=5, **SAMPLED)
    answers = [whole, *whole.other_answers]
    for index, answer in enumerate(answers):
        fields = {**SAMPLED, "seed": seed_of(SAMPLED["seed"], index), "cache_salt": str(index)}
        assert parts(answer) == parts(tiny_grpc.complete(prompt, **fields)), index
    assert len({answer.text for answer in answers}) > 1
    assert whole.usage.prompt_tokens == length
    assert whole.usage.output_tokens == 60


def test_the_prompt_of_several_answers_is_computed_once(
    tiny_server: Any, tiny_grpc: GrpcApi
) -> None:
    name = "affine_prompt_tokens_total"
    before = tiny_server.metric(name)
    tiny_grpc.complete(list(range(30, 130)), n=8, cache_salt="once", **SAMPLED)
    computed = tiny_server.metric(name) - before
    assert computed == 99 + 8  # the last token by each, for a sample of its own


def test_the_best_are_those_with_the_highest_mean_log_probability(tiny_http: HttpApi) -> None:
    fields = {"prompt": ["one", "two"], **SAMPLED}
    ranked = tiny_http.complete(n=2, best_of=6, **fields)["choices"]
    candidates = tiny_http.complete(n=6, **fields)["choices"]

    def mean(choice: dict) -> float:
        scores = choice["logprobs"]["token_logprobs"]
        return sum(scores) / len(scores)

    for prompt in range(2):
        mine = sorted(candidates[6 * prompt : 6 * prompt + 6], key=mean, reverse=True)
        best = ranked[2 * prompt : 2 * prompt + 2]
        assert [choice["text"] for choice in best] == [choice["text"] for choice in mine[:2]]
        assert [choice["index"] for choice in best] == [2 * prompt, 2 * prompt + 1]


def random_text(draw: random.Random) -> str:
    planes = ((32, 126), (160, 0x7FF), (0x800, 0xD7FF), (0x1F300, 0x1FAFF))
    return "".join(chr(draw.randint(*draw.choice(planes))) for _ in range(draw.randint(1, 12)))


def random_request(draw: random.Random) -> dict:
    fields: dict[str, Any] = {
        "prompt": random_text(draw),
        "max_tokens": draw.randint(1, 24),
        "temperature": draw.choice((0.0, 0.9, 1.5)),
        "seed": draw.getrandbits(63),
        "n": draw.choice((1, 1, 2, 3)),
        "echo": draw.random() < 0.2,
        "skip_special_tokens": draw.random() < 0.8,
    }
    if draw.random() < 0.3:
        fields["logprobs"] = draw.randint(0, 3)
    if draw.random() < 0.4:
        fields["stop"] = [draw.choice(("e", " ", "th", "\ufffd", "aa")) for _ in range(2)]
    return fields


def test_streams_equal_whole_answers_over_grpc(tiny_grpc: GrpcApi) -> None:
    draw = random.Random(11)
    for _ in range(STREAM_PAIRS):
        fields = random_request(draw)
        whole = tiny_grpc.complete(**fields)
        chunks = list(tiny_grpc.stream(**fields))
        assert sum(chunk.HasField("usage") for chunk in chunks) == 1
        usage = chunks[-1].usage
        for index, answer in enumerate([whole, *whole.other_answers]):
            mine = [chunk for chunk in chunks if chunk.index == index]
            assert parts(joined(mine)) == parts(answer), fields
        assert (usage.prompt_tokens, usage.output_tokens) == (
            whole.usage.prompt_tokens,
            whole.usage.output_tokens,
        )
        assert usage.output_tokens == sum(len(chunk.token_ids) for chunk in chunks)


def test_streams_equal_whole_answers_over_http(tiny_http: HttpApi) -> None:
    draw = random.Random(12)
    for _ in range(STREAM_PAIRS):
        fields = random_request(draw)
        more = [random_text(draw) for _ in range(draw.randint(0, 2))]
        fields["prompt"] = [fields["prompt"], *more]
        fields["return_token_ids"] = True
        whole = tiny_http.complete(**fields)
        texts = [""] * len(whole["choices"])
        ids: list[list[int]] = [[] for _ in texts]
        reasons: list[str | None] = [None] * len(texts)
        usage = None
        for event in tiny_http.stream(**fields, stream_options={"include_usage": True}):
            usage = event.get("usage", usage)
            for choice in event["choices"]:
                index = choice["index"]
                assert reasons[index] is None, "a piece after the last one"
                texts[index] += choice["text"]
                ids[index] += choice["token_ids"]
                reasons[index] = choice["finish_reason"]
        assert texts == [choice["text"] for choice in whole["choices"]], fields
        assert ids == [choice["token_ids"] for choice in whole["choices"]]
        assert reasons == [choice["finish_reason"] for choice in whole["choices"]]
        assert usage is not None
        assert usage["completion_tokens"] == sum(map(len, ids))
        assert usage["prompt_tokens"] == whole["usage"]["prompt_tokens"]


def test_limits_are_named(tiny_http: HttpApi, tiny_grpc: GrpcApi) -> None:
    for fields, param in (
        ({"n": 0}, "n"),
        ({"n": 129}, "n"),
        ({"n": 3, "best_of": 2}, "best_of"),
        ({"best_of": 2, "stream": True}, "best_of"),
        ({"prompt": ["a"] * 9, "n": 128}, "prompt"),
    ):
        answer = tiny_http.post("/v1/completions", {"prompt": "x", **fields})
        assert answer.status == 400 and answer.error["param"] == param, answer.text
    error = tiny_grpc.error("x", n=129)
    assert "`n` is 129; it must be an integer in [1, 128]" in error.details()


@pytest.mark.parametrize("n", [1, 3])
def test_a_timeout_ends_what_runs_and_frees_it(
    tiny_server: Any, tiny_http: HttpApi, tiny_grpc: GrpcApi, n: int
) -> None:
    endless = {"max_tokens": 30000, "ignore_eos": True, "n": n}
    answer = tiny_http.post("/v1/completions", {"prompt": "x", "timeout_ms": 150, **endless})
    assert answer.status == 504, answer.text
    error = tiny_grpc.error("x", timeout_ms=150, **endless)
    assert error.code().name == "DEADLINE_EXCEEDED"
    tiny_server.wait_metric("affine_num_requests_running", lambda value: value == 0)


def test_the_deadline_of_a_call_and_a_timeout_hold_in_the_queue(
    servers: Any, tiny_model: Any
) -> None:
    server = servers.start(
        tiny_model, "--served_model_name=tiny", "--kv_cache_gib=0.25", "--max_num_seqs=1"
    )
    with GrpcApi(server.address) as api:
        running = api.stream("x", max_tokens=30000, ignore_eos=True)
        next(iter(running))  # it holds the one slot
        error = api.error("waits", timeout_ms=100)
        assert error.code().name == "DEADLINE_EXCEEDED"
        assert "queued" in error.details()
        request = pb.CompleteRequest(text="waits")
        error = api.error_of("Complete", request, timeout=0.1)
        assert error.code().name == "DEADLINE_EXCEEDED"
        answer = HttpApi(server.address).post(
            "/v1/completions", {"prompt": "waits", "timeout_ms": 100, "priority": 5}
        )
        assert answer.status == 504, answer.text
        running.cancel()


def test_a_goal_out_of_reach_is_refused_with_a_hint(
    tiny_http: HttpApi, tiny_grpc: GrpcApi
) -> None:
    for _ in range(3):  # steps are timed
        tiny_grpc.complete(list(range(20, 220)), max_tokens=8, ignore_eos=True, cache_salt="goal")
    fields = {"max_tokens": 4, "max_time_per_token_ms": 0.001}
    answer = tiny_http.post("/v1/completions", {"prompt": "x", **fields})
    assert answer.status == 429, answer.text
    assert answer.error["code"] == "goal_out_of_reach"
    assert int(answer.headers["Retry-After"]) >= 1
    error = tiny_grpc.error("x", **fields)
    assert error.code().name == "RESOURCE_EXHAUSTED"
    assert dict(error.trailing_metadata())["retry-after"] >= "1"
    assert "max_time_per_token_ms" in error.details()
    generous = {"max_ttft_ms": 60000, "max_time_per_token_ms": 10000, "n": 2}
    assert tiny_grpc.complete("x", max_tokens=4, **generous).usage.output_tokens > 0
