from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from affine_client import Client
from command_line import CommandLine
from fake_http import FakeHttp
from fake_service import FakeServer, FakeService


@pytest.fixture
def server() -> Iterator[FakeServer]:
    server = FakeServer()
    yield server
    server.stop()


@pytest.fixture
def service(server: FakeServer) -> FakeService:
    return server.service


@pytest.fixture
def client(server: FakeServer) -> Iterator[Client]:
    with Client(server.address) as client:
        yield client


@pytest.fixture
def waits(client: Client) -> list[float]:
    """The seconds that the client would have slept between attempts; it does not sleep."""
    waits: list[float] = []
    client._sleep = waits.append
    return waits


@pytest.fixture
def closed_address() -> str:
    """An address of this machine at which nothing listens."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{holder.getsockname()[1]}"


@pytest.fixture
def http() -> Iterator[FakeHttp]:
    http = FakeHttp()
    yield http
    http.stop()


@pytest.fixture
def affine(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setenv("AFFINE_ADDRESS", server.address)
    return CommandLine()


@pytest.fixture
def affine_on_terminal(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setenv("AFFINE_ADDRESS", server.address)
    monkeypatch.delenv("NO_COLOR", raising=False)
    return CommandLine(is_terminal=True)
