"""Structured output: whatever the model draws, the answer has the form that was asked for.

AFFINE_FORMS says how many schemas and regular expressions are tried beside the slow ones.
"""

from __future__ import annotations

import json
import os
import random
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jsonschema
import pytest
import structured_output_cases as cases
from affine_client._proto import completion_pb2 as pb
from grpc_api import GrpcApi, joined
from http_api import HttpApi

FORMS = int(os.environ.get("AFFINE_FORMS", "48"))
PROMPT = "Here is an example:\n"
SAMPLED = {"temperature": 1.0, "top_k": 200, "max_tokens": 120}
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer", "minimum": 0, "maximum": 150}},
    "required": ["name", "age"],
}


def choices_of(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(choice["text"], choice["finish_reason"]) for choice in answer["choices"]]


def in_parallel(work: Any, items: Any) -> list[Any]:
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(work, items))


def check_schema(http: HttpApi, seed: int) -> bool:
    """Whether the answer came to its end; if so it must be valid."""
    schema = cases.whole_schema(random.Random(seed))
    answer = http.complete(prompt=PROMPT, structured_outputs={"json": schema}, seed=seed, **SAMPLED)
    [(text, reason)] = choices_of(answer)
    if reason != "stop":
        return False
    try:
        jsonschema.validate(json.loads(text), schema, jsonschema.Draft202012Validator)
    except (ValueError, jsonschema.ValidationError) as problem:
        raise AssertionError(f"{json.dumps(schema)}\n{text!r}") from problem
    return True


def check_regex(http: HttpApi, seed: int) -> bool:
    pattern = cases.regex(random.Random(seed))
    answer = http.complete(prompt=PROMPT, guided_regex=pattern, seed=seed, **SAMPLED | {"max_tokens": 40})
    [(text, reason)] = choices_of(answer)
    assert reason != "stop" or re.fullmatch(pattern, text), (pattern, text)
    return reason == "stop"


def test_answers_are_valid_under_their_schemas(real_http: HttpApi) -> None:
    ended = in_parallel(lambda seed: check_schema(real_http, seed), range(FORMS))
    assert sum(ended) > 0.7 * len(ended)


def test_answers_match_their_regular_expressions(real_http: HttpApi) -> None:
    ended = in_parallel(lambda seed: check_regex(real_http, seed), range(FORMS))
    assert sum(ended) > 0.7 * len(ended)


@pytest.mark.slow
def test_many_more_of_both(real_http: HttpApi) -> None:
    in_parallel(lambda seed: check_schema(real_http, seed), range(1000, 1200))
    in_parallel(lambda seed: check_regex(real_http, seed), range(1000, 1300))


def test_every_form_over_http(real_http: HttpApi) -> None:
    def answer(**fields: Any) -> str:
        answer = real_http.complete(prompt=PROMPT, max_tokens=200, seed=3, **fields)
        [(text, reason)] = choices_of(answer)
        assert reason == "stop", text
        return text

    assert answer(structured_outputs={"choice": ["yes", "no"]}) in ("yes", "no")
    assert answer(guided_choice=["größer €", 'a "b"\n']) in ("größer €", 'a "b"\n')
    assert re.fullmatch(r"\d{4}-\d{2}", answer(structured_outputs={"regex": r"\d{4}-\d{2}"}))
    grammar = 'root ::= "(" root ")" | [a-z]{2}'
    assert re.fullmatch(r"\(*[a-z]{2}\)*", answer(structured_outputs={"grammar": grammar}))
    for fields in (
        {"structured_outputs": {"json": SCHEMA}},
        {"guided_json": json.dumps(SCHEMA)},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA}}},
    ):
        value = json.loads(answer(**fields))
        jsonschema.validate(value, SCHEMA)
        assert list(value) == ["name", "age"]  # the schema's order


def test_a_json_object_is_one(real_http: HttpApi) -> None:
    def ended(seed: int) -> bool:
        answer = real_http.complete(
            prompt="A JSON object:\n", max_tokens=160, seed=seed, temperature=0.5, response_format={"type": "json_object"}
        )
        [(text, reason)] = choices_of(answer)
        return reason == "stop" and isinstance(json.loads(text), dict)

    assert any(in_parallel(ended, range(6)))


def test_a_stream_is_the_unary_answer_and_grpc_is_http(real_grpc: GrpcApi, real_http: HttpApi) -> None:
    for seed in range(4):
        fields = {"max_tokens": 80, "temperature": 0.9, "seed": seed, "logprobs": 2}
        form = {"structured_output": pb.StructuredOutput(json_schema=json.dumps(SCHEMA))}
        unary = real_grpc.complete(PROMPT, **fields, **form)
        streamed = joined(list(real_grpc.stream(PROMPT, **fields, **form)))
        assert list(streamed.token_ids) == list(unary.token_ids)
        assert (streamed.text, list(streamed.logprobs)) == (unary.text, list(unary.logprobs))
        assert streamed.finish_reason == unary.finish_reason
        over_http = real_http.complete(prompt=PROMPT, **fields, structured_outputs={"json": SCHEMA})
        assert over_http["choices"][0]["text"] == unary.text
        events = list(real_http.stream(prompt=PROMPT, **fields, structured_outputs={"json": SCHEMA}))
        assert "".join(event["choices"][0]["text"] for event in events if event["choices"]) == unary.text


def test_company_and_several_answers_change_nothing(real_grpc: GrpcApi) -> None:
    form = {"structured_output": pb.StructuredOutput(json_schema=json.dumps(SCHEMA))}
    fields = {"max_tokens": 60, "temperature": 1.0, **form}
    alone = [list(real_grpc.complete(PROMPT, seed=seed, **fields).token_ids) for seed in range(6)]

    def beside(index: int) -> list[int]:
        if index % 2:
            real_grpc.complete("Once upon a time " * index, max_tokens=40, ignore_eos=True)
            return []
        return list(real_grpc.complete(PROMPT, seed=index // 2, **fields).token_ids)

    assert [ids for ids in in_parallel(beside, range(12)) if ids] == alone
    both = real_grpc.complete(PROMPT, seed=5, n=3, **fields)
    assert list(both.token_ids) == alone[5]
    for other in both.other_answers:
        if other.finish_reason == pb.FINISH_REASON_STOP:
            jsonschema.validate(json.loads(other.text), SCHEMA)


def test_the_end_comes_where_the_form_ends(real_grpc: GrpcApi) -> None:
    def complete(form: pb.StructuredOutput, **fields: Any) -> pb.CompleteResponse:
        return real_grpc.complete(PROMPT, structured_output=form, **{"max_tokens": 30, "seed": 1, **fields})

    choice = pb.StructuredOutput(choice=pb.StructuredOutput.Choices(choices=["yes", "no"]))
    for fields in ({}, {"ignore_eos": True}, {"min_tokens": 20}):
        answer = complete(choice, **fields)
        assert answer.text in ("yes", "no") and answer.finish_reason == pb.FINISH_REASON_STOP
        assert answer.usage.output_tokens == len(answer.token_ids) < 20
    letters = pb.StructuredOutput(regex="[a-z]*")
    assert complete(letters, ignore_eos=True).usage.output_tokens == 30
    assert complete(letters, min_tokens=10).usage.output_tokens >= 10
    stopped = complete(pb.StructuredOutput(regex="ab{30}c"), stop=["abb"], temperature=0)
    assert (stopped.text, stopped.finish_reason) == ("", pb.FINISH_REASON_STOP)


def test_logprobs_are_the_models_own(real_grpc: GrpcApi) -> None:
    answer = real_grpc.complete(
        PROMPT, structured_output=pb.StructuredOutput(regex="zqx{8}"), logprobs=3, max_tokens=20
    )
    assert answer.text == "zq" + "x" * 8
    assert max(token.rank for token in answer.logprobs) > 100


def test_hostile_forms_are_dealt_with_within_a_second_and_delay_no_stream(real_http: HttpApi) -> None:
    events = real_http.stream(prompt="Once upon a time", max_tokens=4000, ignore_eos=True)
    stream = iter(events)
    gaps: list[float] = []
    next(stream)

    def dealt_with(body: dict[str, Any]) -> float:
        begin = time.monotonic()
        answer = real_http.post("/v1/completions", {"prompt": "x", "max_tokens": 1, **body})
        assert answer.status in (200, 400), answer.text
        if answer.status == 400:
            assert answer.error["param"] in body, answer.text
        return time.monotonic() - begin

    with ThreadPoolExecutor(1) as pool:
        futures = {name: pool.submit(dealt_with, body) for name, body in cases.hostile().items()}
        last = time.monotonic()
        while not all(future.done() for future in futures.values()):
            next(stream)
            now = time.monotonic()
            gaps.append(now - last)
            last = now
    events.close()
    took = {name: future.result() for name, future in futures.items()}
    assert not {name: seconds for name, seconds in took.items() if seconds > 1.5}, took
    assert max(gaps) < 0.7, max(gaps)


def test_hostile_forms_end_their_own_request_alone(real_http: HttpApi) -> None:
    body = {"prompt": "word " * 20, "guided_regex": r"(\w+\s?){1,200}", "max_tokens": 60, "temperature": 1.0}
    others = {"prompt": PROMPT, "structured_outputs": {"json": SCHEMA}, "max_tokens": 40, "seed": 4}
    alone = real_http.complete(**others)["choices"][0]["text"]

    def both(index: int) -> str:
        if index % 2:
            answer = real_http.post("/v1/completions", {**body, "seed": index})
            assert answer.status in (200, 400), answer.text
            return ""
        return real_http.complete(**others)["choices"][0]["text"]

    assert {text for text in in_parallel(both, range(8)) if text} == {alone}


def test_what_is_wrong_is_said_the_same_over_grpc_and_http(real_grpc: GrpcApi, real_http: HttpApi) -> None:
    for name, given, part in (
        ("regex", "(a", "is not a regular expression"),
        ("regex", "a(?=b)", "Lookahead"),
        ("grammar", 'start ::= "a"', "root"),
        ("json_schema", '{"type": "string", "not": {}}', "`not`"),
        ("json_schema", '{"type": "strin"}', "strin"),
        ("regex", "a" * 70_000, "70000 bytes; it must have at most 65536"),
    ):
        error = real_grpc.error(PROMPT, structured_output=pb.StructuredOutput(**{name: given}))
        assert error.code().name == "INVALID_ARGUMENT" and part in error.details()
        key = {"json_schema": "json"}.get(name, name)
        answer = real_http.post("/v1/completions", {"prompt": PROMPT, "structured_outputs": {key: given}})
        assert answer.status == 400
        field = f"structured_outputs.{key}"
        assert answer.error["message"] == error.details().replace(f"structured_output.{name}", field)
        assert answer.error["param"] == field
    answer = real_http.post(
        "/v1/completions", {"prompt": PROMPT, "guided_regex": "a", "allowed_token_ids": [3]}
    )
    assert answer.status == 400 and answer.error["param"] == "allowed_token_ids"
