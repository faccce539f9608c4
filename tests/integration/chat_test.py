"""Conversations: the openai package, HTTP and gRPC, against the checkpoint's own chat template."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import openai
import pytest
from affine_client._proto import completion_pb2 as pb
from grpc_api import GrpcApi, joined
from http_api import HttpApi
from server_process import ServerProcess
from servers import Servers

MESSAGES: list[Any] = [
    {"role": "system", "content": "You answer briefly."},
    {"role": "user", "content": "What is the capital of France?"},
]
# What the checkpoint's template makes of it.
PROMPT = (
    "<|im_start|>system\nYou answer briefly.<|im_end|>\n"
    "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
)
TOKENS = 24


@pytest.fixture(scope="module")
def client(real_server: ServerProcess) -> Iterator[openai.OpenAI]:
    base_url = f"http://{real_server.address}/v1"
    with openai.OpenAI(base_url=base_url, api_key="none asked for", max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def prompt_ids(real_http: HttpApi) -> list[int]:
    body = {"prompt": PROMPT, "add_special_tokens": False}
    return real_http.post("/tokenize", body).json["tokens"]


@pytest.fixture(scope="module")
def greedy(real_http: HttpApi, prompt_ids: list[int]) -> str:
    """The completion of the rendered ids, which the chat's answers are held against."""
    answer = real_http.complete(prompt=prompt_ids, max_tokens=TOKENS, temperature=0)
    assert "Paris" in answer["choices"][0]["text"]
    return answer["choices"][0]["text"]


def chat(http: HttpApi, **fields: Any) -> dict[str, Any]:
    answer = http.post("/v1/chat/completions", {"messages": MESSAGES, "temperature": 0, **fields})
    assert answer.status == 200, answer.text
    return answer.json


def test_the_openai_package_gets_the_answer_to_the_rendered_prompt(
    client: openai.OpenAI, greedy: str, prompt_ids: list[int]
) -> None:
    answer = client.chat.completions.create(
        model="real", messages=MESSAGES, max_completion_tokens=TOKENS, temperature=0
    )
    assert answer.choices[0].message.role == "assistant"
    assert answer.choices[0].message.content == greedy
    assert answer.object == "chat.completion" and answer.id.startswith("chatcmpl-")
    assert answer.usage is not None and answer.usage.prompt_tokens == len(prompt_ids)


def test_a_stream_joins_to_the_whole_answer(client: openai.OpenAI, greedy: str) -> None:
    stream = client.chat.completions.create(
        model="real",
        messages=MESSAGES,
        max_tokens=TOKENS,
        temperature=0,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    assert chunks[0].choices[0].delta.role == "assistant"
    pieces = [chunk.choices[0] for chunk in chunks[:-1]]
    assert all(piece.delta.role is None for piece in pieces[1:])
    assert "".join(piece.delta.content or "" for piece in pieces) == greedy
    assert [piece.finish_reason for piece in pieces[:-1]] == [None] * (len(pieces) - 1)
    assert pieces[-1].finish_reason in ("stop", "length")
    assert chunks[-1].choices == [] and chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens > 1


def test_log_probabilities_are_those_of_a_completion(
    client: openai.OpenAI, real_http: HttpApi, prompt_ids: list[int]
) -> None:
    answer = client.chat.completions.create(
        model="real", messages=MESSAGES, max_tokens=4, temperature=0, logprobs=True, top_logprobs=2
    )
    plain = real_http.complete(prompt=prompt_ids, max_tokens=4, temperature=0, logprobs=2)
    expected = plain["choices"][0]["logprobs"]
    assert answer.choices[0].logprobs is not None
    content = answer.choices[0].logprobs.content or []
    assert [token.token for token in content] == expected["tokens"]
    assert [token.logprob for token in content] == expected["token_logprobs"]
    assert [bytes(token.bytes or []).decode() for token in content] == expected["tokens"]
    assert all(token.top_logprobs[0].logprob == token.logprob for token in content)
    assert all(len(token.top_logprobs) == 2 for token in content)


def test_an_answer_ends_by_itself_without_max_tokens(real_http: HttpApi) -> None:
    answer = chat(real_http, messages=[{"role": "user", "content": "Say hello."}])
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"]["completion_tokens"] > 1


def test_the_last_message_can_be_continued(real_http: HttpApi) -> None:
    begun = [*MESSAGES, {"role": "assistant", "content": "The capital of France is"}]
    fields = {"max_tokens": 3, "messages": begun, "continue_final_message": True}
    answer = chat(real_http, **fields, return_token_ids=True)
    choice = answer["choices"][0]
    rendered = PROMPT + "The capital of France is"
    body = {"prompt": rendered, "add_special_tokens": False}
    assert choice["prompt_token_ids"] == real_http.post("/tokenize", body).json["tokens"]
    assert "Paris" in choice["message"]["content"]


def test_content_in_parts_is_joined(real_http: HttpApi, greedy: str) -> None:
    parts = [MESSAGES[0], {"role": "user", "content": [{"type": "text", "text": MESSAGES[1]["content"]}]}]
    answer = chat(real_http, messages=parts, max_tokens=TOKENS)
    assert answer["choices"][0]["message"]["content"] == greedy


def test_grpc_takes_a_conversation(real_grpc: GrpcApi, greedy: str, prompt_ids: list[int]) -> None:
    messages = [pb.ChatMessage(**message) for message in MESSAGES]
    request = pb.CompleteRequest(
        chat=pb.Chat(messages=messages),
        max_tokens=TOKENS,
        sampling=pb.SamplingParams(temperature=0),
    )
    whole = real_grpc.stub.Complete(request, timeout=60)
    assert whole.text == greedy
    assert list(whole.prompt_token_ids) == prompt_ids
    assert joined(list(real_grpc.stub.StreamComplete(request, timeout=60))).text == greedy


def test_an_answer_keeps_to_its_response_format(client: openai.OpenAI) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"enum": ["Paris", "Rome"]}, "sure": {"type": "boolean"}},
        "required": ["city", "sure"],
    }
    answer = client.chat.completions.create(
        model="real",
        messages=MESSAGES,
        temperature=0,
        max_tokens=64,
        response_format={"type": "json_schema", "json_schema": {"name": "fact", "schema": schema}},
    )
    assert answer.choices[0].finish_reason == "stop"
    said = json.loads(answer.choices[0].message.content or "")
    assert set(said) == {"city", "sure"} and said["city"] in ("Paris", "Rome")


@pytest.mark.parametrize(
    "fields, param, named",
    [
        ({"messages": []}, "messages", "from 1 to"),
        ({"messages": "hi"}, "messages", "array of messages"),
        ({"messages": [{"role": "", "content": "x"}]}, "messages", "`messages[0].role`"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
            "messages",
            "image_url",
        ),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools", "not supported"),
        ({"top_logprobs": 3}, "top_logprobs", '"logprobs": true'),
        ({"logprobs": True, "top_logprobs": 21}, "logprobs", "20"),
        ({"chat_template_kwargs": {"messages": []}}, "chat_template_kwargs", "messages"),
        (
            {"continue_final_message": True, "add_generation_prompt": True},
            "continue_final_message",
            "both true",
        ),
        ({"messages": [{"role": "user", "content": "a " * 20000}]}, "messages", "model's limit"),
        ({"max_tokens": 100000}, "max_tokens", "leaves max_tokens in"),
    ],
)
def test_bad_input_is_named(real_http: HttpApi, fields: dict, param: str, named: str) -> None:
    answer = real_http.post("/v1/chat/completions", {"messages": MESSAGES, **fields})
    assert answer.status == 400
    assert answer.error["param"] == param
    assert named in answer.error["message"]


def test_a_model_without_a_template_says_so_over_both(
    tiny_http: HttpApi, tiny_grpc: GrpcApi
) -> None:
    answer = tiny_http.post("/v1/chat/completions", {"messages": MESSAGES})
    assert answer.status == 400 and "--chat_template=FILE" in answer.error["message"]
    request = pb.CompleteRequest(chat=pb.Chat(messages=[pb.ChatMessage(role="user", content="x")]))
    error = tiny_grpc.error_of("Complete", request)
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert error.details() == answer.error["message"]


def test_a_template_of_ones_own(servers: Servers, tiny_model: Path, tmp_path: Path) -> None:
    template = tmp_path / "own.jinja"
    template.write_text("{% for m in messages %}{{ m.content }}{% if shout %}!{% endif %}{% endfor %}")
    server = servers.start(
        tiny_model, "--served_model_name=tiny", "--kv_cache_gib=0.25", f"--chat_template={template}"
    )
    http = HttpApi(server.address)
    fields = {"messages": [{"role": "user", "content": "ab"}], "max_tokens": 1}
    body = {**fields, "return_token_ids": True, "chat_template_kwargs": {"shout": True}}
    choice = http.post("/v1/chat/completions", body).json["choices"][0]
    expected = http.post("/tokenize", {"prompt": "ab!", "add_special_tokens": False}).json["tokens"]
    assert choice["prompt_token_ids"] == expected
