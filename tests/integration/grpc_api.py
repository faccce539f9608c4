"""gRPC calls to the server under test, on grpcio and the generated stubs alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import grpc
from affine_client._proto import completion_pb2 as pb
from affine_client._proto.completion_pb2_grpc import CompletionServiceStub

SERVICE = "affine.v1.CompletionService"
TIMEOUT_S = 120.0
_SAMPLING = pb.SamplingParams.DESCRIPTOR.fields_by_name


def completion(prompt: str | Sequence[int], **fields: Any) -> pb.CompleteRequest:
    sampling = {name: fields.pop(name) for name in _SAMPLING if name in fields}
    if "allowed_token_ids" in sampling:
        sampling["allowed_token_ids"] = pb.TokenIds(ids=sampling["allowed_token_ids"])
    if "logit_bias" in sampling:  # its keys are strings in JSON
        sampling["logit_bias"] = {int(id): bias for id, bias in sampling["logit_bias"].items()}
    request = pb.CompleteRequest(**fields)
    if sampling:
        request.sampling.CopyFrom(pb.SamplingParams(**sampling))
    if isinstance(prompt, str):
        request.text = prompt
    else:
        request.token_ids.CopyFrom(pb.TokenIds(ids=prompt))
    return request


class GrpcApi:
    """One channel; thread-safe. Usable as a context manager."""

    def __init__(self, address: str) -> None:
        self.channel = grpc.insecure_channel(
            address,
            (("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)),
        )
        self.stub = CompletionServiceStub(self.channel)

    def __enter__(self) -> GrpcApi:
        return self

    def __exit__(self, *_: object) -> None:
        self.channel.close()

    def complete(self, prompt: str | Sequence[int], **fields: Any) -> pb.CompleteResponse:
        return self.stub.Complete(completion(prompt, **fields), timeout=TIMEOUT_S)

    def stream(self, prompt: str | Sequence[int], **fields: Any) -> grpc.Call:
        return self.stub.StreamComplete(completion(prompt, **fields), timeout=TIMEOUT_S)

    def error(self, prompt: str | Sequence[int], **fields: Any) -> grpc.RpcError:
        """The error of a completion that must fail."""
        return self.error_of("Complete", completion(prompt, **fields))

    def error_of(self, method: str, request: Any, timeout: float = TIMEOUT_S) -> grpc.RpcError:
        """The error of a unary call that must fail; `request` may be raw bytes."""
        call = self.channel.unary_unary(
            f"/{SERVICE}/{method}",
            request_serializer=lambda message: (
                message if isinstance(message, bytes) else message.SerializeToString()
            ),
            response_deserializer=lambda answer: answer,
        )
        try:
            call(request, timeout=timeout)
        except grpc.RpcError as error:
            return error
        raise AssertionError(f"{method} did not fail")


def joined(chunks: Sequence[pb.CompleteChunk]) -> pb.CompleteResponse:
    """The unary answer that a stream's chunks are the pieces of."""
    first, last = chunks[0], chunks[-1]
    assert all(chunk.finish_reason == pb.FINISH_REASON_UNSPECIFIED for chunk in chunks[:-1])
    return pb.CompleteResponse(
        request_id=first.request_id,
        model=first.model,
        text="".join(chunk.text for chunk in chunks),
        token_ids=[id for chunk in chunks for id in chunk.token_ids],
        logprobs=[token for chunk in chunks for token in chunk.logprobs],
        prompt_logprobs=first.prompt_logprobs,
        finish_reason=last.finish_reason,
        usage=last.usage,
        prompt_token_ids=first.prompt_token_ids,
    )
