"""What each parameter does to an answer, over gRPC and over HTTP."""

from __future__ import annotations

from typing import Any

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


SAMPLED = {"max_tokens": 40, "temperature": 1.0, "seed": 5, "ignore_eos": True}
# Of each parameter one value that changes the answer to PROMPT.
SHAPES: list[dict[str, Any]] = [
    {"min_p": 0.5},
    {"typical_p": 0.2},
    {"repetition_penalty": 3.0},
    {"frequency_penalty": 2.0},
    {"presence_penalty": -2.0},
    {"logit_bias": {"50": 8.5, "60": -100}},
    {"allowed_token_ids": [50, 60, 70, 80]},
    {"bad_words": ["a", "e", "o"], "logit_bias": {"50": 4.0}},
    {"min_tokens": 30, "stop_token_ids": list(range(40, 200)), "max_tokens": 60},
    {"truncate_prompt_tokens": 2},
    {"top_k": 30, "top_p": 0.9, "min_p": 0.01, "typical_p": 0.9, "repetition_penalty": 1.2},
]


def told_over_http(answer: dict[str, Any]) -> tuple:
    (choice,) = answer["choices"]
    usage = answer["usage"]
    return (
        choice["text"],
        choice["token_ids"],
        choice["logprobs"]["token_logprobs"],
        choice["finish_reason"],
        choice["prompt_token_ids"],
        usage["completion_tokens"],
    )


def told_over_grpc(answer: pb.CompleteResponse) -> tuple:
    return (
        answer.text,
        list(answer.token_ids),
        [token.logprob for token in answer.logprobs],
        "stop" if answer.finish_reason == STOP else "length",
        list(answer.prompt_token_ids),
        answer.usage.output_tokens,
    )


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "-".join(shape))
def test_a_parameter_gives_the_same_answer_over_each_front_end(
    tiny_grpc: GrpcApi, tiny_http: HttpApi, shape: dict[str, Any]
) -> None:
    fields = SAMPLED | {"logprobs": 0} | shape
    answer = told_over_grpc(tiny_grpc.complete(PROMPT, **fields))
    assert answer == told_over_grpc(joined(list(tiny_grpc.stream(PROMPT, **fields))))
    assert answer == told_over_http(
        tiny_http.complete(prompt=PROMPT, return_token_ids=True, **fields)
    )
    assert answer[1] != list(tiny_grpc.complete(PROMPT, **SAMPLED).token_ids)


NEUTRAL: dict[str, Any] = {
    "min_p": 0,
    "typical_p": 1,
    "repetition_penalty": 1,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "logit_bias": {},
    "bad_words": [],
    "min_tokens": 0,
    "truncate_prompt_tokens": -1,
}


def test_neutral_values_change_nothing(tiny_grpc: GrpcApi, tiny_http: HttpApi) -> None:
    plain = list(tiny_grpc.complete(PROMPT, **SAMPLED).token_ids)
    assert list(tiny_grpc.complete(PROMPT, **SAMPLED, **NEUTRAL).token_ids) == plain
    answer = tiny_http.complete(prompt=PROMPT, return_token_ids=True, **SAMPLED, **NEUTRAL)
    assert answer["choices"][0]["token_ids"] == plain


def test_only_allowed_ids_come(tiny_grpc: GrpcApi) -> None:
    allowed = [50, 61, 96]
    ids = set(tiny_grpc.complete(PROMPT, **SAMPLED, allowed_token_ids=allowed).token_ids)
    assert ids <= set(allowed) and len(ids) > 1


def test_bad_words_do_not_come(tiny_grpc: GrpcApi, greedy: pb.CompleteResponse) -> None:
    pieces = tiny_grpc.stub.Tokenize(pb.TokenizeRequest(text=greedy.text)).tokens
    word = next(piece for piece in pieces if piece.strip() and piece.isascii())
    fields = {"max_tokens": 32, "temperature": 0, "ignore_eos": True}
    answer = tiny_grpc.complete(PROMPT, bad_words=[word], **fields)
    ids = [
        tiny_grpc.stub.Tokenize(pb.TokenizeRequest(text=text, add_special_tokens=False)).ids
        for text in (word.lstrip(), " " + word.lstrip())
    ]
    assert answer.text != greedy.text
    for banned in ids:
        places = range(len(answer.token_ids) - len(banned) + 1)
        assert all(list(answer.token_ids[at : at + len(banned)]) != list(banned) for at in places)


def test_min_tokens_hold_back_stop_tokens_and_stop_strings(
    tiny_grpc: GrpcApi, greedy: pb.CompleteResponse
) -> None:
    first = greedy.token_ids[0]
    fields = {"max_tokens": 32, "temperature": 0, "ignore_eos": True, "stop_token_ids": [first]}
    assert tiny_grpc.complete(PROMPT, **fields).usage.output_tokens == 1
    held = tiny_grpc.complete(PROMPT, **fields, min_tokens=9)
    assert first not in held.token_ids[:9] and len(held.token_ids) >= 10
    fields = {"max_tokens": 32, "temperature": 0, "ignore_eos": True, "stop": [greedy.text[1]]}
    assert tiny_grpc.complete(PROMPT, **fields).text == greedy.text[:1].rstrip(greedy.text[1])
    held = tiny_grpc.complete(PROMPT, **fields, min_tokens=9)
    assert held.usage.output_tokens > 9
    assert list(held.token_ids) == list(greedy.token_ids)[: held.usage.output_tokens]


def test_what_ended_the_answer_can_be_part_of_it(
    tiny_grpc: GrpcApi, tiny_http: HttpApi, greedy: pb.CompleteResponse
) -> None:
    stop = greedy.text[10:14]
    until = greedy.text.index(stop) + len(stop)
    fields = {"max_tokens": 32, "temperature": 0, "ignore_eos": True, "stop": [stop]}
    fields["include_stop_str_in_output"] = True
    assert tiny_grpc.complete(PROMPT, **fields).text == greedy.text[:until]
    assert joined(list(tiny_grpc.stream(PROMPT, **fields))).text == greedy.text[:until]
    answer = tiny_http.complete(prompt=PROMPT, **fields)
    assert answer["choices"][0]["text"] == greedy.text[:until]


def test_chosen_ids_have_their_log_probabilities_beside_the_best(
    tiny_grpc: GrpcApi, tiny_http: HttpApi
) -> None:
    chosen = [77, 50, 300]
    fields = {"max_tokens": 4, "temperature": 0, "ignore_eos": True, "logprobs": 2}
    answer = tiny_grpc.complete(PROMPT, **fields, logprob_token_ids=chosen)
    for token in answer.logprobs:
        assert [other.id for other in token.chosen] == chosen
        assert len(token.top) == 2
        assert all(other.logprob <= token.top[0].logprob for other in token.chosen)
    # One that comes has the log-probability that it is told with.
    first = answer.logprobs[0]
    again = tiny_grpc.complete(PROMPT, **fields, logprob_token_ids=[first.id])
    assert again.logprobs[0].chosen[0].logprob == first.logprob
    over_http = tiny_http.complete(prompt=PROMPT, **fields, logprob_token_ids=chosen)
    tops = over_http["choices"][0]["logprobs"]["top_logprobs"]
    for token, top in zip(answer.logprobs, tops, strict=True):
        assert {other.logprob for other in token.chosen} <= set(top.values())


def test_a_truncated_prompt_is_its_end(tiny_grpc: GrpcApi, tiny_http: HttpApi) -> None:
    whole = list(range(30, 60))
    fields = {"max_tokens": 8, "temperature": 0, "ignore_eos": True}
    answer = tiny_grpc.complete(whole, **fields, truncate_prompt_tokens=7, echo=True)
    assert list(answer.prompt_token_ids) == whole[-7:]
    assert answer.usage.prompt_tokens == 7
    alone = tiny_grpc.complete(whole[-7:], **fields, echo=True)
    assert (answer.text, answer.token_ids) == (alone.text, alone.token_ids)
    text = "one two three four"
    ids = list(tiny_grpc.stub.Tokenize(pb.TokenizeRequest(text=text)).ids)
    over_http = tiny_http.complete(
        prompt=text, max_tokens=1, truncate_prompt_tokens=3, return_token_ids=True
    )
    assert over_http["choices"][0]["prompt_token_ids"] == ids[-3:]
