"""Bad input: each answered with its code and a message that names field, value and limit, the same
over gRPC and JSON, and the server serves on afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from affine_client._proto import completion_pb2 as pb
from grpc_api import GrpcApi, completion
from http_api import HttpAnswer, HttpApi
from server_process import ServerProcess

Code = grpc.StatusCode
MIB = 1 << 20


@pytest.fixture(autouse=True)
def server_unharmed(tiny_server: ServerProcess, tiny_grpc: GrpcApi) -> Iterator[None]:
    """After each group one good request, and nothing left behind."""
    yield
    assert tiny_server.running, tiny_server.tail()
    answer = tiny_grpc.complete("good", max_tokens=2, temperature=0, ignore_eos=True)
    assert answer.usage.output_tokens == 2
    tiny_server.assert_idle()


def assert_refused(answer: HttpAnswer, status: int, *named: str, param: str | None = None) -> str:
    """Checks OpenAI's error shape; returns the message."""
    assert answer.status == status, answer.text
    error = answer.error
    assert set(error) == {"message", "type", "param", "code"}
    for part in named:
        assert part in error["message"], error["message"]
    if param is not None:
        assert error["param"] == param
    return error["message"]


def assert_refused_alike(
    api: GrpcApi, http: HttpApi, prompt: Any, fields: dict, named: tuple[str, ...], param: str
) -> None:
    """The same mistake over both ways gives the same message."""
    error = api.error(prompt, **fields)
    assert error.code() is Code.INVALID_ARGUMENT, error
    answer = http.post("/v1/completions", {"prompt": prompt, **fields})
    message = assert_refused(answer, 400, *named, param=param)
    assert error.details() == message


OUT_OF_RANGE = [
    ("temperature", -0.5, "[0, 100]"),
    ("temperature", 100.5, "[0, 100]"),
    ("top_p", 0.0, "(0, 1]"),
    ("top_p", 1.5, "(0, 1]"),
    ("top_p", -1.0, "(0, 1]"),
    ("top_k", -2, "[-1, "),
    ("min_p", -0.5, "[0, 1]"),
    ("min_p", 1.5, "[0, 1]"),
    ("typical_p", 0.0, "(0, 1]"),
    ("repetition_penalty", 0.0, "(0, 100]"),
    ("repetition_penalty", 100.5, "(0, 100]"),
    ("frequency_penalty", -2.5, "[-2, 2]"),
    ("presence_penalty", 2.5, "[-2, 2]"),
    ("min_tokens", 17, "[0, 16]"),
    ("truncate_prompt_tokens", 0, "[1, 32768]"),
    ("truncate_prompt_tokens", -2, "or -1"),
    ("truncate_prompt_tokens", 32769, "[1, 32768]"),
    ("logprobs", 21, "[0, 20]"),
    ("prompt_logprobs", 100, "[0, 20]"),
    ("priority", 1001, "[-1000, 1000]"),
    ("timeout_ms", 0, "[1, 86400000]"),
    ("timeout_ms", 86_400_001, "[1, 86400000]"),
]


@pytest.mark.parametrize(("field", "value", "limit"), OUT_OF_RANGE)
def test_numbers_out_of_range(
    tiny_grpc: GrpcApi, tiny_http: HttpApi, field: str, value: float, limit: str
) -> None:
    named = (f"`{field}`", f"{value:g}" if isinstance(value, float) else str(value), limit)
    assert_refused_alike(tiny_grpc, tiny_http, "x", {field: value}, named, field)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("field", ["temperature", "top_p"])
def test_numbers_that_are_not_finite(
    tiny_grpc: GrpcApi, tiny_http: HttpApi, field: str, value: float
) -> None:
    error = tiny_grpc.error("x", **{field: value})
    assert error.code() is Code.INVALID_ARGUMENT
    assert f"`{field}`" in error.details() and str(value) in error.details()
    # JSON has no such numbers: Python writes NaN and Infinity, which are not JSON.
    answer = tiny_http.post("/v1/completions", {"prompt": "x", field: value})
    assert_refused(answer, 400, "not valid JSON", "column")


@pytest.mark.parametrize("literal", ["1e999", "-1e999"])
def test_json_numbers_beyond_a_double(tiny_http: HttpApi, literal: str) -> None:
    body = b'{"prompt": "x", "temperature": %s}' % literal.encode()
    assert_refused(tiny_http.post("/v1/completions", body), 400, literal.lstrip("-"))


def test_ids_outside_the_vocabulary(tiny_grpc: GrpcApi, tiny_http: HttpApi) -> None:
    size = tiny_grpc.stub.GetModel(pb.GetModelRequest()).vocab_size
    for wrong in (size, 4294967295):
        named = ("`prompt[2]`", str(wrong), f"[0, {size - 1}]")
        assert_refused_alike(tiny_grpc, tiny_http, [5, 6, wrong], {}, named, "prompt")
        named = ("`stop_token_ids[0]`", str(wrong), f"[0, {size - 1}]")
        fields = {"stop_token_ids": [wrong]}
        assert_refused_alike(tiny_grpc, tiny_http, "x", fields, named, "stop_token_ids")
    for wrong in (-1, 2**62):
        answer = tiny_http.post("/v1/completions", {"prompt": [wrong]})
        assert_refused(answer, 400, "`prompt[0]`", str(wrong), f"[0, {size - 1}]", param="prompt")
        answer = tiny_http.post("/detokenize", {"tokens": [wrong]})
        assert_refused(answer, 400, "`tokens[0]`", str(wrong), param="tokens")
    error = tiny_grpc.error_of("Detokenize", pb.DetokenizeRequest(ids=[5, size]))
    assert error.code() is Code.INVALID_ARGUMENT
    assert "ids[1]" in error.details() and str(size) in error.details()


def test_lists_that_shape_the_draw(tiny_grpc: GrpcApi, tiny_http: HttpApi) -> None:
    size = tiny_grpc.stub.GetModel(pb.GetModelRequest()).vocab_size
    for field, value, *named in (
        ("allowed_token_ids", [], "at least 1"),
        ("allowed_token_ids", [5, size], f"`allowed_token_ids[1]` is {size}", f"[0, {size - 1}]"),
        ("logit_bias", {"5": 100.5}, "`logit_bias[5]` is 100.5", "[-100, 100]"),
        ("logit_bias", {str(size): 1}, f"`logit_bias` names {size}", f"[0, {size - 1}]"),
        ("bad_words", ["x"] * 257, "257", "256"),
        ("bad_words", ["ok", " "], "`bad_words[1]`", "only spaces"),
        ("logprob_token_ids", [5], "without `logprobs`"),
    ):
        assert_refused_alike(tiny_grpc, tiny_http, "x", {field: value}, tuple(named), field)


def test_empty_prompts(tiny_grpc: GrpcApi, tiny_http: HttpApi) -> None:
    for empty in ("", []):
        assert_refused_alike(tiny_grpc, tiny_http, empty, {}, ("`prompt`", "at least 1"), "prompt")
    error = tiny_grpc.error_of("Complete", pb.CompleteRequest(max_tokens=1))
    assert error.code() is Code.INVALID_ARGUMENT and "prompt" in error.details()
    assert_refused(tiny_http.post("/v1/completions", {}), 400, "`prompt`", param="prompt")


def test_over_long_prompts(tiny_grpc: GrpcApi, tiny_http: HttpApi) -> None:
    limit = tiny_grpc.stub.GetModel(pb.GetModelRequest()).max_model_len
    ids = [7] * (limit + 1)
    named = ("`prompt`", str(limit + 1), str(limit))
    assert_refused_alike(tiny_grpc, tiny_http, ids, {}, named, "prompt")
    answer = tiny_http.post("/v1/completions", {"prompt": "x" * (2 * limit)})
    assert_refused(answer, 400, "`prompt`", str(limit), param="prompt")


def test_more_tokens_than_the_model_has_room_for(tiny_grpc: GrpcApi, tiny_http: HttpApi) -> None:
    limit = tiny_grpc.stub.GetModel(pb.GetModelRequest()).max_model_len
    named = ("`max_tokens`", str(limit), "3 tokens", f"[0, {limit - 3}]")
    fields = {"max_tokens": limit}
    assert_refused_alike(tiny_grpc, tiny_http, [5, 6, 7], fields, named, "max_tokens")
    answer = tiny_http.post("/v1/completions", {"prompt": "x", "max_tokens": -1})
    assert_refused(answer, 400, "`max_tokens`", "-1", param="max_tokens")
    error = tiny_grpc.error("x", max_tokens=4294967295)
    assert error.code() is Code.INVALID_ARGUMENT and "4294967295" in error.details()


def test_stop_strings_too_many_too_long_or_empty(tiny_grpc: GrpcApi, tiny_http: HttpApi) -> None:
    for stop, named in (
        (["x"] * 10_000, ("`stop`", "10000", "64")),
        (["ok", ""], ("`stop[1]`", "0 bytes", "1 to 1024")),
        (["y" * 1025], ("`stop[0]`", "1025", "1024")),
    ):
        assert_refused_alike(tiny_grpc, tiny_http, "x", {"stop": stop}, named, "stop")
    fields = {"stop_token_ids": [1] * 1025}
    named = ("`stop_token_ids`", "1025", "1024")
    assert_refused_alike(tiny_grpc, tiny_http, "x", fields, named, "stop_token_ids")


def test_names_too_long(tiny_grpc: GrpcApi, tiny_http: HttpApi) -> None:
    for field in ("request_id", "cache_salt"):
        named = (f"`{field}`", "257", "256")
        assert_refused_alike(tiny_grpc, tiny_http, "x", {field: "i" * 257}, named, field)


def test_unknown_models_are_answered_with_the_served_ones(
    tiny_grpc: GrpcApi, tiny_http: HttpApi
) -> None:
    error = tiny_grpc.error("x", model="gpt")
    assert error.code() is Code.NOT_FOUND
    answer = tiny_http.post("/v1/completions", {"prompt": "x", "model": "gpt"})
    message = assert_refused(answer, 404, "`gpt`", "`tiny`", param="model")
    assert error.details() == message
    assert_refused(tiny_http.post("/tokenize", {"prompt": "x", "model": "gpt"}), 404, "`tiny`")
    assert_refused(tiny_http.get("/v1/models/gpt"), 404, "`tiny`")
    for method, request in (
        ("GetModel", pb.GetModelRequest(model="gpt")),
        ("Tokenize", pb.TokenizeRequest(model="gpt", text="x")),
        ("Detokenize", pb.DetokenizeRequest(model="gpt", ids=[1])),
    ):
        error = tiny_grpc.error_of(method, request)
        assert error.code() is Code.NOT_FOUND and "`tiny`" in error.details()


WRONG_TYPES = [
    ("prompt", 5),
    ("prompt", {"text": "x"}),
    ("prompt", [1, "x"]),
    ("prompt", [1.5]),
    ("max_tokens", "16"),
    ("max_tokens", 1.5),
    ("temperature", "hot"),
    ("temperature", True),
    ("seed", 0.5),
    ("seed", 2**64),
    ("stop", 7),
    ("stop", [1]),
    ("stop_token_ids", "1"),
    ("stream", "yes"),
    ("echo", 1),
    ("model", 3),
    ("logprobs", True),
    ("stream_options", []),
]


@pytest.mark.parametrize(("field", "value"), WRONG_TYPES)
def test_wrong_json_types(tiny_http: HttpApi, field: str, value: Any) -> None:
    answer = tiny_http.post("/v1/completions", {"prompt": "x", field: value})
    assert_refused(answer, 400, f"`{field}", param=field)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"prompt": "x"',
        b'{"prompt": "x",}',
        b"not json",
        b'{"prompt": "x"} trailing',
        b"\x00\x01\x02",
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_broken_json(tiny_http: HttpApi, body: bytes) -> None:
    assert_refused(tiny_http.post("/v1/completions", body), 400, "not valid JSON")


@pytest.mark.parametrize("body", [b"null", b"[]", b"5", b'"prompt"'])
def test_json_that_is_no_object(tiny_http: HttpApi, body: bytes) -> None:
    assert_refused(tiny_http.post("/v1/completions", body), 400, "must be a JSON object")


BROKEN_UTF8 = [b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf"]


@pytest.mark.parametrize("broken", BROKEN_UTF8)
def test_broken_utf8_over_http(tiny_http: HttpApi, broken: bytes) -> None:
    for path in ("/v1/completions", "/tokenize"):
        answer = tiny_http.post(path, b'{"prompt": "' + broken + b'"}')
        assert_refused(answer, 400, "UTF-8")


@pytest.mark.parametrize("broken", BROKEN_UTF8)
@pytest.mark.parametrize(
    ("method", "field", "number"),
    [("Complete", "text", 2), ("Complete", "stop", 6), ("Tokenize", "text", 2)],
)
def test_broken_utf8_over_grpc(
    tiny_grpc: GrpcApi, broken: bytes, method: str, field: str, number: int
) -> None:
    request = completion("x").SerializeToString() if field == "stop" else b""
    raw = request + bytes([number << 3 | 2, len(broken)]) + broken
    error = tiny_grpc.error_of(method, raw)
    assert error.code() is Code.INVALID_ARGUMENT, error
    assert "UTF-8" in error.details()


def test_bytes_that_are_no_message(tiny_grpc: GrpcApi) -> None:
    error = tiny_grpc.error_of("Complete", b"\x0a\xff\xff\xff\xff\x0f")
    assert error.code() is Code.INVALID_ARGUMENT
    assert "not a message" in error.details()


def test_64_mib_over_http(tiny_http: HttpApi) -> None:
    body = json.dumps({"prompt": "x" * (64 * MIB)}).encode()
    for path in ("/v1/completions", "/tokenize"):
        answer = tiny_http.post(path, body)
        assert_refused(answer, 413, str(len(body)), str(16 * MIB))


def test_64_mib_over_http_without_a_length(tiny_http: HttpApi) -> None:
    connection = tiny_http.connection()
    pieces = iter([b'{"prompt": "', *[b"x" * MIB] * 64, b'"}'])
    try:
        connection.request(
            "POST",
            "/v1/completions",
            pieces,
            encode_chunked=True,
            headers={"Transfer-Encoding": "chunked"},
        )
    except (BrokenPipeError, ConnectionResetError):
        pass  # answered before all of it was sent
    answer = connection.getresponse()
    assert answer.status == 413
    assert str(16 * MIB) in json.loads(answer.read())["error"]["message"]
    connection.close()


def test_64_mib_over_grpc(tiny_grpc: GrpcApi) -> None:
    error = tiny_grpc.error("x" * (64 * MIB))
    assert error.code() in (Code.RESOURCE_EXHAUSTED, Code.INVALID_ARGUMENT), error
    assert error.details()


def test_unknown_routes_and_methods(tiny_grpc: GrpcApi, tiny_http: HttpApi) -> None:
    assert_refused(tiny_http.get("/v1/nothing"), 404, "/v1/nothing")
    answer = tiny_http.get("/v1/completions")
    assert_refused(answer, 405, "GET", "POST")
    assert answer.headers["Allow"] == "POST"
    assert_refused(tiny_http.request("BREW", "/health"), 405, "BREW")
    error = tiny_grpc.error_of("NoSuchMethod", b"")
    assert error.code() is Code.UNIMPLEMENTED


def test_what_is_not_supported_says_so(tiny_http: HttpApi) -> None:
    for field, value in (("logits_processors", ["a"]), ("suffix", "s")):
        answer = tiny_http.post("/v1/completions", {"prompt": "x", field: value})
        assert_refused(answer, 400, f"`{field}`", "not supported", param=field)


def test_requests_that_are_no_http(tiny_http: HttpApi) -> None:
    connection = tiny_http.connection()
    connection.connect()
    connection.sock.sendall(b"this is not a protocol\r\n\r\n")
    answer = connection.sock.recv(4096)
    connection.close()
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
