"""One port, three ways in: gRPC, HTTP and the openai package give one and the same answer."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest
from affine_client._proto import completion_pb2 as pb
from grpc_api import GrpcApi, joined
from http_api import HttpApi
from server_process import ServerProcess

PROMPT = "The capital of France is"
TOKENS = 24


@pytest.fixture(scope="module")
def client(real_server: ServerProcess) -> Iterator[openai.OpenAI]:
    base_url = f"http://{real_server.address}/v1"
    with openai.OpenAI(base_url=base_url, api_key="none asked for", max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def greedy(real_grpc: GrpcApi) -> pb.CompleteResponse:
    """The unary answer over gRPC, which all the others are held against."""
    answer = real_grpc.complete(PROMPT, max_tokens=TOKENS, temperature=0, logprobs=3)
    assert "Paris" in answer.text
    assert answer.usage.output_tokens == len(answer.token_ids) == len(answer.logprobs)
    return answer


def test_a_grpc_stream_joins_to_the_unary_answer(
    real_grpc: GrpcApi, greedy: pb.CompleteResponse
) -> None:
    chunks = list(real_grpc.stream(PROMPT, max_tokens=TOKENS, temperature=0, logprobs=3))
    assert len(chunks) > 2  # pieces as they are made, not one at the end
    assert chunks[0].model == "real" and not chunks[1].model
    answer = joined(chunks)
    assert answer.text == greedy.text
    assert list(answer.token_ids) == list(greedy.token_ids)
    assert list(answer.logprobs) == list(greedy.logprobs)
    assert answer.finish_reason == greedy.finish_reason
    assert list(answer.prompt_token_ids) == list(greedy.prompt_token_ids)
    assert answer.usage.prompt_tokens == greedy.usage.prompt_tokens == len(greedy.prompt_token_ids)


def test_http_gives_the_same_answer(real_http: HttpApi, greedy: pb.CompleteResponse) -> None:
    answer = real_http.complete(
        model="real",
        prompt=PROMPT,
        max_tokens=TOKENS,
        temperature=0,
        logprobs=3,
        return_token_ids=True,
    )
    (choice,) = answer["choices"]
    assert choice["text"] == greedy.text
    assert choice["token_ids"] == list(greedy.token_ids)
    assert choice["prompt_token_ids"] == list(greedy.prompt_token_ids)
    assert choice["logprobs"]["token_logprobs"] == [token.logprob for token in greedy.logprobs]
    assert choice["finish_reason"] == pb.FinishReason.Name(greedy.finish_reason)[14:].lower()
    assert answer["object"] == "text_completion"
    assert answer["usage"]["prompt_tokens"] == greedy.usage.prompt_tokens
    assert answer["usage"]["completion_tokens"] == greedy.usage.output_tokens


def test_an_http_stream_gives_the_same_answer(
    real_http: HttpApi, greedy: pb.CompleteResponse
) -> None:
    events = list(
        real_http.stream(
            prompt=PROMPT,
            max_tokens=TOKENS,
            temperature=0,
            return_token_ids=True,
            stream_options={"include_usage": True},
        )
    )
    *pieces, usage = events
    choices = [event["choices"][0] for event in pieces]
    assert len(choices) > 2
    assert "".join(choice["text"] for choice in choices) == greedy.text
    assert [id for choice in choices for id in choice["token_ids"]] == list(greedy.token_ids)
    assert [choice["finish_reason"] for choice in choices[:-1]] == [None] * (len(choices) - 1)
    assert choices[-1]["finish_reason"] in ("stop", "length")
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == greedy.usage.output_tokens
    assert len({event["id"] for event in events}) == 1


def test_the_openai_package_gives_the_same_answer(
    client: openai.OpenAI, greedy: pb.CompleteResponse
) -> None:
    assert [model.id for model in client.models.list()] == ["real"]
    answer = client.completions.create(
        model="real", prompt=PROMPT, max_tokens=TOKENS, temperature=0, logprobs=3
    )
    assert answer.choices[0].text == greedy.text
    assert answer.choices[0].logprobs.token_logprobs == [t.logprob for t in greedy.logprobs]
    assert answer.usage.completion_tokens == greedy.usage.output_tokens


def test_the_openai_package_streams_the_same_answer(
    client: openai.OpenAI, greedy: pb.CompleteResponse
) -> None:
    events = list(
        client.completions.create(
            model="real",
            prompt=PROMPT,
            max_tokens=TOKENS,
            temperature=0,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    assert "".join(event.choices[0].text for event in events if event.choices) == greedy.text
    assert events[-1].usage.prompt_tokens == greedy.usage.prompt_tokens


def test_the_openai_package_raises_its_own_errors(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.completions.create(model="real", prompt=PROMPT, temperature=-1)
    assert caught.value.param == "temperature"
    with pytest.raises(openai.NotFoundError) as missing:
        client.completions.create(model="no-such-model", prompt=PROMPT)
    assert missing.value.code == "model_not_found"


def test_token_ids_give_the_answer_of_their_text(
    real_grpc: GrpcApi, real_http: HttpApi, greedy: pb.CompleteResponse
) -> None:
    ids = list(greedy.prompt_token_ids)
    assert real_grpc.complete(ids, max_tokens=TOKENS, temperature=0).text == greedy.text
    answer = real_http.complete(prompt=ids, max_tokens=TOKENS, temperature=0)
    assert answer["choices"][0]["text"] == greedy.text


TEXTS = [
    "Hello, world",
    " naïve café — ça va?",
    "日本語のテキスト",
    "👩‍👩‍👧 emoji\n\ttabs  ",
    "x = {1: 'a'}",
]


@pytest.mark.parametrize("text", TEXTS)
def test_text_survives_tokenize_and_detokenize_on_both_ways(
    real_grpc: GrpcApi, real_http: HttpApi, text: str
) -> None:
    over_grpc = real_grpc.stub.Tokenize(pb.TokenizeRequest(text=text))
    over_http = real_http.post("/tokenize", {"prompt": text}).json
    assert list(over_grpc.ids) == over_http["tokens"]
    assert (len(over_grpc.tokens), over_http["count"]) == (len(over_grpc.ids),) * 2
    assert over_grpc.max_model_len == over_http["max_model_len"]
    assert real_grpc.stub.Detokenize(pb.DetokenizeRequest(ids=over_grpc.ids)).text == text
    assert real_http.post("/detokenize", {"tokens": over_http["tokens"]}).json["prompt"] == text
