"""HTTP calls to the server under test, on http.client alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from typing import Any

TIMEOUT_S = 120.0


@dataclass(frozen=True)
class HttpAnswer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        return self.json["error"]


class HttpStream:
    """Server-sent events of one answer. Closing it drops the connection."""

    def __init__(self, connection: HTTPConnection, answer: HTTPResponse) -> None:
        self._connection = connection
        self._answer = answer

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The events' JSON; fails if a stream ends without [DONE]."""
        for line in self._answer:
            if line.strip() == b"data: [DONE]":
                self.close()
                return
            if line.startswith(b"data: "):
                yield json.loads(line[6:])
        raise AssertionError("the stream ended without [DONE]")

    def close(self) -> None:
        self._answer.close()
        self._connection.close()


class HttpApi:
    """A connection for each call, unless used through `connection`."""

    def __init__(self, address: str) -> None:
        self.address = address

    def connection(self) -> HTTPConnection:
        return HTTPConnection(self.address, timeout=TIMEOUT_S)

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict | None = None
    ) -> HttpAnswer:
        connection = self.connection()
        try:
            return exchange(connection, method, path, body, headers)
        finally:
            connection.close()

    def get(self, path: str) -> HttpAnswer:
        return self.request("GET", path)

    def post(self, path: str, body: Any) -> HttpAnswer:
        """`body` as JSON, or as it is if it is bytes."""
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.request("POST", path, sent, {"Content-Type": "application/json"})

    def complete(self, **fields: Any) -> dict[str, Any]:
        """A completion that must succeed."""
        answer = self.post("/v1/completions", fields)
        assert answer.status == 200, answer.text
        return answer.json

    def stream(self, **fields: Any) -> HttpStream:
        connection = self.connection()
        body = json.dumps({**fields, "stream": True})
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status != 200:
            text = answer.read().decode()
            connection.close()
            raise AssertionError(f"{answer.status} {text}")
        assert answer.getheader("Content-Type", "").startswith("text/event-stream")
        return HttpStream(connection, answer)


def exchange(
    connection: HTTPConnection,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: dict | None = None,
) -> HttpAnswer:
    """One request and its answer. A server may answer and hang up before it has read all of a
    body; the answer counts."""
    try:
        connection.request(method, path, body, headers or {})
    except (BrokenPipeError, ConnectionResetError):
        pass
    answer = connection.getresponse()
    return HttpAnswer(answer.status, dict(answer.getheaders()), answer.read())
