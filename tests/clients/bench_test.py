"""The load test: what it sends, how it counts, what it prints."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import grpc
import pytest
from affine_client.bench.callers import note_event
from affine_client.bench.closed_loop import run_closed_loop
from affine_client.bench.record import Record
from affine_client.bench.report import Report, percentile
from affine_client.bench.workload import Workload
from command_line import CommandLine
from fake_http import FakeHttp
from fake_service import Failure, FakeService

WORKLOAD = Workload("m", vocab_size=1000, requests=6, prompt_tokens=8, output_tokens=4, seed=3)


def test_prompts_depend_on_the_seed_alone() -> None:
    prompts = WORKLOAD.prompts()
    assert prompts == WORKLOAD.prompts()
    assert [len(prompt) for prompt in prompts] == [8] * 6
    assert all(100 <= id < 1000 for prompt in prompts for id in prompt)
    assert WORKLOAD.warm_up_prompt() not in prompts


def test_the_loop_keeps_exactly_the_wanted_number_in_flight() -> None:
    together = threading.Barrier(3)  # breaks unless three are in flight at once
    lock, in_flight, most = threading.Lock(), [0], [0]

    def caller(prompt: list[int], output_tokens: int, record: Record) -> None:
        with lock:
            in_flight[0] += 1
            most[0] = max(most[0], in_flight[0])
        together.wait(timeout=10)
        record.note(0.5, 1)
        with lock:
            in_flight[0] -= 1

    seen: list[int] = []
    records, duration = run_closed_loop(WORKLOAD, 3, caller, lambda done, _: seen.append(done))
    assert (most[0], seen[-1], duration > 0) == (3, 6, True)
    assert all(record.success for record in records)


def test_an_answer_without_tokens_counts_as_failed() -> None:
    records, _ = run_closed_loop(WORKLOAD, 2, lambda *_: None, lambda *_: None)
    assert [record.error for record in records] == ["the answer held no token"] * 6


def test_the_report_adds_up() -> None:
    good = Record(0.0, [0.1, 0.2, 0.4], [1, 1, 1], prompt_tokens=10, output_tokens=3)
    bad = Record(0.0, error="503")
    report = Report([good, bad], duration=2.0)
    summary = report.summary()
    assert (summary["completed"], summary["failed"]) == (1, 1)
    assert summary["output_throughput"] == 1.5
    assert summary["total_token_throughput"] == 6.5
    assert summary["mean_ttft_ms"] == pytest.approx(100)
    assert summary["mean_tpot_ms"] == pytest.approx(150)
    assert summary["p99_e2el_ms"] == pytest.approx(400)
    assert report.json()["successes"] == [True, False]
    assert report.json()["latencies"] == [0.4, None]


def test_a_pause_is_shared_by_the_tokens_that_end_it() -> None:
    record = Record(0.0, output_tokens=6)
    for arrived, tokens in ((0.5, 2), (0.6, 1), (0.7, 0), (1.2, 3)):
        record.note(arrived, tokens)
    assert record.pauses == pytest.approx([0.1, 0.6])
    assert record.gaps == pytest.approx([0.1, 0.2, 0.2, 0.2])
    assert record.time_per_token == pytest.approx(0.7 / 4)
    assert record.first_token == 0.5


def test_an_answer_that_came_at_once_has_no_time_per_token() -> None:
    record = Record(0.0, output_tokens=3)
    record.note(0.5, 3)
    assert (record.gaps, record.time_per_token) == ([], None)


def test_events_count_tokens_as_their_server_tells_them() -> None:
    ours, theirs, others = Record(0.0), Record(0.0), Record(0.0)
    for ids in ([7, 8], [], [9]):
        note_event({"choices": [{"text": "", "token_ids": ids}]}, 0.1, ours)
    for predicted in (1, 3, 3):
        event = {"choices": [{"text": "x"}], "timings": {"predicted_n": predicted}}
        note_event(event, 0.1, theirs)
    for text in ("a", "bc", ""):
        note_event({"choices": [{"text": text, "finish_reason": None}]}, 0.1, others)
    assert (ours.counts, theirs.counts, others.counts) == ([2, 1], [1, 2], [1, 1])


def test_percentiles_are_linear_between_neighbours() -> None:
    assert percentile([4, 1, 3, 2], 50) == 2.5
    assert percentile([7], 99) == 7


def test_the_command_prints_the_block_and_writes_json(
    affine: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    file = tmp_path / "result.json"
    arguments = (
        "--requests",
        "5",
        "--concurrency",
        "2",
        "--prompt-tokens",
        "7",
        "--output-tokens",
        "4",
    )
    assert affine("bench", *arguments, "--json", str(file)) == 0
    assert "Successful requests:                     5" in affine.out
    assert "Total generated tokens:                  20" in affine.out
    for label in ("Mean TTFT (ms)", "Median TPOT (ms)", "P95 ITL (ms)", "P99 E2EL (ms)"):
        assert label in affine.out
    assert "█" not in affine.out + affine.err
    result = json.loads(file.read_text())
    assert (result["completed"], result["total_input_tokens"]) == (5, 35)
    assert [len(itls) for itls in result["itls"]] == [3] * 5
    completions = [request for request in service.requests if hasattr(request, "ignore_eos")]
    assert len(completions) == 6  # the warm-up too
    assert all(request.ignore_eos and request.max_tokens == 4 for request in completions)


def test_the_bar_is_drawn_on_a_terminal(affine_on_terminal: CommandLine) -> None:
    assert affine_on_terminal("bench", "--requests", "2", "--output-tokens", "1") == 0
    assert "2/2 requests, 0 failed\n" in affine_on_terminal.err


def test_failed_requests_fail_the_run(affine: CommandLine, service: FakeService) -> None:
    service.fail_after_first_chunk = Failure(grpc.StatusCode.INTERNAL, "non-finite logits")
    assert affine("bench", "--requests", "2") == 1
    assert "warm-up request failed: non-finite logits" in affine.err


def test_http_is_measured_too(http: FakeHttp) -> None:
    affine = CommandLine()
    arguments = ("--api", "http", "--vocab-size", "500", "--requests", "3", "--output-tokens", "3")
    assert affine("bench", *arguments, "--address", http.address) == 0
    assert "Total generated tokens:                  9" in affine.out
    assert http.bodies[0]["model"] == "over-http"
    assert http.bodies[0]["stream_options"] == {"include_usage": True}
    assert http.bodies[0]["return_token_ids"] is True


def test_an_http_refusal_is_shown() -> None:
    refusing = FakeHttp(status=429)
    affine = CommandLine()
    try:
        assert (
            affine("bench", "--api", "http", "--vocab-size", "9", "--address", refusing.address)
            == 1
        )
    finally:
        refusing.stop()
    assert "429" in affine.err
