"""vLLM's engine contract, with messages compiled from proto/, gives the tokens of affine.v1."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import grpc
import pytest
from affine_client._proto import completion_pb2 as affine
from grpc_api import GrpcApi
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_tools import protoc
from prerequisites import ROOT
from server_process import SERVING, ServerProcess
from servers import Servers

PROMPT = "The capital of France is"
TOKENS = 24
SERVICE = "vllm.grpc.engine.VllmEngine"


@pytest.fixture(scope="module")
def pb(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The messages of the contract. The file is compiled at a path of its own, since its package's
    folder would hide grpcio."""
    folder = tmp_path_factory.mktemp("protos")
    source = ROOT / "proto/vllm/grpc/engine/vllm_engine.proto"
    (folder / source.name).write_text(source.read_text())
    code = protoc.main(["protoc", f"-I{folder}", f"--python_out={folder}", source.name])
    assert code == 0
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("vllm_engine_pb2")
    finally:
        sys.path.remove(str(folder))


class Engine:
    """The contract's client."""

    def __init__(self, channel: grpc.Channel, pb: ModuleType) -> None:
        self._channel = channel
        self.pb = pb

    def call(self, method: str, **fields: Any) -> Any:
        request = getattr(self.pb, f"{method}Request")(**fields)
        return self._channel.unary_unary(
            f"/{SERVICE}/{method}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=getattr(self.pb, f"{method}Response").FromString,
        )(request, timeout=120)

    def generate(self, ids: list[int], stream: bool, sampling: dict, **fields: Any) -> grpc.Call:
        request = self.pb.GenerateRequest(
            tokenized=self.pb.TokenizedInput(input_ids=ids),
            sampling_params=self.pb.SamplingParams(**sampling),
            stream=stream,
            **fields,
        )
        return self._channel.unary_stream(
            f"/{SERVICE}/Generate",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=self.pb.GenerateResponse.FromString,
        )(request, timeout=120)


@pytest.fixture(scope="module")
def engine(real_grpc: GrpcApi, pb: ModuleType) -> Engine:
    return Engine(real_grpc.channel, pb)


@pytest.fixture(scope="module")
def greedy(real_grpc: GrpcApi) -> affine.CompleteResponse:
    return real_grpc.complete(
        PROMPT, max_tokens=TOKENS, temperature=0, logprobs=2, prompt_logprobs=0
    )


def test_the_complete_answer_has_the_tokens_of_affine_v1(
    engine: Engine, greedy: affine.CompleteResponse
) -> None:
    sampling = {"max_tokens": TOKENS, "temperature": 0, "logprobs": 2, "prompt_logprobs": 0}
    (response,) = engine.generate(list(greedy.prompt_token_ids), False, sampling)
    complete = response.complete
    assert list(complete.output_ids) == list(greedy.token_ids)
    assert complete.finish_reason in ("stop", "length")
    assert complete.prompt_tokens == greedy.usage.prompt_tokens
    assert complete.completion_tokens == greedy.usage.output_tokens
    output = complete.output_logprobs
    assert list(output.token_logprobs) == [token.logprob for token in greedy.logprobs]
    for top, ours in zip(output.top_logprobs, greedy.logprobs, strict=True):
        assert list(top.token_ids) == [alternative.id for alternative in ours.top]
        assert list(top.values) == [alternative.logprob for alternative in ours.top]
    first, *rest = complete.input_logprobs.token_logprobs
    assert not first.HasField("value")
    assert [token.value for token in rest] == [token.logprob for token in greedy.prompt_logprobs]


def test_a_stream_joins_to_the_same_tokens(engine: Engine, greedy: affine.CompleteResponse) -> None:
    sampling = {"max_tokens": TOKENS, "temperature": 0}
    *chunks, last = engine.generate(list(greedy.prompt_token_ids), True, sampling)
    assert len(chunks) > 2
    ids = [id for response in chunks for id in response.chunk.token_ids]
    assert ids == list(greedy.token_ids) == list(last.complete.output_ids)
    assert sum(response.chunk.completion_tokens for response in chunks) == len(ids)
    assert last.complete.completion_tokens == len(ids)


def test_a_seeded_answer_and_a_stop_string(engine: Engine, real_grpc: GrpcApi) -> None:
    sampling = {"max_tokens": 24, "temperature": 1.0, "top_k": 40, "top_p": 0.9, "seed": 11}
    ours = real_grpc.complete(PROMPT, stop=["a", "e"], skip_special_tokens=False, **sampling)
    ids = list(ours.prompt_token_ids)
    (response,) = engine.generate(ids, False, {**sampling, "stop": ["a", "e"]})
    assert list(response.complete.output_ids) == list(ours.token_ids)
    assert response.complete.finish_reason == "stop"
    assert response.complete.matched_stop_str in ("a", "e")


def test_what_is_not_supported_is_refused(engine: Engine) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        list(engine.generate([1], True, {"n": 3}))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "`n` is 3" in caught.value.details()


def test_what_a_gateway_asks_of_engine_and_model(engine: Engine, real_grpc: GrpcApi) -> None:
    assert engine.call("HealthCheck").healthy
    model = engine.call("GetModelInfo")
    ours = real_grpc.stub.GetModel(affine.GetModelRequest())
    assert (model.served_model_name, model.vocab_size) == ("real", ours.vocab_size)
    assert model.max_context_length == ours.max_model_len
    assert list(model.architectures) == [ours.architecture]
    json.loads(model.default_sampling_params_json or "{}")
    server = engine.call("GetServerInfo")
    assert server.block_size == ours.block_size and server.uptime_seconds > 0
    (load,) = engine.call("GetLoads").loads
    assert load.max_total_num_tokens == ours.num_blocks * ours.block_size
    health = health_pb2_grpc.HealthStub(real_grpc.channel)
    for service in (SERVICE, "inference.GRPCInferenceService"):
        answer = health.Check(health_pb2.HealthCheckRequest(service=service), timeout=60)
        assert answer.status == SERVING


def test_abort_ends_a_request_and_frees_its_blocks(
    servers: Servers, tiny_model: Path, pb: ModuleType
) -> None:
    server: ServerProcess = servers.start(tiny_model, "--kv_cache_gib=0.25")
    with GrpcApi(server.address) as api:
        engine = Engine(api.channel, pb)
        sampling = {"max_tokens": 30_000, "ignore_eos": True}
        call = engine.generate([5, 6, 7], True, sampling, request_id="long")
        assert next(call).chunk.token_ids
        engine.call("Abort", request_ids=["long"])
        last = list(call)[-1]
        assert last.complete.finish_reason == "abort"
        server.assert_idle()
