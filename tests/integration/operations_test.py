"""What an operator sees: health, reflection, probes, metrics, limits, callers who leave."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from pathlib import Path

import grpc
import pytest
from affine_client._proto import completion_pb2 as pb
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_api import SERVICE, GrpcApi
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)
from http_api import HttpApi
from server_process import ServerProcess
from servers import Servers

SERVING = health_pb2.HealthCheckResponse.SERVING
ENDLESS = {"max_tokens": 30_000, "ignore_eos": True}  # far longer than a test looks


def test_health_knows_live_ready_and_nothing_else(tiny_grpc: GrpcApi) -> None:
    health = health_pb2_grpc.HealthStub(tiny_grpc.channel)
    for service in ("", SERVICE):
        answer = health.Check(health_pb2.HealthCheckRequest(service=service), timeout=10)
        assert answer.status == SERVING
    with pytest.raises(grpc.RpcError) as caught:
        health.Check(health_pb2.HealthCheckRequest(service="no.such.Service"), timeout=10)
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    watch = health.Watch(health_pb2.HealthCheckRequest(service="no.such.Service"), timeout=10)
    assert next(watch).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
    watch.cancel()


def test_reflection_describes_the_services(tiny_grpc: GrpcApi) -> None:
    database = ProtoReflectionDescriptorDatabase(tiny_grpc.channel)
    assert {SERVICE, "grpc.health.v1.Health"} <= set(database.get_services())
    service = DescriptorPool(database).FindServiceByName(SERVICE)
    ours = pb.DESCRIPTOR.services_by_name["CompletionService"]
    assert [method.name for method in service.methods] == [m.name for m in ours.methods]


def test_http_probes_and_pages(tiny_http: HttpApi) -> None:
    assert tiny_http.get("/health").status == 200
    assert tiny_http.get("/ready").json["models"] == ["tiny"]
    assert tiny_http.get("/version").json["version"]
    models = tiny_http.get("/v1/models").json
    assert models["object"] == "list"
    assert [model["id"] for model in models["data"]] == ["tiny"]
    assert tiny_http.get("/v1/models/tiny").json == models["data"][0]


def test_the_model_describes_itself(tiny_grpc: GrpcApi, tiny_model: Path) -> None:
    model = tiny_grpc.stub.GetModel(pb.GetModelRequest())
    config = json.loads((tiny_model / "config.json").read_text())
    assert (model.name, model.architecture, model.device) == ("tiny", "LlamaForCausalLM", "cpu")
    assert model.vocab_size == config["vocab_size"]
    assert model.max_model_len == config["max_position_embeddings"]
    assert model.num_layers == config["num_hidden_layers"]
    assert (model.num_heads, model.num_kv_heads) == (
        config["num_attention_heads"],
        config["num_key_value_heads"],
    )
    attention = model.attention
    assert (attention.denominator, attention.gate) == ("learned_sink", "elementwise")
    assert (attention.alpha_activation, attention.fixed_normalizer) == ("linear_clipping", 0)
    assert list(tiny_grpc.stub.ListModels(pb.ListModelsRequest()).models) == [model]


VLLM_NAMES = (
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:kv_cache_usage_perc",
    "vllm:cache_config_info",
    "vllm:time_to_first_token_seconds_bucket",
    "vllm:inter_token_latency_seconds_bucket",
    "vllm:e2e_request_latency_seconds_bucket",
    "vllm:request_queue_time_seconds_bucket",
    "vllm:prompt_tokens_total",
    "vllm:generation_tokens_total",
    "vllm:prefix_cache_queries_total",
    "vllm:prefix_cache_hits_total",
    "vllm:num_preemptions_total",
    "vllm:request_success_total",
    "vllm:spec_decode_num_drafts_total",
    "vllm:spec_decode_num_draft_tokens_total",
    "vllm:spec_decode_num_accepted_tokens_total",
)


def page_under_load(server: ServerProcess) -> str:
    """/metrics while four requests run."""
    with GrpcApi(server.address) as api:
        calls = [api.stream("load", **ENDLESS) for _ in range(4)]
        for call in calls:
            next(call)
        answer = HttpApi(server.address).get("/metrics")
        assert server.metric("affine_num_requests_running") == 4
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    server.assert_idle()
    return answer.text


def promtool(page: str) -> tuple[int, list[str]]:
    """`promtool check metrics`: its exit code and what it says, line by line."""
    program = shutil.which("promtool")
    assert program, "promtool is missing: apt-get install prometheus"
    done = subprocess.run(
        [program, "check", "metrics"], input=page, capture_output=True, text=True, timeout=60
    )
    return done.returncode, (done.stdout + done.stderr).splitlines()


def test_promtool_accepts_the_metrics_during_load(servers: Servers, tiny_model: Path) -> None:
    server = servers.start(tiny_model, "--novllm_metrics", "--kv_cache_gib=0.25")
    page = page_under_load(server)
    assert "vllm:" not in page
    assert promtool(page) == (0, [])


def test_promtool_dislikes_only_the_colons_of_vllms_names(tiny_server: ServerProcess) -> None:
    page = page_under_load(tiny_server)
    for name in VLLM_NAMES:
        assert f"\n{name}{{" in page, name
    code, complaints = promtool(page)
    assert code == 3 and complaints  # 1 would be a page that can't be read
    for complaint in complaints:
        assert complaint.startswith("vllm:") and complaint.endswith("should not contain ':'")


def test_the_first_token_is_timed_when_its_stream_gets_it(
    servers: Servers, tiny_model: Path
) -> None:
    server = servers.start(tiny_model, "--kv_cache_gib=0.25")
    name = "affine_time_to_first_token_seconds"
    assert server.metric(f"{name}_count") == 0
    with GrpcApi(server.address) as api:
        call = api.stream("x", **ENDLESS)
        next(call)
        assert server.metric(f"{name}_count") == 1  # while the stream goes on
        call.cancel()
        api.complete("x", max_tokens=2)
    stream = HttpApi(server.address).stream(prompt="x", max_tokens=2)
    assert len(list(stream)) >= 1
    assert server.metric(f"{name}_count") == 3
    assert server.metric(f"{name}_sum") > 0


def test_tokens_are_counted_exactly(tiny_server: ServerProcess, tiny_grpc: GrpcApi) -> None:
    before = tiny_server.metric("affine_generation_tokens_total")
    for _ in range(3):
        tiny_grpc.complete("count", max_tokens=11, ignore_eos=True)
    # A step is counted when its answers are out already; 34 would be there by then, too.
    tiny_server.wait_metric("affine_generation_tokens_total", lambda now: now >= before + 33)
    tiny_server.assert_idle()
    assert tiny_server.metric("affine_generation_tokens_total") == before + 33


def test_the_rpcs_deadline_frees_the_blocks(tiny_server: ServerProcess, tiny_grpc: GrpcApi) -> None:
    call = tiny_grpc.stub.StreamComplete(
        pb.CompleteRequest(text="x", max_tokens=30_000, ignore_eos=True), timeout=0.3
    )
    with pytest.raises(grpc.RpcError) as caught:
        list(call)
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    tiny_server.assert_idle()


def test_timeout_ms_ends_a_request_on_both_ways(
    tiny_server: ServerProcess, tiny_grpc: GrpcApi, tiny_http: HttpApi
) -> None:
    error = tiny_grpc.error("x", timeout_ms=200, **ENDLESS)
    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    answer = tiny_http.post("/v1/completions", {"prompt": "x", "timeout_ms": 200, **ENDLESS})
    assert (answer.status, answer.error["code"]) == (504, "deadline_exceeded")
    assert "deadline" in answer.error["message"] and "deadline" in error.details()
    events = list(tiny_http.stream(prompt="x", timeout_ms=200, **ENDLESS))
    assert events[0]["choices"] and events[-1]["error"]["code"] == "deadline_exceeded"
    tiny_server.assert_idle()


def test_a_cancelled_call_frees_its_blocks(tiny_server: ServerProcess, tiny_grpc: GrpcApi) -> None:
    call = tiny_grpc.stream("x", **ENDLESS)
    next(call)
    assert tiny_server.metric("affine_kv_cache_blocks_used") > 0
    call.cancel()
    tiny_server.assert_idle()


def test_a_lost_channel_frees_its_blocks(tiny_server: ServerProcess) -> None:
    with GrpcApi(tiny_server.address) as api:
        next(api.stream("x", **ENDLESS))
    tiny_server.assert_idle()


def test_a_lost_http_connection_frees_its_blocks(
    tiny_server: ServerProcess, tiny_http: HttpApi
) -> None:
    stream = tiny_http.stream(prompt="x", **ENDLESS)
    assert next(iter(stream))["choices"]
    stream.close()
    tiny_server.assert_idle()
    # Without a stream there is nothing to write before the end, so only reading can tell.
    connection = tiny_http.connection()
    body = json.dumps({"prompt": "x", **ENDLESS})
    connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
    tiny_server.wait_metric("affine_num_requests_running", lambda value: value == 1)
    connection.close()
    tiny_server.assert_idle()


def test_a_caller_who_never_reads_holds_up_nobody(
    tiny_server: ServerProcess, tiny_grpc: GrpcApi, tiny_http: HttpApi
) -> None:
    stream = tiny_http.stream(prompt="x", logprobs=20, **ENDLESS)
    for _ in range(3):
        answer = tiny_grpc.complete("y", max_tokens=16, ignore_eos=True)
        assert answer.usage.output_tokens == 16
    stream.close()
    tiny_server.assert_idle()


@pytest.fixture
def small_server(servers: Servers, tiny_model: Path) -> ServerProcess:
    """One request runs, one waits, the next is turned away."""
    return servers.start(
        tiny_model, "--max_num_seqs=1", "--max_num_queued_reqs=1", "--kv_cache_gib=0.25"
    )


def test_a_full_queue_answers_with_a_retry_hint(small_server: ServerProcess) -> None:
    with GrpcApi(small_server.address) as api:
        running = api.stream("first", **ENDLESS)
        next(running)
        waiting = api.stream("second", max_tokens=4, ignore_eos=True)
        small_server.wait_metric("affine_num_requests_waiting", lambda value: value == 1)

        error = api.error("third", max_tokens=1)
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "max_num_queued_reqs" in error.details() or "queue" in error.details()
        assert "1" in error.details()
        assert int(dict(error.trailing_metadata())["retry-after"]) >= 1

        answer = HttpApi(small_server.address).post(
            "/v1/completions", {"prompt": "third", "max_tokens": 1}
        )
        assert (answer.status, answer.error["code"]) == (429, "queue_full")
        assert int(answer.headers["Retry-After"]) >= 1

        running.cancel()
        assert list(waiting)[-1].usage.output_tokens == 4  # its turn has come
        assert api.complete("fourth", max_tokens=1).usage.output_tokens == 1


def test_a_waiting_request_can_be_cancelled_and_can_time_out(small_server: ServerProcess) -> None:
    with GrpcApi(small_server.address) as api:
        running = api.stream("first", **ENDLESS)
        next(running)
        waiting = api.stream("second", max_tokens=4)
        small_server.wait_metric("affine_num_requests_waiting", lambda value: value == 1)
        waiting.cancel()
        small_server.wait_metric("affine_num_requests_waiting", lambda value: value == 0)
        error = api.error("third", max_tokens=4, timeout_ms=100)
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        running.cancel()
    small_server.assert_idle()


def test_an_api_key_is_asked_for_where_one_is_set(servers: Servers, tiny_model: Path) -> None:
    server = servers.start(tiny_model, "--api_key=sesame", "--kv_cache_gib=0.25")
    http = HttpApi(server.address)
    body = b'{"prompt": "x", "max_tokens": 1}'
    for headers, status in (
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer sesame"}, 200),
    ):
        assert http.request("POST", "/v1/completions", body, headers).status == status
    assert http.get("/health").status == 200
    with GrpcApi(server.address) as api:
        error = api.error("x", max_tokens=1)
        assert error.code() is grpc.StatusCode.UNAUTHENTICATED
        request = pb.CompleteRequest(text="x", max_tokens=1)
        metadata = (("authorization", "Bearer sesame"),)
        assert api.stub.Complete(request, metadata=metadata, timeout=60).usage.output_tokens == 1


def test_requests_are_logged_without_their_prompts(servers: Servers, tiny_model: Path) -> None:
    server = servers.start(tiny_model, "--kv_cache_gib=0.25")
    with GrpcApi(server.address) as api:
        api.complete("a secret sentence", max_tokens=3, ignore_eos=True, request_id="logged-1")
    server.terminate()
    assert server.wait_exit() == 0
    (event,) = [event for event in server.events() if event.get("request_id") == "logged-1"]
    assert event["output_tokens"] == 3
    assert "secret" not in "\n".join(server.stderr)
    assert "/metrics" not in "\n".join(server.stderr)  # no line for scrapes and probes


def refused_bodies(secret: str) -> list[bytes]:
    """Bodies that are refused for what stands where the secret does."""
    fields = [
        {"prompt": {"text": secret}},
        {"prompt": [1, secret]},
        {"prompt": ["one", {"text": secret}]},
        {"prompt": 5, "suffix": secret},
        {"prompt": "x", "suffix": secret},
        {"prompt": "x", "model": secret},
        {"prompt": "x", "request_id": f"{secret} and more"},
        {"prompt": "x", "stop": [secret * 200]},
        {"prompt": "x", "temperature": secret},
        {"prompt": "x", "stream": True, "stream_options": {"include_usage": secret}},
        {"prompt": "x", "response_format": {"type": secret}},
        {"prompt": "x", "guided_regex": f"({secret}"},
        {"prompt": "x", "guided_grammar": f"root ::= {secret} %"},
        {"prompt": "x", "guided_json": {"properties": {secret: {"not": {}}}}},
        {"prompt": "x", "guided_json": {"type": secret}},
        [secret],
        secret,
    ]
    broken = ['{"prompt": "%s" %s}', '{"prompt": "%s\\%s"}', '{"prompt": "%s", %s}', '{"%s": %s']
    return [
        *(json.dumps(body).encode() for body in fields),
        *((text % (secret, secret)).encode() for text in broken),
        b'{"prompt": "' + secret.encode() + b'\xff"}',
    ]


def test_refusals_are_logged_without_what_was_sent(servers: Servers, tiny_model: Path) -> None:
    secret = "pst-nobody-may-read-this"
    server = servers.start(tiny_model, "--kv_cache_gib=0.25", "--log_level=debug")
    http = HttpApi(server.address)
    bodies = refused_bodies(secret)
    repeated = 0
    for body in bodies:
        answer = http.post("/v1/completions", body)
        assert answer.status in (400, 404), answer.text
        repeated += secret in answer.text
    assert repeated > 5  # the callers are told
    assert http.get(f"/v1/models/{secret}").status == http.get(f"/{secret}").status == 404
    assert http.post("/tokenize", {"prompt": [secret]}).status == 400
    with GrpcApi(server.address) as api:
        assert secret in api.error("x", model=secret).details()
        api.error(secret, max_tokens=10**6)
        api.error_of("Complete", b"\x12\x20" + secret.encode())
    server.terminate()
    assert server.wait_exit() == 0
    refused = [event for event in server.events() if event["message"] == "request refused"]
    assert len(refused) == len(bodies) + 6
    assert all(event["error"] and event["code"] for event in refused)
    assert [event["param"] for event in refused[:3]] == ["prompt"] * 3
    assert secret not in "\n".join(server.stderr)


def test_many_connections_come_and_go(tiny_server: ServerProcess) -> None:
    failures: list[Exception] = []

    def knock() -> None:
        try:
            for _ in range(20):
                assert HttpApi(tiny_server.address).get("/health").status == 200
                with GrpcApi(tiny_server.address) as api:
                    api.complete("x", max_tokens=1)
        except Exception as problem:
            failures.append(problem)

    threads = [threading.Thread(target=knock) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    tiny_server.assert_idle()
