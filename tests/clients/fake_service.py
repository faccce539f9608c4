"""A CompletionService whose answers, failures and pauses a test writes down beforehand."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import grpc
from affine_client._proto import completion_pb2 as pb
from affine_client._proto import completion_pb2_grpc
from fake_attention import attention_heads, stability_summary
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

WORDS = (" red", " green", " blue", " gold", " grey")
READY_SERVICE = "affine.v1.CompletionService"


class Failure:
    """One answer of the server's that is no answer."""

    def __init__(self, code: grpc.StatusCode, message: str, retry_after: str | None = None) -> None:
        self.code = code
        self.message = message
        self.trailers = (("retry-after", retry_after),) if retry_after is not None else ()


class FakeService(completion_pb2_grpc.CompletionServiceServicer):
    """Answers WORDS in turn, ids 0, 1, …, one word a chunk. Thread-safe."""

    def __init__(self) -> None:
        self.requests: list = []
        self.metadata: list[dict[str, str]] = []
        self.failures: deque[Failure] = deque()  # each call first takes one of these, if any
        self.fail_after_first_chunk: Failure | None = None
        self.hold_after_first_chunk = False  # until the caller cancels
        self.streaming = threading.Event()  # a stream has begun
        self.cancelled = threading.Event()
        self.served = {"fake": True, "plain": False}  # names, and whether with affine scaling
        self.knows_stability = True  # an older server passes over the fields, and has no method
        self.observed_steps = 3
        self.special_ids: list[int] = []  # before each tokenized text
        self.max_model_len = 2048
        self.finish_reason = pb.FINISH_REASON_LENGTH

    def _arrive(self, request, context) -> None:
        self.requests.append(request)
        self.metadata.append(dict(context.invocation_metadata()))
        if self.failures:
            self._abort(context, self.failures.popleft())

    @staticmethod
    def _abort(context, failure: Failure) -> None:
        context.set_trailing_metadata(failure.trailers)
        context.abort(failure.code, failure.message)

    def Complete(self, request, context):
        self._arrive(request, context)
        every = list(self._answer(request))
        chunks = [chunk for chunk in every if chunk.index == 0]
        others = {chunk.index: pb.Answer() for chunk in every if chunk.index > 0}
        for chunk in every:
            if chunk.index > 0:
                other = others[chunk.index]
                other.text += chunk.text
                other.token_ids.extend(chunk.token_ids)
                other.finish_reason = chunk.finish_reason
        return pb.CompleteResponse(
            request_id=chunks[0].request_id,
            model=chunks[0].model,
            text="".join(chunk.text for chunk in chunks),
            token_ids=[id for chunk in chunks for id in chunk.token_ids],
            logprobs=[token for chunk in chunks for token in chunk.logprobs],
            finish_reason=chunks[-1].finish_reason,
            usage=every[-1].usage,
            other_answers=others.values(),
            prompt_token_ids=chunks[0].prompt_token_ids,
            stability=chunks[-1].stability if chunks[-1].HasField("stability") else None,
        )

    def StreamComplete(self, request, context):
        self._arrive(request, context)
        context.add_callback(self.cancelled.set)
        self.streaming.set()
        for index, chunk in enumerate(self._answer(request)):
            yield chunk
            if index == 0 and self.fail_after_first_chunk:
                self._abort(context, self.fail_after_first_chunk)
            if index == 0 and self.hold_after_first_chunk:
                self.cancelled.wait(timeout=30)
                return

    def _answer(self, request):
        """With the summary of `stability`; each prompt's heads are shifted by its length."""
        for chunk in answer(request):
            if chunk.HasField("usage"):
                chunk.finish_reason = self.finish_reason
                if request.stability and self.knows_stability:
                    affine = self.served[request.model or "fake"]
                    queries = chunk.usage.prompt_tokens + chunk.usage.output_tokens
                    heads = attention_heads(queries, affine=affine, shift=queries / 10)
                    chunk.stability.CopyFrom(
                        stability_summary(
                            queries, heads if request.stability_heads else None, affine=affine
                        )
                    )
            yield from self._turns(chunk, request.n or 1)

    @staticmethod
    def _turns(chunk, answers: int):
        """The piece as one of each of the answers, which all say the same; usage in the last."""
        for index in range(answers):
            piece = type(chunk)()
            piece.CopyFrom(chunk)
            piece.index = index
            if index < answers - 1:
                piece.ClearField("usage")
            yield piece

    def GetAttention(self, request, context):
        if not self.knows_stability:
            return super().GetAttention(request, context)
        self._arrive(request, context)
        affine = self._serves(request.model, context)
        heads = attention_heads(4 * self.observed_steps, affine=affine)
        return pb.GetAttentionResponse(
            model=request.model or "fake", observed_steps=self.observed_steps, heads=heads
        )

    def _serves(self, name, context) -> bool:
        """Whether the model has affine scaling; ends the call for an unknown one."""
        if name and name not in self.served:
            served = ", ".join(self.served)
            context.abort(grpc.StatusCode.NOT_FOUND, f"model is {name}; served is {served}")
        return self.served[name or "fake"]

    def Tokenize(self, request, context):
        self._arrive(request, context)
        words = request.text.split()
        special = request.add_special_tokens or not request.HasField("add_special_tokens")
        before = self.special_ids if special else []
        return pb.TokenizeResponse(
            ids=[*before, *range(len(words))],
            tokens=[*("<s>" for _ in before), *words],
            max_model_len=self.max_model_len,
        )

    def Detokenize(self, request, context):
        self._arrive(request, context)
        return pb.DetokenizeResponse(text="".join(WORDS[id % len(WORDS)] for id in request.ids))

    def GetModel(self, request, context):
        self._arrive(request, context)
        affine = self._serves(request.model, context)
        model = model_description(request.model or "fake", affine=affine)
        model.max_model_len = self.max_model_len
        return model

    def ListModels(self, request, context):
        self._arrive(request, context)
        return pb.ListModelsResponse(models=[model_description("fake")])


def answer(request):
    """The chunks of a request's answer."""
    number = request.max_tokens if request.HasField("max_tokens") else 3
    prompt_tokens = len(request.token_ids.ids) or len(request.text.split())
    for place in range(max(number, 1)):
        chunk = pb.CompleteChunk(request_id=request.request_id or "drawn")
        if place == 0:
            chunk.model = request.model or "fake"
            chunk.prompt_token_ids.extend(range(prompt_tokens))
            chunk.text = request.text if request.echo else ""
        if number:
            word = WORDS[place % len(WORDS)]
            chunk.text += word
            chunk.token_ids.append(place)
            if request.HasField("logprobs"):
                token = chunk.logprobs.add(id=place, logprob=-0.5, rank=1, text=word)
                for best in range(request.logprobs):
                    token.top.add(id=best, logprob=-0.5 - best, text=WORDS[best % len(WORDS)])
        if place + 1 >= number:
            chunk.finish_reason = pb.FINISH_REASON_LENGTH
            chunk.usage.CopyFrom(
                pb.Usage(prompt_tokens=prompt_tokens, cached_tokens=1, output_tokens=number)
            )
        yield chunk


def model_description(name: str, *, affine: bool = True) -> pb.ModelDescription:
    return pb.ModelDescription(
        name=name,
        architecture="LlamaForCausalLM",
        dtype="bfloat16",
        device="cpu",
        attention=pb.AttentionDescription(
            denominator="softmax",
            alpha_activation="linear_clipping" if affine else "none",
            gate="none",
        ),
        vocab_size=1000,
        max_model_len=2048,
        num_layers=30,
        num_heads=9,
        num_kv_heads=3,
        head_dim=64,
        hidden_size=576,
        num_parameters=134_515_008,
        block_size=16,
        num_blocks=512,
        block_bytes=368_640,
        weight_bytes=269_030_016,
        eos_token_ids=[2],
        server_version="0.1.0",
    )


class FakeServer:
    """The fake behind a real port of 127.0.0.1."""

    def __init__(self) -> None:
        self.service = FakeService()
        self._server = grpc.server(ThreadPoolExecutor(max_workers=16))
        completion_pb2_grpc.add_CompletionServiceServicer_to_server(self.service, self._server)
        self.health = health.HealthServicer()
        self.health.set(READY_SERVICE, health_pb2.HealthCheckResponse.SERVING)
        health_pb2_grpc.add_HealthServicer_to_server(self.health, self._server)
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def stop(self) -> None:
        self._server.stop(grace=None).wait()
