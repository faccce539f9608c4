"""affine_client.AsyncClient: the same answers, errors and cancellation as the sync one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest
from affine_client import AsyncClient, Busy, Client, DeadlineExceeded, InvalidArgument, join
from fake_service import READY_SERVICE, Failure, FakeServer, FakeService
from grpc_health.v1 import health_pb2

FULL = Failure(grpc.StatusCode.RESOURCE_EXHAUSTED, "the queue is full", "1")


def run(server: FakeServer, body: Callable[[AsyncClient], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        async with AsyncClient(server.address) as client:
            return await body(client)

    return asyncio.run(main())


def test_every_call_answers_as_the_sync_client(server: FakeServer, client: Client) -> None:
    async def body(other: AsyncClient) -> None:
        assert await other.complete("a b", max_tokens=2) == client.complete("a b", max_tokens=2)
        assert await other.tokenize("a b") == client.tokenize("a b")
        assert await other.detokenize([1]) == client.detokenize([1])
        assert await other.models() == client.models()
        assert await other.model("fake") == client.model("fake")
        assert await other.health() == client.health()

    run(server, body)


def test_the_pieces_of_a_stream_join_to_the_unary_answer(server: FakeServer) -> None:
    async def body(client: AsyncClient) -> None:
        chunks = [chunk async for chunk in client.stream("a b", max_tokens=4, logprobs=1)]
        assert len(chunks) == 4
        assert join(chunks) == await client.complete("a b", max_tokens=4, logprobs=1)

    run(server, body)


def test_many_streams_run_at_once(server: FakeServer) -> None:
    async def text(client: AsyncClient, number: int) -> str:
        return join([chunk async for chunk in client.stream("x", max_tokens=number)]).text

    async def body(client: AsyncClient) -> None:
        texts = await asyncio.gather(*(text(client, number) for number in range(1, 9)))
        assert [len(made.split()) for made in texts] == list(range(1, 9))

    run(server, body)


def test_busy_is_tried_again(server: FakeServer) -> None:
    waits: list[float] = []

    async def note(seconds: float) -> None:
        waits.append(seconds)

    async def body(client: AsyncClient) -> None:
        client._sleep = note
        server.service.failures.append(FULL)
        await client.complete("x")
        server.service.failures.append(FULL)
        assert len([chunk async for chunk in client.stream("x", max_tokens=2)]) == 2
        server.service.failures.extend([FULL] * 5)
        with pytest.raises(Busy):
            await client.complete("x")

    run(server, body)
    assert len(waits) == 6 and min(waits) >= 1.0


def test_closing_a_stream_cancels_the_request(server: FakeServer, service: FakeService) -> None:
    service.hold_after_first_chunk = True

    async def body(client: AsyncClient) -> None:
        stream = client.stream("x", max_tokens=5)
        assert (await anext(stream)).text == " red"
        await stream.aclose()
        assert await asyncio.to_thread(service.cancelled.wait, 10)

    run(server, body)


def test_cancelling_the_task_cancels_the_request(server: FakeServer, service: FakeService) -> None:
    service.hold_after_first_chunk = True

    async def body(client: AsyncClient) -> None:
        started = asyncio.Event()

        async def consume() -> None:
            async for _ in client.stream("x", max_tokens=5):
                started.set()

        task = asyncio.create_task(consume())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(service.cancelled.wait, 10)

    run(server, body)


def test_errors_are_typed(server: FakeServer, service: FakeService) -> None:
    async def body(client: AsyncClient) -> None:
        service.failures.append(Failure(grpc.StatusCode.INVALID_ARGUMENT, "top_p is 2"))
        with pytest.raises(InvalidArgument, match="top_p is 2"):
            await client.complete("x")
        with pytest.raises(InvalidArgument, match="seed is -1"):
            await client.complete("x", seed=-1)
        service.hold_after_first_chunk = True
        with pytest.raises(DeadlineExceeded):
            async for _ in client.stream("x", max_tokens=2, timeout=0.2):
                pass

    run(server, body)


def test_wait_ready_returns_when_completions_are_served(server: FakeServer) -> None:
    async def body(client: AsyncClient) -> None:
        await client.wait_ready(timeout=10)
        server.health.set(READY_SERVICE, health_pb2.HealthCheckResponse.NOT_SERVING)
        with pytest.raises(DeadlineExceeded):
            await client.wait_ready(timeout=0.2)

    run(server, body)
