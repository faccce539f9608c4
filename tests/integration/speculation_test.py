"""Answers are the same, bit for bit, whether the server guesses ahead or goes token by token."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from affine_client._proto import completion_pb2 as pb
from grpc_api import GrpcApi
from http_api import HttpApi
from server_process import ServerProcess
from servers import Servers

ACCEPTED = "affine_spec_decode_num_accepted_tokens_total"
DRAFTED = "affine_spec_decode_num_draft_tokens_total"
# What is drawn depends on the tokens before, drafts among them.
SHAPES: tuple[dict, ...] = (
    {"repetition_penalty": 1.05},
    {"frequency_penalty": 0.05},
    {"presence_penalty": 0.5, "min_tokens": 2},
    {"bad_words": ["a", "the", "is"], "logit_bias": {"40": 1.0}},
)


def repetitive_requests(seed: int, count: int, longest_answer: int) -> list[dict]:
    """Greedy and seeded; of prompts that say the same things again, so that there is much to guess,
    and with all that can end an answer early."""
    draw = random.Random(seed)
    requests = []
    for number in range(count):
        piece = [draw.randrange(20, 300) for _ in range(draw.randint(3, 12))]
        fields = {
            "prompt": piece * draw.randint(2, 8),
            "max_tokens": draw.randint(2, longest_answer),
            "logprobs": draw.choice((0, 1, 4)),
            "ignore_eos": True,
            "temperature": 0.0,
        }
        if number % 2:
            temperature = draw.choice((0.2, 0.5, 1.0))
            fields.update(temperature=temperature, seed=draw.getrandbits(64))
            fields.update(draw.choice(({}, {"top_k": 5}, {"top_p": 0.8})))
        if number % 3 == 0:
            fields.update(draw.choice(SHAPES))
        if number % 5 == 0:
            fields["stop_token_ids"] = [draw.randrange(20, 300) for _ in range(20)]
        requests.append(fields)
    return requests


def answers(server: ServerProcess, requests: list[dict], at_once: int) -> list[bytes]:
    """Of each request, all that must not depend on speculation or company."""
    with GrpcApi(server.address) as api, ThreadPoolExecutor(at_once) as pool:

        def ask(request: dict) -> bytes:
            answer = api.complete(**request)
            kept = pb.CompleteResponse()
            kept.CopyFrom(answer)
            kept.request_id = ""
            kept.usage.cached_tokens = 0
            return kept.SerializeToString(deterministic=True)

        return list(pool.map(ask, requests))


def assert_speculation_changes_nothing(
    servers: Servers, model: Path, requests: list[dict], *flags: str
) -> None:
    plain = servers.start(model, "--speculative_tokens=0", *flags)
    expected = answers(plain, requests, at_once=8)
    plain.assert_idle()
    assert plain.metric(DRAFTED) == 0
    for more in ((), ("--speculative_tokens=64", "--prompt_lookup_max=5")):
        server = servers.start(model, *more, *flags)
        for at_once in (1, 16):
            got = answers(server, requests, at_once)
            for number, request in enumerate(requests):
                assert got[number] == expected[number], f"request {number}: {request}"
        server.assert_idle()
        assert 0 < server.metric(ACCEPTED) < server.metric(DRAFTED)
        assert server.metric("affine_generation_tokens_total") == 2 * plain.metric(
            "affine_generation_tokens_total"
        )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_tiny_models_answers_do_not_depend_on_speculation(
    servers: Servers, tiny_model: Path, dtype: str
) -> None:
    requests = repetitive_requests(1, count=40, longest_answer=150)
    assert_speculation_changes_nothing(
        servers, tiny_model, requests, f"--dtype={dtype}", "--kv_cache_gib=0.25"
    )


def test_nor_when_there_is_too_little_cache_for_all(servers: Servers, tiny_model: Path) -> None:
    requests = repetitive_requests(2, count=30, longest_answer=400)
    flags = ("--max_model_len=1024", "--kv_cache_gib=0.003", "--dtype=float32")
    assert_speculation_changes_nothing(servers, tiny_model, requests, *flags)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_real_models_answers_do_not_depend_on_speculation(
    servers: Servers, real_model: Path
) -> None:
    requests = repetitive_requests(3, count=24, longest_answer=64)
    assert_speculation_changes_nothing(servers, real_model, requests)


def test_a_stream_brings_every_token_once_however_many_come_together(
    servers: Servers, tiny_model: Path
) -> None:
    server = servers.start(tiny_model, "--kv_cache_gib=0.25")
    fields = {"prompt": [30, 31, 32, 33] * 6, "max_tokens": 120, "temperature": 0}
    fields.update(ignore_eos=True, return_token_ids=True)
    api = HttpApi(server.address)
    whole = api.complete(**fields)["choices"][0]
    events = list(api.stream(**fields))
    text = "".join(event["choices"][0]["text"] for event in events)
    ids = [id for event in events for id in event["choices"][0].get("token_ids") or []]
    assert text == whole["text"]
    assert ids == whole["token_ids"] and len(ids) == 120
    assert json.dumps(events).count('"finish_reason": "length"') == 1
