"""The client for asyncio: affine_client.client with `await`."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any, Unpack

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from affine_client import wire
from affine_client._proto import completion_pb2 as pb
from affine_client._proto.completion_pb2_grpc import CompletionServiceStub
from affine_client.address import CHANNEL_OPTIONS, server_address
from affine_client.answers import Chunk, Completion, Model, Tokens
from affine_client.attempts import READY_SERVICE, Attempts, call_metadata
from affine_client.errors import Unavailable, error_from_rpc
from affine_client.parameters import CompletionParams, Prompt
from affine_client.retry import RetryPolicy
from affine_client.stability import AttentionWindow
from affine_client.stability_wire import window_of


class AsyncClient:
    """One connection to a server, for one event loop; usable as an async context manager.

    The calls are those of affine_client.Client, with the same meanings and errors.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        api_key: str | None = None,
        timeout: float | None = None,
        retry: RetryPolicy = RetryPolicy(),
        credentials: grpc.ChannelCredentials | None = None,
    ) -> None:
        """`address` as host:port; default the environment's AFFINE_ADDRESS, else 127.0.0.1:8000.

        Connects on the first call. With `credentials` the channel is TLS.
        """
        self.address = server_address(address)
        self._metadata = call_metadata(api_key)
        self._timeout = timeout
        self._retry = retry
        self._channel = (
            grpc.aio.secure_channel(self.address, credentials, CHANNEL_OPTIONS)
            if credentials
            else grpc.aio.insecure_channel(self.address, CHANNEL_OPTIONS)
        )
        self._service = CompletionServiceStub(self._channel)
        self._health = health_pb2_grpc.HealthStub(self._channel)
        self._draw = random.Random()
        self._sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def close(self) -> None:
        """Closes the connection; calls in flight are cancelled."""
        await self._channel.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def complete(
        self, prompt: Prompt, *, timeout: float | None = None, **params: Unpack[CompletionParams]
    ) -> Completion:
        """The whole answer to `prompt`, a text, token ids or messages."""
        request = wire.completion_request(prompt, params)
        return wire.completion_of(await self._unary(self._service.Complete, request, timeout))

    def stream(
        self, prompt: Prompt, *, timeout: float | None = None, **params: Unpack[CompletionParams]
    ) -> AsyncGenerator[Chunk, None]:
        """The answer in pieces as they are made.

        The call starts with the first piece asked for. Closing the generator, or leaving a loop
        over it and dropping it, cancels the request on the server.
        """
        return self._stream(wire.completion_request(prompt, params), timeout)

    async def tokenize(
        self,
        text: str,
        *,
        model: str = "",
        add_special_tokens: bool | None = None,
        timeout: float | None = None,
    ) -> Tokens:
        """Token ids of `text`; with special tokens (a leading BOS) unless told otherwise."""
        request = pb.TokenizeRequest(model=model, add_special_tokens=add_special_tokens)
        wire.assign(request, "text", text, "text")
        return wire.tokens_of(await self._unary(self._service.Tokenize, request, timeout))

    async def detokenize(
        self,
        ids: Sequence[int],
        *,
        model: str = "",
        skip_special_tokens: bool | None = None,
        timeout: float | None = None,
    ) -> str:
        """The text of `ids`; special tokens stay in it unless told otherwise."""
        request = pb.DetokenizeRequest(model=model, skip_special_tokens=skip_special_tokens)
        wire.extend(request.ids, ids, "ids")
        return str((await self._unary(self._service.Detokenize, request, timeout)).text)

    async def attention(self, model: str = "", *, timeout: float | None = None) -> AttentionWindow:
        """How stable the attention of `model` is by layer and head, over the latest observed steps.

        Raises Unsupported where the server is older than the method.
        """
        request = pb.GetAttentionRequest(model=model)
        return window_of(await self._unary(self._service.GetAttention, request, timeout))

    async def model(self, name: str = "", *, timeout: float | None = None) -> Model:
        """What the model served as `name` is; the first served one without a name."""
        request = pb.GetModelRequest(model=name)
        return wire.model_of(await self._unary(self._service.GetModel, request, timeout))

    async def models(self, *, timeout: float | None = None) -> list[Model]:
        """Every served model."""
        answer = await self._unary(self._service.ListModels, pb.ListModelsRequest(), timeout)
        return [wire.model_of(model) for model in answer.models]

    async def health(self, service: str = READY_SERVICE, *, timeout: float | None = None) -> str:
        """Answers "SERVING", "NOT_SERVING" or "UNKNOWN".

        The default asks whether the server is ready for completions; "" asks whether it lives.
        """
        request = health_pb2.HealthCheckRequest(service=service)
        answer = await self._unary(self._health.Check, request, timeout)
        return str(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))

    async def wait_ready(self, *, timeout: float | None = 60.0) -> None:
        """Returns once the server serves completions: it may not listen yet, or be loading.

        Raises DeadlineExceeded after `timeout` seconds; None waits for as long as it takes.
        """
        request = health_pb2.HealthCheckRequest(service=READY_SERVICE)
        watch = self._health.Watch(
            request, timeout=timeout, wait_for_ready=True, metadata=self._metadata
        )
        try:
            async for update in watch:
                if update.status == health_pb2.HealthCheckResponse.SERVING:
                    return
        except grpc.RpcError as problem:
            raise error_from_rpc(problem) from None
        finally:
            watch.cancel()
        raise Unavailable("the server ended before it was ready")

    def _attempts(self, timeout: float | None) -> Attempts:
        limit = self._timeout if timeout is None else timeout
        return Attempts(self._retry, limit, self._draw)

    async def _unary(self, method: Callable[..., Any], request: Any, timeout: float | None) -> Any:
        attempts = self._attempts(timeout)
        while True:
            try:
                return await method(request, timeout=attempts.time_left(), metadata=self._metadata)
            except grpc.RpcError as problem:
                await self._sleep(attempts.wait_after(error_from_rpc(problem)))

    async def _stream(
        self, request: pb.CompleteRequest, timeout: float | None
    ) -> AsyncGenerator[Chunk, None]:
        attempts = self._attempts(timeout)
        while True:
            started = False
            call = self._service.StreamComplete(
                request, timeout=attempts.time_left(), metadata=self._metadata
            )
            try:
                async for message in call:
                    started = True
                    yield wire.chunk_of(message)
                return
            except grpc.RpcError as problem:
                error = error_from_rpc(problem)
                if started:
                    raise error from None
                await self._sleep(attempts.wait_after(error))
            finally:
                call.cancel()
