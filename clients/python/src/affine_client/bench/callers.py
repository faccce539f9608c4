"""Sends one request of the load test and notes when its pieces arrive."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Protocol

import grpc
import grpc.aio

from affine_client._proto import completion_pb2 as pb
from affine_client._proto.completion_pb2_grpc import CompletionServiceStub
from affine_client.address import CHANNEL_OPTIONS
from affine_client.attempts import call_metadata
from affine_client.bench.http_pool import HttpPool
from affine_client.bench.plan import Ask
from affine_client.bench.record import Record
from affine_client.errors import AffineError, error_from_rpc
from affine_client.parameters import CompletionParams
from affine_client.wire import completion_request

# A request without an end for so long has failed, seconds.
_PATIENCE_S = 600.0


class Caller(Protocol):
    """For one event loop; any number of calls at once. Failures are told in the record."""

    async def __call__(self, ask: Ask, record: Record) -> None: ...

    async def close(self) -> None: ...


class GrpcCaller:
    """Reads the contract's messages as they are: the client's own answers would be made anew for
    each piece."""

    def __init__(
        self, address: str, model: str, api_key: str | None, params: CompletionParams | None = None
    ) -> None:
        """`params` go into each request beside prompt, model and max_tokens."""
        self._model = model
        self._params = params if params is not None else FULL_GREEDY
        self._metadata = call_metadata(api_key)
        self._channel = grpc.aio.insecure_channel(address, CHANNEL_OPTIONS)
        self._service = CompletionServiceStub(self._channel)

    async def __call__(self, ask: Ask, record: Record) -> None:
        request = completion_request(
            ask.prompt, {**self._params, "model": self._model, "max_tokens": ask.output_tokens}
        )
        clock = asyncio.get_running_loop().time
        sent = clock()
        call = self._service.StreamComplete(request, timeout=_PATIENCE_S, metadata=self._metadata)
        try:
            async for chunk in call:
                _note_chunk(chunk, clock() - sent, record)
                if ask.cancel_after is not None and len(record.token_ids) >= ask.cancel_after:
                    record.cancelled = not record.output_tokens
                    return
        except grpc.RpcError as problem:
            record.error = str(error_from_rpc(problem))
        finally:
            call.cancel()

    async def close(self) -> None:
        await self._channel.close()


class HttpCaller:
    """Any server with OpenAI's /v1/completions, or with `chat` /v1/chat/completions.

    `fields` go into each request beside OpenAI's own: what makes a server tell how many tokens an
    event holds. Understood are `choices[0].token_ids` (`return_token_ids` of vLLM's and of ours)
    and `timings.predicted_n` (`timings_per_token` of llama-server). Without them an event with text
    counts as one token.
    """

    def __init__(
        self,
        address: str,
        model: str,
        api_key: str | None,
        fields: Mapping[str, Any] | None = None,
        *,
        chat: bool = False,
    ) -> None:
        self._pool = HttpPool(address)
        self._chat = chat
        self._path = "/v1/chat/completions" if chat else "/v1/completions"
        self._fields = {
            "model": model,
            **(FULL_GREEDY if fields is None else {}),
            "stream": True,
            "stream_options": {"include_usage": True},
            **(fields or {}),
        }
        key = f"Authorization: Bearer {api_key}\r\n" if api_key else ""
        self._head = (
            f"POST {self._path} HTTP/1.1\r\nHost: {address}\r\n{key}"
            "Content-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: "
        )

    async def __call__(self, ask: Ask, record: Record) -> None:
        clock = asyncio.get_running_loop().time
        request = self._request(ask)
        refusal: list[bytes] = []
        sent = clock()

        def heard(line: bytes) -> bool:
            if line.startswith(b"data: {"):
                note_event(json.loads(line[6:]), clock() - sent, record)
                if ask.cancel_after is not None and sum(record.counts) >= ask.cancel_after:
                    record.cancelled = not record.output_tokens
                    return False
            elif line and not line.startswith((b":", b"data: [DONE]", b"event:", b"id:")):
                refusal.append(line)
            return True

        try:
            status = await asyncio.wait_for(self._pool.ask(request, heard), _PATIENCE_S)
            if status != 200:
                record.error = f"{status} {b' '.join(refusal)[:500].decode('utf-8', 'replace')}"
        except (AffineError, OSError, ValueError, LookupError, TypeError) as problem:
            record.error = f"{type(problem).__name__}: {problem}"

    async def close(self) -> None:
        self._pool.close()

    def _request(self, ask: Ask) -> bytes:
        prompt: dict[str, Any] = {"prompt": ask.prompt}
        if self._chat:
            messages = [{"role": role, "content": text} for role, text in ask.messages]
            prompt = {"messages": messages}
        body = json.dumps({**self._fields, **prompt, "max_tokens": ask.output_tokens}).encode()
        return f"{self._head}{len(body)}\r\n\r\n".encode() + body


FULL_GREEDY: CompletionParams = {"temperature": 0, "ignore_eos": True}


def _note_chunk(chunk: pb.CompleteChunk, arrived: float, record: Record) -> None:
    if chunk.token_ids:
        record.note(arrived, len(chunk.token_ids))
        record.token_ids.extend(chunk.token_ids)
    if chunk.HasField("usage"):
        record.prompt_tokens = chunk.usage.prompt_tokens
        record.cached_tokens = chunk.usage.cached_tokens
        record.output_tokens = chunk.usage.output_tokens


def note_event(event: Mapping[str, Any], arrived: float, record: Record) -> None:
    """Adds a server-sent event that came `arrived` seconds after the request to its record."""
    if event.get("error"):
        record.error = json.dumps(event["error"])
    if event.get("choices"):
        choice = event["choices"][0]
        text = _text_of(choice)
        record.note(arrived, _tokens_in(event, text, sum(record.counts)))
        record.token_ids.extend(choice.get("token_ids") or ())
        record.texts.append(text)
    usage = event.get("usage")
    if usage:
        record.prompt_tokens = usage["prompt_tokens"]
        record.output_tokens = usage["completion_tokens"]
        record.cached_tokens = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")


def _text_of(choice: Mapping[str, Any]) -> str:
    delta = choice.get("delta")
    return (delta.get("content") if delta else choice.get("text")) or ""


def _tokens_in(event: Mapping[str, Any], text: str, before: int) -> int:
    """How many tokens an event with a choice brings, after `before` of the same answer."""
    choice = event["choices"][0]
    if choice.get("token_ids") is not None:
        return len(choice["token_ids"])
    timings = event.get("timings") or {}
    if "predicted_n" in timings:
        return int(timings["predicted_n"]) - before
    return 1 if text else 0
