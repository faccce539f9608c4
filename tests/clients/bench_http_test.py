"""How the load test speaks HTTP: answers cut anywhere, connections kept, tokens counted."""

from __future__ import annotations

import asyncio
import json

import pytest
from affine_client.bench.callers import HttpCaller, note_event
from affine_client.bench.http_answer import HttpAnswer
from affine_client.bench.plan import Ask
from affine_client.bench.record import Record
from fake_http import FakeHttp

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"8\r\ndata: 1\n\r\n4;x=y\r\n\ndat\r\n6\r\na: 23\n\r\n0\r\nTrailer: x\r\n\r\n"
)
SIZED = b'HTTP/1.1 404 Not Found\r\nContent-Length: 8\r\nConnection: close\r\n\r\n{\n "a":1'
UNSIZED = b"HTTP/1.0 200 OK\r\n\r\ndata: 1\r\n\r\ndata: 2"


def read(data: bytes, cut: int) -> tuple[HttpAnswer, list[bytes]]:
    answer = HttpAnswer()
    lines = [
        line
        for place in range(0, len(data), cut)
        for line in answer.feed(data[place : place + cut])
    ]
    return answer, lines


@pytest.mark.parametrize("cut", [1, 2, 3, 7, 1000])
def test_an_answer_reads_the_same_wherever_it_is_cut(cut: int) -> None:
    answer, lines = read(CHUNKED, cut)
    assert (answer.status, answer.whole, answer.reusable) == (200, True, True)
    assert lines == [b"data: 1", b"", b"data: 23"]
    answer, lines = read(SIZED, cut)
    assert (answer.status, answer.whole, answer.reusable) == (404, True, False)
    assert lines == [b"{", b' "a":1']
    answer, lines = read(UNSIZED, cut)
    assert not answer.whole
    assert [*lines, *answer.end()] == [b"data: 1", b"", b"data: 2"]
    assert answer.whole and not answer.reusable


def test_what_is_no_http_is_refused() -> None:
    for data in (b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1\r\n\r\n", b"x" * 70000):
        with pytest.raises(ValueError):
            HttpAnswer().feed(data)


def ask(http: FakeHttp, count: int = 1, **more: object) -> list[Record]:
    records = [Record(0.0) for _ in range(count)]

    async def work() -> None:
        caller = HttpCaller(http.address, "m", "key", chat=bool(more.pop("chat", False)))
        for record in records:
            await caller(Ask([1, 2], 3, **more), record)  # type: ignore[arg-type]
        await caller.close()

    asyncio.run(work())
    return records


def test_a_connection_is_kept_for_the_next_request() -> None:
    http = FakeHttp(chunked=True)
    try:
        records = ask(http, 3)
    finally:
        http.stop()
    assert [record.error for record in records] == [None] * 3
    assert (len(http.bodies), http.connections) == (3, 1)
    assert http.headers[0]["Authorization"] == "Bearer key"
    assert [sum(record.counts) for record in records] == [3] * 3


def test_a_kept_connection_that_the_server_closed_is_replaced() -> None:
    http = FakeHttp(chunked=True)
    http.closes = True
    try:
        records = ask(http, 3)
    finally:
        http.stop()
    assert [(record.error, sum(record.counts)) for record in records] == [(None, 3)] * 3
    assert (len(http.bodies), http.connections) == (3, 3)


def test_a_hang_up_closes_the_connection_and_is_no_failure() -> None:
    http = FakeHttp(tokens=50, chunked=True)
    try:
        first, second = ask(http, 2, cancel_after=2)
    finally:
        http.stop()
    assert (first.cancelled, first.error, sum(first.counts)) == (True, None, 2)
    assert second.cancelled and http.connections == 2


def test_chat_sends_messages_to_its_own_endpoint(http: FakeHttp) -> None:
    (record,) = ask(http, messages=(("user", "hello"),), chat=True)
    assert record.error is None and record.texts[:1] == ["x"]
    assert http.paths == ["/v1/chat/completions"]
    assert http.bodies[0]["messages"] == [{"role": "user", "content": "hello"}]
    assert "prompt" not in http.bodies[0]


def test_a_refusal_an_error_event_and_a_broken_stream_are_failures(http: FakeHttp) -> None:
    refusing = FakeHttp(status=503)
    try:
        assert (ask(refusing)[0].error or "").startswith('503 {"error"')
    finally:
        refusing.stop()
    record = Record(0.0)
    note_event({"error": {"message": "no"}}, 0.1, record)
    assert json.loads(record.error or "") == {"message": "no"}
    http.stop()
    assert "ConnectionRefusedError" in (ask(http)[0].error or "")


def test_events_count_tokens_as_their_server_tells_them() -> None:
    ours, theirs, others, chat = Record(0.0), Record(0.0), Record(0.0), Record(0.0)
    for ids in ([7, 8], [], [9]):
        note_event({"choices": [{"text": "", "token_ids": ids}]}, 0.1, ours)
    for predicted in (1, 3, 3):
        event = {"choices": [{"text": "x"}], "timings": {"predicted_n": predicted}}
        note_event(event, 0.1, theirs)
    for text in ("a", "bc", ""):
        note_event({"choices": [{"text": text, "finish_reason": None}]}, 0.1, others)
        note_event({"choices": [{"delta": {"content": text}}]}, 0.1, chat)
    note_event({"choices": [{"delta": {"role": "assistant"}}]}, 0.1, chat)
    assert [one.counts for one in (ours, theirs, others, chat)] == [[2, 1], [1, 2], [1, 1], [1, 1]]
    assert (ours.token_ids, "".join(chat.texts)) == ([7, 8, 9], "abc")
