"""Sends one request of the load test and notes when its pieces arrive."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPException
from typing import Any, Protocol

from affine_client.bench.record import Record
from affine_client.client import Client
from affine_client.errors import AffineError, Unavailable

# A stream that has brought nothing for this long counts as failed, seconds.
_PATIENCE_S = 600.0


class Caller(Protocol):
    """Thread-safe."""

    def __call__(self, prompt: list[int], output_tokens: int, record: Record) -> None: ...


class GrpcCaller:
    def __init__(self, client: Client, model: str) -> None:
        self._client = client
        self._model = model

    def __call__(self, prompt: list[int], output_tokens: int, record: Record) -> None:
        sent = time.perf_counter()
        try:
            for chunk in self._client.stream(
                prompt,
                model=self._model,
                max_tokens=output_tokens,
                temperature=0,
                ignore_eos=True,
            ):
                record.note(time.perf_counter() - sent, len(chunk.token_ids))
                if chunk.usage:
                    record.prompt_tokens = chunk.usage.prompt_tokens
                    record.output_tokens = chunk.usage.output_tokens
        except AffineError as problem:
            record.error = str(problem)


class HttpCaller:
    """Any server with OpenAI's /v1/completions.

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
    ) -> None:
        self._address = address
        self._model = model
        self._fields = dict(fields or {})
        self._headers = {"Content-Type": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"

    def __call__(self, prompt: list[int], output_tokens: int, record: Record) -> None:
        sent = time.perf_counter()
        try:
            for event in self.events(prompt, output_tokens):
                note_event(event, time.perf_counter() - sent, record)
        except (AffineError, OSError, HTTPException, ValueError) as problem:
            name = "" if isinstance(problem, AffineError) else f"{type(problem).__name__}: "
            record.error = f"{name}{problem}"

    def events(self, prompt: list[int], output_tokens: int) -> Iterator[dict[str, Any]]:
        """The events of one answer; the connection ends with the iterator. AffineError: refused."""
        body = {
            "model": self._model,
            "prompt": prompt,
            "max_tokens": output_tokens,
            "temperature": 0,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
            **self._fields,
        }
        connection = HTTPConnection(self._address, timeout=_PATIENCE_S)
        try:
            connection.request("POST", "/v1/completions", json.dumps(body), self._headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise AffineError(f"{answer.status} {answer.read(500).decode('utf-8', 'replace')}")
            for line in answer:
                if line.startswith(b"data: {"):
                    yield json.loads(line[6:])
        finally:
            connection.close()


def note_event(event: Mapping[str, Any], arrived: float, record: Record) -> None:
    """Adds a server-sent event that came `arrived` seconds after the request to its record."""
    if event.get("error"):
        record.error = json.dumps(event["error"])
    if event.get("choices"):
        record.note(arrived, _tokens_in(event, sum(record.counts)))
    if event.get("usage"):
        record.prompt_tokens = event["usage"]["prompt_tokens"]
        record.output_tokens = event["usage"]["completion_tokens"]


def _tokens_in(event: Mapping[str, Any], before: int) -> int:
    """How many tokens an event with a choice brings, after `before` of the same answer."""
    choice = event["choices"][0]
    if choice.get("token_ids") is not None:
        return len(choice["token_ids"])
    timings = event.get("timings") or {}
    if "predicted_n" in timings:
        return int(timings["predicted_n"]) - before
    return 1 if choice.get("text") else 0


def first_http_model(address: str, api_key: str | None) -> str:
    """The name of the first model of /v1/models."""
    connection = HTTPConnection(address, timeout=30.0)
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    try:
        connection.request("GET", "/v1/models", headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise AffineError(f"GET http://{address}/v1/models: {answer.status} {answer.reason}")
        return str(json.loads(body)["data"][0]["id"])
    except (OSError, HTTPException) as problem:
        raise Unavailable(f"no answer to GET /v1/models ({problem})") from None
    except (ValueError, LookupError, TypeError):
        raise AffineError(
            f"http://{address}/v1/models lists no model; name one with --model"
        ) from None
    finally:
        connection.close()
