"""Sends one request of the load test and notes when its pieces arrive."""

from __future__ import annotations

import json
import time
from http.client import HTTPConnection, HTTPException
from typing import Protocol

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
                if chunk.token_ids:
                    record.stamps.append(time.perf_counter() - sent)
                if chunk.usage:
                    record.prompt_tokens = chunk.usage.prompt_tokens
                    record.output_tokens = chunk.usage.output_tokens
        except AffineError as problem:
            record.error = str(problem)


class HttpCaller:
    """Any server with OpenAI's /v1/completions."""

    def __init__(self, address: str, model: str, api_key: str | None) -> None:
        self._address = address
        self._model = model
        self._headers = {"Content-Type": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"

    def __call__(self, prompt: list[int], output_tokens: int, record: Record) -> None:
        body = {
            "model": self._model,
            "prompt": prompt,
            "max_tokens": output_tokens,
            "temperature": 0,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        connection = HTTPConnection(self._address, timeout=_PATIENCE_S)
        sent = time.perf_counter()
        try:
            connection.request("POST", "/v1/completions", json.dumps(body), self._headers)
            answer = connection.getresponse()
            if answer.status != 200:
                record.error = f"{answer.status} {answer.read(500).decode('utf-8', 'replace')}"
                return
            for line in answer:
                if line.startswith(b"data: {"):
                    self._note(json.loads(line[6:]), time.perf_counter() - sent, record)
        except (OSError, HTTPException, ValueError) as problem:
            record.error = f"{type(problem).__name__}: {problem}"
        finally:
            connection.close()

    @staticmethod
    def _note(event: dict, arrived: float, record: Record) -> None:  # type: ignore[type-arg]
        if event.get("error"):
            record.error = json.dumps(event["error"])
        if event.get("choices"):
            record.stamps.append(arrived)
        if event.get("usage"):
            record.prompt_tokens = event["usage"]["prompt_tokens"]
            record.output_tokens = event["usage"]["completion_tokens"]


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
