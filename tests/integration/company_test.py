"""Answers do not depend on their company: 64 at once, a third of them cancelled, the others bit for
bit what each is alone."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from affine_client._proto import completion_pb2 as pb
from grpc_api import GrpcApi, completion, joined
from servers import Servers

REQUESTS = 64
TOPICS = ("rivers", "a lighthouse", "prime numbers", "bread", "the moon", "two brothers", "rain")


def mixed_requests(seed: int, longest_prompt: int, longest_answer: int) -> list[dict]:
    """Greedy and seeded, of text and of ids, short and long, with log-probabilities or without.

    Some share a prefix, so that company meets cached blocks too.
    """
    draw = random.Random(seed)
    shared = [draw.randrange(20, 300) for _ in range(48)]
    requests = []
    for number in range(REQUESTS):
        prompt: str | list[int]
        if number % 3 == 0:
            prompt = f"Write about {draw.choice(TOPICS)}, number {number}: "
        else:
            length = draw.randint(1, longest_prompt)
            prompt = [draw.randrange(20, 300) for _ in range(length)]
            prompt = shared + prompt if number % 3 == 1 else prompt
        fields = {
            "prompt": prompt,
            "max_tokens": draw.randint(2, longest_answer),
            "logprobs": draw.choice((0, 1, 5)),
            "ignore_eos": number % 2 == 0,
            "temperature": 0.0,
        }
        if number % 2:
            fields.update(temperature=draw.uniform(0.3, 1.5), seed=draw.getrandbits(64))
            fields.update(draw.choice(({}, {"top_k": 40}, {"top_p": 0.9}, {"prompt_logprobs": 1})))
        requests.append(fields)
    return requests


def bits(answer: pb.CompleteResponse) -> bytes:
    """All of an answer that must not depend on its company, exact to the last bit."""
    kept = pb.CompleteResponse()
    kept.CopyFrom(answer)
    kept.request_id = ""
    kept.usage.cached_tokens = 0  # how much of the prompt was found cached may differ
    return kept.SerializeToString(deterministic=True)


class Company:
    """All requests at once; every third is cancelled after a random number of pieces."""

    def __init__(self, api: GrpcApi, requests: list[dict], seed: int) -> None:
        self._api = api
        self._requests = requests
        draw = random.Random(seed)
        self._cancel_after = {
            number: draw.randrange(0, max(1, requests[number]["max_tokens"] - 1))
            for number in draw.sample(range(len(requests)), len(requests) // 3)
        }
        self._together = threading.Barrier(len(requests))

    def run(self) -> dict[int, pb.CompleteResponse]:
        """The finished answers by number."""
        with ThreadPoolExecutor(len(self._requests)) as pool:
            answers = list(pool.map(self._ask, range(len(self._requests))))
        finished = {number: answer for number, answer in enumerate(answers) if answer}
        assert len(finished) >= len(self._requests) - len(self._cancel_after)
        return finished

    def _ask(self, number: int) -> pb.CompleteResponse | None:
        self._together.wait(timeout=60)
        call = self._api.stub.StreamComplete(completion(**self._requests[number]), timeout=600)
        limit = self._cancel_after.get(number)
        chunks = []
        if limit == 0:
            call.cancel()
        try:
            for chunk in call:
                chunks.append(chunk)
                if limit is not None and len(chunks) >= limit:
                    call.cancel()
        except grpc.RpcError as error:
            assert error.code() is grpc.StatusCode.CANCELLED and limit is not None, error
            return None
        return joined(chunks)


def assert_company_changes_nothing(
    servers: Servers, model: Path, requests: list[dict], *flags: str
) -> None:
    server = servers.start(model, *flags)
    with GrpcApi(server.address) as api:
        finished = Company(api, requests, seed=1).run()
        server.assert_idle()
        for number, answer in finished.items():
            # A salt of its own keeps the request from blocks that its company computed.
            alone = api.complete(**requests[number], cache_salt=f"alone {number}")
            assert alone.usage.cached_tokens == 0
            assert bits(answer) == bits(alone), f"request {number}: {requests[number]}"
        again = Company(api, requests, seed=2).run()
        for number in finished.keys() & again.keys():
            assert bits(again[number]) == bits(finished[number]), f"request {number}"
        server.assert_idle()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_tiny_models_answers_do_not_depend_on_company(
    servers: Servers, tiny_model: Path, dtype: str
) -> None:
    """Small steps and few places, so that prompts are cut up and requests queue."""
    assert_company_changes_nothing(
        servers,
        tiny_model,
        mixed_requests(3, longest_prompt=300, longest_answer=200),
        f"--dtype={dtype}",
        "--max_num_batched_tokens=128",
        "--max_num_seqs=24",
        "--kv_cache_gib=0.25",
    )


def test_nor_on_being_preempted(servers: Servers, tiny_model: Path) -> None:
    """A cache for little more than one sequence of the longest length."""
    requests = mixed_requests(5, longest_prompt=300, longest_answer=400)
    server = servers.start(
        tiny_model, "--max_model_len=1024", "--kv_cache_gib=0.003", "--dtype=float32"
    )
    with GrpcApi(server.address) as api:
        finished = Company(api, requests, seed=3).run()
        server.assert_idle()
        assert server.metric("affine_num_preemptions_total") > 0
        for number, answer in finished.items():
            alone = api.complete(**requests[number], cache_salt=f"alone {number}")
            assert bits(answer) == bits(alone), f"request {number}: {requests[number]}"


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_real_models_answers_do_not_depend_on_company(
    servers: Servers, real_model: Path, dtype: str
) -> None:
    requests = mixed_requests(4, longest_prompt=200, longest_answer=48)
    assert_company_changes_nothing(servers, real_model, requests, f"--dtype={dtype}")
