"""SIGTERM: running streams finish with the answers they would have had, new requests are turned
away, and the process ends with 0."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from affine_client._proto import completion_pb2 as pb
from company_test import bits, mixed_requests
from grpc_api import GrpcApi, completion, joined
from grpc_health.v1 import health_pb2, health_pb2_grpc
from http_api import HttpApi, exchange
from server_process import READY_SERVICE, ServerProcess
from servers import Servers

STREAMS = 64


class RunningStreams:
    """Streams that have all brought their first piece when the constructor returns."""

    def __init__(self, api: GrpcApi, requests: list[dict]) -> None:
        self._api = api
        self._started = threading.Barrier(len(requests) + 1)
        self._pool = ThreadPoolExecutor(len(requests))
        self._answers = [self._pool.submit(self._ask, request) for request in requests]
        self._started.wait(timeout=120)

    def _ask(self, request: dict) -> pb.CompleteResponse:
        call = self._api.stub.StreamComplete(completion(**request), timeout=600)
        chunks = [next(call)]
        self._started.wait(timeout=120)
        chunks.extend(call)
        return joined(chunks)

    def answers(self) -> list[pb.CompleteResponse]:
        with self._pool:
            return [answer.result() for answer in self._answers]


def wait_not_serving(api: GrpcApi) -> None:
    watch = health_pb2_grpc.HealthStub(api.channel).Watch(
        health_pb2.HealthCheckRequest(service=READY_SERVICE), timeout=60
    )
    for update in watch:
        if update.status == health_pb2.HealthCheckResponse.NOT_SERVING:
            watch.cancel()
            return
    raise AssertionError("the health watch ended without NOT_SERVING")


def assert_new_requests_are_refused(server: ServerProcess, api: GrpcApi) -> None:
    error = api.error("new", max_tokens=1)
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert "shutting down" in error.details()
    assert int(dict(error.trailing_metadata())["retry-after"]) >= 1
    connection = HttpApi(server.address).connection()
    body = b'{"prompt": "new", "max_tokens": 1}'
    answer = exchange(connection, "POST", "/v1/completions", body)
    assert (answer.status, answer.error["code"]) == (503, "unavailable")
    assert "Retry-After" in answer.headers
    assert HttpApi(server.address).get("/ready").status == 503
    assert HttpApi(server.address).get("/health").status == 200  # it lives until it is done
    connection.close()


def assert_drains(
    servers: Servers, model: Path, requests: list[dict], longest: int, *flags: str
) -> None:
    """`longest`: output tokens of a stream that runs on until the new requests are refused."""
    server = servers.start(model, "--shutdown_timeout=600", *flags)
    long = {"prompt": "hold", "max_tokens": longest, "temperature": 0.0, "ignore_eos": True}
    with GrpcApi(server.address) as api:
        alone = [api.complete(**request, cache_salt="alone") for request in requests]
        streams = RunningStreams(api, [*requests, long])
        server.terminate()
        wait_not_serving(api)
        assert_new_requests_are_refused(server, api)
        answers = streams.answers()
    assert answers[-1].usage.output_tokens == longest
    for number, (answer, expected) in enumerate(zip(answers[:-1], alone, strict=True)):
        assert bits(answer) == bits(expected), f"request {number}: {requests[number]}"
    assert server.wait_exit() == 0
    assert not [event for event in server.events() if event["level"] == "error"]


def test_running_streams_finish_while_new_requests_are_refused(
    servers: Servers, tiny_model: Path
) -> None:
    requests = mixed_requests(6, longest_prompt=100, longest_answer=300)[: STREAMS - 1]
    assert_drains(servers, tiny_model, requests, 1500, "--kv_cache_gib=0.25", "--dtype=float32")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_real_models_streams_finish_too(servers: Servers, real_model: Path, dtype: str) -> None:
    requests = mixed_requests(7, longest_prompt=60, longest_answer=32)[: STREAMS - 1]
    assert_drains(servers, real_model, requests, 300, f"--dtype={dtype}")


def test_streams_that_outlast_the_timeout_are_cut_off(servers: Servers, tiny_model: Path) -> None:
    server = servers.start(tiny_model, "--shutdown_timeout=0.2", "--kv_cache_gib=0.25")
    with GrpcApi(server.address) as api:
        call = api.stream("x", max_tokens=30_000, ignore_eos=True)
        next(call)
        server.terminate()
        with pytest.raises(grpc.RpcError) as caught:
            list(call)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert server.wait_exit() == 0


def test_a_second_signal_cuts_streams_off(servers: Servers, tiny_model: Path) -> None:
    server = servers.start(tiny_model, "--shutdown_timeout=600", "--kv_cache_gib=0.25")
    with GrpcApi(server.address) as api:
        call = api.stream("x", max_tokens=30_000, ignore_eos=True)
        next(call)
        server.terminate()
        wait_not_serving(api)
        server.terminate()
        with pytest.raises(grpc.RpcError) as caught:
            list(call)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert server.wait_exit() == 0


def test_an_idle_server_ends_at_once(servers: Servers, tiny_model: Path) -> None:
    server = servers.start(tiny_model, "--kv_cache_gib=0.25")
    server.terminate()
    assert server.wait_exit(timeout=20) == 0
