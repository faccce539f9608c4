"""affine_client.Client against a fake service on a real port."""

from __future__ import annotations

import threading

import pytest
from affine_client import (
    Client,
    Completion,
    DeadlineExceeded,
    InvalidArgument,
    Unavailable,
    Usage,
    join,
)
from fake_service import READY_SERVICE, FakeServer, FakeService
from grpc_health.v1 import health_pb2


def test_complete_returns_the_whole_answer(client: Client) -> None:
    answer = client.complete("one two", max_tokens=2, model="fake", request_id="mine")
    assert answer == Completion(
        text=" red green",
        token_ids=(0, 1),
        finish_reason="length",
        usage=Usage(prompt_tokens=2, cached_tokens=1, output_tokens=2),
        model="fake",
        request_id="mine",
        prompt_token_ids=(0, 1),
    )


def test_the_pieces_of_a_stream_join_to_the_unary_answer(client: Client) -> None:
    params = {"max_tokens": 5, "logprobs": 2, "echo": True}
    chunks = list(client.stream("one two", **params))
    assert [chunk.finish_reason for chunk in chunks] == [None] * 4 + ["length"]
    assert join(chunks) == client.complete("one two", **params)


def test_joining_refuses_a_stream_without_its_end(client: Client) -> None:
    chunks = list(client.stream("one", max_tokens=3))
    with pytest.raises(Exception, match="without its last piece"):
        join(chunks[:-1])


def test_token_ids_go_as_they_are(client: Client, service: FakeService) -> None:
    client.complete([5, 6, 7])
    assert list(service.requests[0].token_ids.ids) == [5, 6, 7]


def test_an_empty_id_list_is_told_from_an_empty_text(client: Client, service: FakeService) -> None:
    client.complete([])
    client.complete("")
    assert [request.WhichOneof("prompt") for request in service.requests] == ["token_ids", "text"]


def test_zero_is_told_from_unset(client: Client, service: FakeService) -> None:
    client.complete("x", max_tokens=0, temperature=0, seed=0, logprobs=0)
    client.complete("x", max_tokens=None)
    zero, unset = service.requests
    assert zero.HasField("max_tokens") and zero.HasField("logprobs")
    assert zero.sampling.HasField("temperature") and zero.sampling.HasField("seed")
    assert not unset.HasField("max_tokens") and not unset.HasField("sampling")


def test_one_stop_string_is_not_taken_for_its_letters(client: Client, service: FakeService) -> None:
    client.complete("x", stop="END")
    client.complete("x", stop=["a", "b"])
    assert [list(request.stop) for request in service.requests] == [["END"], ["a", "b"]]


def test_every_parameter_of_sampling_is_carried(client: Client, service: FakeService) -> None:
    numbers = {
        "min_p": 0.25,
        "typical_p": 0.5,
        "repetition_penalty": 1.5,
        "frequency_penalty": -0.5,
        "presence_penalty": 0.0,
        "min_tokens": 3,
    }
    client.complete(
        "x",
        logit_bias={5: -100, 7: 0.5},
        allowed_token_ids=[5, 7],
        bad_words="bad",
        include_stop_str_in_output=True,
        logprob_token_ids=[9, 5],
        truncate_prompt_tokens=-1,
        structured_output={"choice": {"choices": ["a", "b"]}},
        **numbers,
    )
    (request,) = service.requests
    sampling = request.sampling
    assert {name: getattr(sampling, name) for name in numbers} == numbers
    assert all(sampling.HasField(name) for name in numbers)
    assert dict(sampling.logit_bias) == {5: -100, 7: 0.5}
    assert list(sampling.allowed_token_ids.ids) == [5, 7]
    assert list(sampling.bad_words) == ["bad"]
    assert request.include_stop_str_in_output
    assert list(request.logprob_token_ids) == [9, 5]
    assert request.truncate_prompt_tokens == -1
    assert list(request.structured_output.choice.choices) == ["a", "b"]


def test_no_allowed_ids_are_told_from_all(client: Client, service: FakeService) -> None:
    client.complete("x", allowed_token_ids=[])
    client.complete("x", allowed_token_ids=None)
    none, all_of_them = service.requests
    assert none.sampling.HasField("allowed_token_ids")
    assert not all_of_them.HasField("sampling")


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"seed": -1}, "seed is -1"),
        ({"max_tokens": -5}, "max_tokens is -5"),
        ({"max_tokens": "many"}, "max_tokens is 'many'"),
        ({"stop": ["ok", 3]}, r"stop\[1\] is 3"),
        ({"stop_token_ids": [1 << 40]}, r"stop_token_ids\[0\] is 1099511627776"),
        ({"allowed_token_ids": [3, -1]}, r"allowed_token_ids\[1\] is -1"),
        ({"logit_bias": {5: 1.0, -1: 2.0}}, r"logit_bias\[-1\] is 2.0"),
        ({"logit_bias": {5: "much"}}, r"logit_bias\[5\] is 'much'"),
        ({"min_tokens": -5}, "min_tokens is -5"),
    ],
)
def test_what_the_wire_cannot_carry_is_named(client: Client, params: dict, named: str) -> None:
    with pytest.raises(InvalidArgument, match=named):
        client.complete("x", **params)


def test_a_prompt_that_is_no_unicode_is_refused(client: Client) -> None:
    with pytest.raises(InvalidArgument, match="prompt is"):
        client.complete("half \ud800 a pair")


def test_a_misspelt_parameter_is_an_error(client: Client) -> None:
    with pytest.raises(TypeError, match="max_token"):
        client.complete("x", max_token=3)


def test_tokens_and_text(client: Client, service: FakeService) -> None:
    tokens = client.tokenize("a bc", add_special_tokens=False)
    assert (tokens.ids, tokens.pieces, tokens.max_model_len) == ((0, 1), ("a", "bc"), 2048)
    assert service.requests[0].HasField("add_special_tokens")
    assert client.detokenize([0, 1]) == " red green"
    assert not service.requests[1].HasField("skip_special_tokens")


def test_models(client: Client) -> None:
    (model,) = client.models()
    assert model == client.model("fake")
    assert model.attention.fixed_normalizer is None
    assert model.bos_token_id is None
    assert model.eos_token_ids == (2,)


def test_health(client: Client) -> None:
    assert client.health() == "SERVING"
    assert client.health("") == "SERVING"


def test_the_api_key_is_sent_as_a_bearer_token(server: FakeServer) -> None:
    with Client(server.address, api_key="secret") as client:
        client.complete("x")
    assert server.service.metadata[0]["authorization"] == "Bearer secret"


def test_closing_a_stream_cancels_the_request(client: Client, service: FakeService) -> None:
    service.hold_after_first_chunk = True
    stream = client.stream("x", max_tokens=5)
    assert next(stream).text == " red"
    assert not service.cancelled.is_set()
    stream.close()
    assert service.cancelled.wait(timeout=10)


def test_leaving_a_loop_cancels_the_request(client: Client, service: FakeService) -> None:
    service.hold_after_first_chunk = True
    for _ in client.stream("x", max_tokens=5):
        break
    assert service.cancelled.wait(timeout=10)


def test_many_threads_share_one_client(client: Client) -> None:
    answers: dict[int, str] = {}

    def ask(number: int) -> None:
        answers[number] = join(client.stream("x", max_tokens=number)).text

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(1, 13)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {n: client.complete("x", max_tokens=n).text for n in range(1, 13)}


def test_nothing_at_the_address_is_unavailable(closed_address: str) -> None:
    with Client(closed_address) as client, pytest.raises(Unavailable):
        client._sleep = lambda _: None
        client.complete("x")


def test_the_address_comes_from_the_environment(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFFINE_ADDRESS", f"http://{server.address}")
    with Client() as client:
        assert client.health() == "SERVING"


@pytest.mark.parametrize("address", ["localhost", "host:port", "ftp://h:1", "h:99999", ":80"])
def test_an_address_without_a_port_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="address"):
        Client(address)


def test_wait_ready_returns_when_completions_are_served(client: Client, server: FakeServer) -> None:
    client.wait_ready(timeout=10)
    server.health.set(READY_SERVICE, health_pb2.HealthCheckResponse.NOT_SERVING)
    with pytest.raises(DeadlineExceeded):
        client.wait_ready(timeout=0.2)
    waiting = threading.Thread(target=client.wait_ready)
    waiting.start()
    server.health.set(READY_SERVICE, health_pb2.HealthCheckResponse.SERVING)
    waiting.join(timeout=10)
    assert not waiting.is_alive()


def test_wait_ready_waits_for_a_server_that_does_not_listen(closed_address: str) -> None:
    with Client(closed_address) as client, pytest.raises(DeadlineExceeded):
        client.wait_ready(timeout=0.3)
