"""What each parameter does to an answer, over gRPC and over HTTP."""

from __future__ import annotations

import pytest
from affine_client._proto import completion_pb2 as pb
from grpc_api import GrpcApi, joined
from http_api import HttpApi

PROMPT = "a few words of a prompt"
STOP, LENGTH = pb.FINISH_REASON_STOP, pb.FINISH_REASON_LENGTH


@pytest.fixture(scope="module")
def greedy(tiny_grpc: GrpcApi) -> pb.CompleteResponse:
    return tiny_grpc.complete(PROMPT, max_tokens=32, temperature=0, ignore_eos=True)


def test_max_tokens_is_exact(tiny_grpc: GrpcApi, greedy: pb.CompleteResponse) -> None:
    for number in (1, 7, 32):
        answer = tiny_grpc.complete(PROMPT, max_tokens=number, temperature=0, ignore_eos=True)
        assert list(answer.token_ids) == list(greedy.token_ids)[:number]
        assert (answer.finish_reason, answer.usage.output_tokens) == (LENGTH, number)


def test_sixteen_tokens_are_the_default(tiny_grpc: GrpcApi, tiny_http: HttpApi) -> None:
    assert tiny_grpc.complete(PROMPT, ignore_eos=True).usage.output_tokens == 16
    answer = tiny_http.complete(prompt=PROMPT, ignore_eos=True)
    assert answer["usage"]["completion_tokens"] == 16


def test_max_tokens_zero_computes_the_prompt_alone(tiny_grpc: GrpcApi, tiny_http: HttpApi) -> None:
    answer = tiny_grpc.complete(PROMPT, max_tokens=0, echo=True, logprobs=1)
    assert (answer.text, list(answer.token_ids), answer.usage.output_tokens) == (PROMPT, [], 0)
    assert answer.finish_reason == LENGTH
    assert len(answer.prompt_logprobs) == len(answer.prompt_token_ids) - 1
    over_http = tiny_http.complete(prompt=PROMPT, max_tokens=0, echo=True, logprobs=1)
    choice = over_http["choices"][0]
    assert choice["text"] == PROMPT
    assert choice["logprobs"]["token_logprobs"] == [
        None,
        *(token.logprob for token in answer.prompt_logprobs),
    ]


def test_max_tokens_zero_streams_the_prompt(tiny_grpc: GrpcApi) -> None:
    answer = joined(list(tiny_grpc.stream(PROMPT, max_tokens=0, echo=True)))
    assert (answer.text, answer.usage.output_tokens) == (PROMPT, 0)


def test_echo_puts_the_prompt_before_the_answer(
    tiny_grpc: GrpcApi, tiny_http: HttpApi, greedy: pb.CompleteResponse
) -> None:
    fields = {"max_tokens": 32, "temperature": 0, "ignore_eos": True, "echo": True}
    assert tiny_grpc.complete(PROMPT, **fields).text == PROMPT + greedy.text
    assert joined(list(tiny_grpc.stream(PROMPT, **fields))).text == PROMPT + greedy.text
    answer = tiny_http.complete(prompt=PROMPT, **fields)
    assert answer["choices"][0]["text"] == PROMPT + greedy.text


def test_logprobs_rank_the_chosen_token_among_the_best(tiny_grpc: GrpcApi) -> None:
    answer = tiny_grpc.complete(PROMPT, max_tokens=8, temperature=0, logprobs=5, ignore_eos=True)
    assert [token.id for token in answer.logprobs] == list(answer.token_ids)
    for token in answer.logprobs:
        assert token.rank == 1 and token.logprob < 0
        assert (token.top[0].id, token.top[0].logprob) == (token.id, token.logprob)
        values = [best.logprob for best in token.top]
        assert len(values) == 5 and values == sorted(values, reverse=True)


def test_logprobs_zero_is_the_chosen_tokens_alone(tiny_grpc: GrpcApi, tiny_http: HttpApi) -> None:
    answer = tiny_grpc.complete(PROMPT, max_tokens=4, temperature=0, logprobs=0, ignore_eos=True)
    assert len(answer.logprobs) == 4
    assert all(not token.top and token.logprob < 0 for token in answer.logprobs)
    unasked = tiny_grpc.complete(PROMPT, max_tokens=4, temperature=0, ignore_eos=True)
    assert not unasked.logprobs
    over_http = tiny_http.complete(
        prompt=PROMPT, max_tokens=4, temperature=0, logprobs=0, ignore_eos=True
    )
    logprobs = over_http["choices"][0]["logprobs"]
    assert logprobs["token_logprobs"] == [token.logprob for token in answer.logprobs]


def test_prompt_logprobs_do_not_depend_on_what_is_generated(tiny_grpc: GrpcApi) -> None:
    alone = tiny_grpc.complete(PROMPT, max_tokens=0, prompt_logprobs=2, cache_salt="1")
    both = tiny_grpc.complete(PROMPT, max_tokens=5, prompt_logprobs=2, cache_salt="2")
    assert list(alone.prompt_logprobs) == list(both.prompt_logprobs)
    ids = [token.id for token in alone.prompt_logprobs]
    assert ids == list(alone.prompt_token_ids)[1:]


def test_a_seed_repeats_its_answer_and_others_differ(
    tiny_grpc: GrpcApi, tiny_http: HttpApi
) -> None:
    def sampled(seed: int) -> list[int]:
        answer = tiny_grpc.complete(
            PROMPT, max_tokens=24, temperature=1, seed=seed, ignore_eos=True
        )
        return list(answer.token_ids)

    assert sampled(7) == sampled(7)
    assert len({tuple(sampled(seed)) for seed in (0, 1, 7, 2**64 - 1)}) == 4
    over_http = tiny_http.complete(
        prompt=PROMPT,
        max_tokens=24,
        temperature=1,
        seed=2**64 - 1,
        ignore_eos=True,
        return_token_ids=True,
    )
    assert over_http["choices"][0]["token_ids"] == sampled(2**64 - 1)


def test_without_a_seed_answers_differ(tiny_grpc: GrpcApi) -> None:
    answers = {
        tuple(tiny_grpc.complete(PROMPT, max_tokens=24, temperature=1, ignore_eos=True).token_ids)
        for _ in range(4)
    }
    assert len(answers) == 4


def test_top_k_one_and_a_tiny_top_p_are_greedy(
    tiny_grpc: GrpcApi, greedy: pb.CompleteResponse
) -> None:
    for narrow in ({"top_k": 1}, {"top_p": 1e-6}):
        answer = tiny_grpc.complete(PROMPT, max_tokens=32, temperature=1, ignore_eos=True, **narrow)
        assert list(answer.token_ids) == list(greedy.token_ids)


def test_the_answer_ends_before_a_stop_string(
    tiny_grpc: GrpcApi, tiny_http: HttpApi, greedy: pb.CompleteResponse
) -> None:
    stop = greedy.text[10:14]
    before = greedy.text[: greedy.text.index(stop)]
    fields = {"max_tokens": 32, "temperature": 0, "ignore_eos": True, "stop": ["<none>", stop]}
    answer = tiny_grpc.complete(PROMPT, **fields)
    assert (answer.text, answer.finish_reason) == (before, STOP)
    assert answer.usage.output_tokens <= 32
    streamed = joined(list(tiny_grpc.stream(PROMPT, **fields)))
    assert (streamed.text, streamed.finish_reason) == (before, STOP)
    choice = tiny_http.complete(prompt=PROMPT, **fields)["choices"][0]
    assert (choice["text"], choice["finish_reason"]) == (before, "stop")


def test_a_stop_token_counts_and_is_not_in_the_text(
    tiny_grpc: GrpcApi, greedy: pb.CompleteResponse
) -> None:
    stop = list(greedy.token_ids)[5]
    first = list(greedy.token_ids).index(stop)
    answer = tiny_grpc.complete(
        PROMPT, max_tokens=32, temperature=0, ignore_eos=True, stop_token_ids=[stop]
    )
    assert answer.finish_reason == STOP
    assert list(answer.token_ids) == list(greedy.token_ids)[: first + 1]
    assert answer.usage.output_tokens == first + 1
    assert greedy.text.startswith(answer.text) and len(answer.text) < len(greedy.text)


def test_end_of_text_ends_an_answer_unless_ignored(tiny_grpc: GrpcApi) -> None:
    (eos,) = tiny_grpc.stub.GetModel(pb.GetModelRequest()).eos_token_ids
    for seed in range(200):
        fields = {"max_tokens": 100, "temperature": 2.0, "seed": seed}
        ids = list(tiny_grpc.complete(PROMPT, ignore_eos=True, **fields).token_ids)
        if eos in ids:
            break
    else:
        pytest.fail("no seed below 200 draws the end of text within 100 tokens")
    assert len(ids) == 100
    ended = tiny_grpc.complete(PROMPT, **fields)
    assert list(ended.token_ids) == ids[: ids.index(eos) + 1]
    assert ended.finish_reason == STOP


def test_the_second_of_two_equal_prompts_comes_from_the_cache(tiny_grpc: GrpcApi) -> None:
    prompt = [20 + place % 200 for place in range(100)]
    first = tiny_grpc.complete(prompt, max_tokens=4, temperature=0, cache_salt="fresh")
    second = tiny_grpc.complete(prompt, max_tokens=4, temperature=0, cache_salt="fresh")
    other = tiny_grpc.complete(prompt, max_tokens=4, temperature=0, cache_salt="other")
    assert (first.usage.cached_tokens, other.usage.cached_tokens) == (0, 0)
    assert second.usage.cached_tokens >= 80
    assert list(first.token_ids) == list(second.token_ids) == list(other.token_ids)


def test_the_request_id_comes_back(tiny_grpc: GrpcApi, tiny_http: HttpApi) -> None:
    assert tiny_grpc.complete(PROMPT, max_tokens=1, request_id="mine-1").request_id == "mine-1"
    answer = tiny_http.request(
        "POST",
        "/v1/completions",
        b'{"prompt": "x", "max_tokens": 1}',
        {"Content-Type": "application/json", "x-request-id": "mine-2"},
    )
    assert answer.json["id"] == "cmpl-mine-2"
    headers = {name.lower(): value for name, value in answer.headers.items()}
    assert headers["x-request-id"] == "mine-2"


def test_return_token_ids_is_off_unless_asked_for(tiny_http: HttpApi) -> None:
    choice = tiny_http.complete(prompt=PROMPT, max_tokens=2)["choices"][0]
    assert "token_ids" not in choice and "prompt_token_ids" not in choice
