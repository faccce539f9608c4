"""`affine bench`: what it sends, prints and writes, and which flags do not go together."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from command_line import CommandLine
from fake_http import FakeHttp
from fake_service import Failure, FakeServer, FakeService
from page_reader import read_page


def completions(service: FakeService) -> list:
    return [request for request in service.requests if hasattr(request, "ignore_eos")]


def test_the_command_prints_the_block_and_writes_json(
    affine: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    file = tmp_path / "result.json"
    load = ("--requests", "5", "--concurrency", "2", "--prompt-tokens", "7", "--output-tokens", "4")
    assert affine("bench", *load, "--goal", "e2el:60000", "--json", str(file)) == 0
    assert "Successful requests:                     5" in affine.out
    assert "Total generated tokens:                  20" in affine.out
    assert "Share that met the goal (%):             100.0" in affine.out
    for label in ("Mean TTFT (ms)", "Median TPOT (ms)", "P95 ITL (ms)", "P99 E2EL (ms)"):
        assert label in affine.out
    assert "█" not in affine.out + affine.err
    result = json.loads(file.read_text())
    assert (result["completed"], result["total_input_tokens"]) == (5, 35)
    assert [len(itls) for itls in result["itls"]] == [3] * 5
    assert (result["concurrency"], result["model"], result["server"]) == (2, "fake", None)
    assert len(completions(service)) == 6  # the warm-up too
    assert all(one.ignore_eos and one.max_tokens == 4 for one in completions(service))


def test_the_same_seed_sends_the_same_load(affine: CommandLine, service: FakeService) -> None:
    load = ("--requests", "9", "--concurrency", "1", "--prompt-tokens", "2-30", "--turns", "1-2")

    def sent(*more: str) -> list:
        service.requests.clear()
        assert affine("bench", *load, *more) == 0
        return [(list(one.token_ids.ids), one.max_tokens) for one in completions(service)]

    first = sent("--output-tokens", "1-9")
    assert first == sent("--output-tokens", "1-9")
    assert first != sent("--output-tokens", "1-9", "--seed", "1")
    assert len(first) > 10


def test_an_open_loop_shows_its_queueing(affine: CommandLine) -> None:
    load = ("--rate", "inf", "--requests", "6", "--output-tokens", "2", "--max-in-flight", "2")
    assert affine("bench", *load) == 0
    assert "Successful requests:                     6" in affine.out
    assert "P99 Queueing (ms):" in affine.out


def test_a_trace_is_replayed(affine: CommandLine, service: FakeService, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    lines = [{"at": 0.01 * n, "prompt_tokens": n + 1, "output_tokens": 2} for n in range(4)]
    file.write_text("\n".join(map(json.dumps, lines)))
    assert affine("bench", "--trace", str(file), "--warm-up", "0") == 0
    assert [len(one.token_ids.ids) for one in completions(service)] == [1, 2, 3, 4]
    assert affine("bench", "--trace", str(file), "--concurrency", "2") == 1
    assert "has times of its own" in affine.err


def test_hang_ups_are_counted_apart(affine: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    load = ("--requests", "8", "--output-tokens", "500", "--cancel-share", "1")
    assert affine("bench", *load, "--json", str(file)) == 0
    result = json.loads(file.read_text())
    assert (result["completed"], result["failed"]) == (8 - result["cancelled"], 0)
    assert result["cancelled"] > 0


def test_a_sweep_has_a_row_for_each_load_and_a_finding(affine: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "sweep.json"
    load = ("--concurrency", "1,2", "--requests", "4", "--output-tokens", "3", "--json", str(file))
    assert affine("bench", "sweep", *load, "--goal", "ttft:60000") == 0
    assert "\n1 in flight " in affine.out and "\n2 in flight " in affine.out
    assert "most output: " in affine.out and "kept by 90% of the requests up to 2" in affine.out
    runs = json.loads(file.read_text())["runs"]
    assert [(run["load"], run["completed"]) for run in runs] == [
        ("1 in flight", 4),
        ("2 in flight", 4),
    ]


def test_the_bar_is_drawn_on_a_terminal(affine_on_terminal: CommandLine) -> None:
    assert affine_on_terminal("bench", "--requests", "2", "--output-tokens", "1") == 0
    assert "2/2 requests, 0 failed, 8 in flight\n" in affine_on_terminal.err


def test_failed_requests_fail_the_run(affine: CommandLine, service: FakeService) -> None:
    service.fail_after_first_chunk = Failure(grpc.StatusCode.INTERNAL, "non-finite logits")
    assert affine("bench", "--requests", "2") == 1
    assert "warm-up request failed: non-finite logits" in affine.err
    assert affine("bench", "--requests", "2", "--warm-up", "0") == 1
    assert "2 requests failed; the first: non-finite logits" in affine.err


def test_http_is_measured_too(http: FakeHttp) -> None:
    affine = CommandLine()
    load = ("--api", "http", "--vocab-size", "500", "--requests", "3", "--output-tokens", "3")
    assert affine("bench", *load, "--address", http.address) == 0
    assert "Total generated tokens:                  9" in affine.out
    assert http.bodies[0]["model"] == "over-http"
    assert http.bodies[0]["stream_options"] == {"include_usage": True}
    assert http.bodies[0]["return_token_ids"] is True
    assert (http.bodies[0]["temperature"], http.bodies[0]["ignore_eos"]) == (0, True)


def test_an_http_refusal_is_shown() -> None:
    refusing = FakeHttp(status=429)
    affine = CommandLine()
    load = ("--api", "http", "--vocab-size", "9", "--address", refusing.address)
    try:
        assert affine("bench", *load) == 1
    finally:
        refusing.stop()
    assert "429" in affine.err


def test_agreement_that_is_required_needs_a_server_that_tells(affine: CommandLine) -> None:
    assert affine("bench", "--requests", "2", "--require-agreement") == 1
    assert "no figures to compare with" in affine.err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--rate", "2", "--concurrency", "2"], "different loads"),
        (["--rate", "2", "--trace", "x"], "different loads"),
        (["sweep", "--trace", "x"], "a trace is one load"),
        (["--concurrency", "1,2"], "affine bench sweep"),
        (["--endpoint", "chat"], "--api http"),
        (["sweep", "--rate", "1,inf"], "no place on a sweep's axis"),
        (["--rate", "0"], "0 is not above 0"),
        (["--cancel-share", "1.5"], "1.5 is not from 0 to 1"),
        (["--prompt-tokens", "zipf:3"], "is no length"),
        (["--goal", "speed:3"], "names no figure"),
        (["--requests", "0"], "below 1"),
    ],
)
def test_wrong_usage_is_2_and_says_what_is_wrong(
    affine: CommandLine, capsys: pytest.CaptureFixture[str], flags: list[str], said: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        affine("bench", *flags)
    assert caught.value.code == 2
    assert said in capsys.readouterr().err


def test_files_are_checked_before_anything_is_sent(
    affine: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    assert affine("bench", "--json", str(tmp_path / "no" / "x.json")) == 1
    assert "there is no folder" in affine.err and not service.requests


def test_the_page_of_a_run_draws_its_distributions_and_what_happened_when(
    affine: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "run.html"
    assert affine("bench", "--requests", "4", "--output-tokens", "5", "--html", str(file)) == 0
    page = read_page(file)
    assert page.mistakes == [] and page.outside == []
    assert page.headings == ["Load test of fake"]
    assert page.pictures == page.drawn == ["ttft-shares", "itl-shares", "e2el-shares", "timeline"]
    assert "first token of each of 4 requests" in page.descriptions["timeline"]
    assert {"completed": ["4"], "model": ["fake"]}.items() <= dict(page.rows).items()


def test_the_page_of_a_sweep_draws_throughput_and_latency_by_load(
    affine: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "sweep.html"
    load = ("--concurrency", "1,2,4", "--requests", "4", "--output-tokens", "3")
    assert affine("bench", "sweep", *load, "--goal", "ttft:60000", "--html", str(file)) == 0
    page = read_page(file)
    assert page.mistakes == [] and page.outside == []
    assert page.pictures == page.drawn
    assert "mathdefault" not in file.read_text()  # a formula's source in place of a number
    assert {"throughput", "ttft-by-load", "itl-by-load", "e2el-by-load", "trade"} <= set(
        page.pictures
    )
    assert "at 1" in page.descriptions["throughput"] and "at 4" in page.descriptions["throughput"]
    assert [row for row, _ in page.rows if row.endswith("in flight")] == [
        "1 in flight",
        "2 in flight",
        "4 in flight",
    ]


def test_ctrl_c_is_clean_and_cancels_what_is_in_flight(server: FakeServer) -> None:
    server.service.hold_after_first_chunk = True
    command = [sys.executable, "-m", "affine_client.cli.main", "bench", "--warm-up", "0"]
    with subprocess.Popen(
        [*command, "--address", server.address], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert server.service.streaming.wait(timeout=30)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")
    assert server.service.cancelled.wait(timeout=10)
