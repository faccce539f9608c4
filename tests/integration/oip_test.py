"""Triton's own client gets the answers that affine.v1 gives."""

from __future__ import annotations

import json
import queue
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton
from affine_client._proto import completion_pb2 as pb
from grpc_api import GrpcApi
from server_process import ServerProcess
from servers import Servers
from tritonclient.utils import InferenceServerException

PROMPT = "The capital of France is"
TOKENS = 24


@pytest.fixture(scope="module")
def client(real_server: ServerProcess) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(real_server.address) as client:
        yield client


@pytest.fixture(scope="module")
def greedy(real_grpc: GrpcApi) -> pb.CompleteResponse:
    return real_grpc.complete(PROMPT, max_tokens=TOKENS, temperature=0, logprobs=2)


def inputs(prompt: str, parameters: dict | None = None, **flags: bool) -> list[triton.InferInput]:
    tensors = []
    texts = {"text_input": prompt}
    if parameters is not None:
        texts["sampling_parameters"] = json.dumps(parameters)
    for name, text in texts.items():
        tensors.append(triton.InferInput(name, [1], "BYTES"))
        tensors[-1].set_data_from_numpy(np.array([text.encode()], dtype=np.object_))
    for name, flag in flags.items():
        tensors.append(triton.InferInput(name, [1], "BOOL"))
        tensors[-1].set_data_from_numpy(np.array([flag], dtype=bool))
    return tensors


def value(result: triton.InferResult, name: str) -> Any:
    (one,) = result.as_numpy(name)
    return one.decode() if isinstance(one, bytes) else one


def stream_of(
    client: triton.InferenceServerClient, requests: list[dict]
) -> list[triton.InferResult | InferenceServerException]:
    """Every answer of one stream, once all of its requests are answered."""
    answers: queue.Queue = queue.Queue()
    client.start_stream(lambda result, error: answers.put(error or result))
    try:
        for request in requests:
            client.async_stream_infer("real", enable_empty_final_response=True, **request)
    finally:
        client.stop_stream()  # returns when the server has answered all of them
    return list(answers.queue)


def is_final(result: triton.InferResult) -> bool:
    return result.get_response().parameters["triton_final_response"].bool_param


def test_infer_gives_the_answer_of_affine_v1(
    client: triton.InferenceServerClient, greedy: pb.CompleteResponse
) -> None:
    result = client.infer(
        "real",
        inputs(
            PROMPT,
            {"max_tokens": TOKENS, "temperature": 0, "logprobs": 2},
            exclude_input_in_output=True,
            return_finish_reason=True,
            return_cumulative_logprob=True,
            return_logprobs=True,
            return_num_input_tokens=True,
            return_num_output_tokens=True,
        ),
        request_id="my request",
    )
    assert result.get_response().id == "my request"
    assert value(result, "text_output") == greedy.text
    assert value(result, "finish_reason") == pb.FinishReason.Name(greedy.finish_reason)[14:].lower()
    assert value(result, "num_input_tokens") == greedy.usage.prompt_tokens
    assert value(result, "num_output_tokens") == greedy.usage.output_tokens
    total = sum(token.logprob for token in greedy.logprobs)
    assert value(result, "cumulative_logprob") == pytest.approx(total, rel=1e-6)
    tokens = json.loads(value(result, "logprobs"))
    for token, ours in zip(tokens, greedy.logprobs, strict=True):
        assert np.float32(token[str(ours.id)]["logprob"]) == np.float32(ours.logprob)
        assert token[str(ours.id)]["rank"] == ours.rank
        assert {int(id) for id in token} >= {top.id for top in ours.top}


def test_parameters_of_the_request_and_the_prompt_in_the_output(
    client: triton.InferenceServerClient, greedy: pb.CompleteResponse
) -> None:
    parameters = {"max_tokens": str(TOKENS), "temperature": 0.0}
    result = client.infer("real", inputs(PROMPT), parameters=parameters)
    assert value(result, "text_output") == PROMPT + greedy.text


def test_a_seeded_answer_is_the_same_too(
    client: triton.InferenceServerClient, real_grpc: GrpcApi
) -> None:
    sampling = {"max_tokens": 16, "temperature": 1.0, "top_k": 40, "seed": 7}
    result = client.infer("real", inputs(PROMPT, sampling, exclude_input_in_output=True))
    assert value(result, "text_output") == real_grpc.complete(PROMPT, **sampling).text


def test_streams_join_to_the_same_answer(
    client: triton.InferenceServerClient, greedy: pb.CompleteResponse
) -> None:
    sampling = {"max_tokens": TOKENS, "temperature": 0}
    flags = {"return_finish_reason": True, "return_num_output_tokens": True}
    answers = stream_of(
        client,
        [
            {"inputs": inputs(PROMPT, sampling, stream=True, **flags), "request_id": "pieces"},
            {"inputs": inputs(PROMPT, sampling), "request_id": "whole"},
        ],
    )
    pieces = [answer for answer in answers if answer.get_response().id == "pieces"]
    (whole,) = [answer for answer in answers if answer.get_response().id == "whole"]
    assert len(pieces) > 2
    assert "".join(value(piece, "text_output") for piece in pieces) == greedy.text
    assert sum(value(piece, "num_output_tokens") for piece in pieces) == greedy.usage.output_tokens
    assert [is_final(piece) for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert {value(piece, "finish_reason") for piece in pieces[:-1]} == {"None"}
    assert value(pieces[-1], "finish_reason") in ("stop", "length")
    assert value(whole, "text_output") == PROMPT + greedy.text
    assert is_final(whole)


def test_errors_are_a_status_or_an_error_message(client: triton.InferenceServerClient) -> None:
    with pytest.raises(InferenceServerException, match="`temperature` is -1") as caught:
        client.infer("real", inputs(PROMPT, {"temperature": -1}))
    assert caught.value.status() == "StatusCode.INVALID_ARGUMENT"
    with pytest.raises(InferenceServerException, match="served models: `real`"):
        client.infer("other", inputs(PROMPT))
    bad, good = stream_of(
        client,
        [
            {"inputs": inputs(PROMPT, {"top_p": 2})},
            {"inputs": inputs(PROMPT, {"max_tokens": 1})},
        ],
    )
    assert "`top_p` is 2" in str(bad)
    assert value(good, "text_output").startswith(PROMPT)


def test_what_the_client_asks_of_server_and_model(client: triton.InferenceServerClient) -> None:
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("real") and not client.is_model_ready("other")
    assert client.get_server_metadata().name == "affine_server"
    metadata = client.get_model_metadata("real")
    assert metadata.inputs[0].name == "text_input"
    config = client.get_model_config("real").config
    assert config.model_transaction_policy.decoupled
    assert int(config.parameters["vocab_size"].string_value) > 0
    assert [m.name for m in client.get_model_repository_index().models] == ["real"]
    before = client.get_inference_statistics("real").model_stats[0].inference_count
    client.infer("real", inputs(PROMPT, {"max_tokens": 1}))
    assert client.get_inference_statistics("real").model_stats[0].inference_count == before + 1
    with pytest.raises(InferenceServerException, match="--model"):
        client.load_model("real")
    with pytest.raises(InferenceServerException, match="send tensors in the message"):
        client.register_system_shared_memory("region", "/key", 64)


def test_a_cancelled_stream_leaves_nothing_behind(servers: Servers, tiny_model) -> None:
    server = servers.start(tiny_model, "--served_model_name=real", "--kv_cache_gib=0.25")
    with triton.InferenceServerClient(server.address) as client:
        first: queue.Queue = queue.Queue()
        client.start_stream(lambda result, error: first.put(error or result))
        for _ in range(3):
            request = inputs("x", {"max_tokens": 30_000, "ignore_eos": True}, stream=True)
            client.async_stream_infer("real", request)
        assert isinstance(first.get(timeout=60), triton.InferResult)
        client.stop_stream(cancel_requests=True)
    server.assert_idle()
