"""`affine bench` and `affine top` against the real server: what they measure is what it measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line_test import affine
from server_process import ServerProcess

TIMES = ("first token, mean", "between tokens, mean", "whole request, mean", "first token, p90")


@pytest.mark.parametrize(
    "load",
    [
        ("--api", "grpc", "--concurrency", "4"),
        ("--api", "http", "--concurrency", "4"),
        ("--api", "grpc", "--rate", "30", "--burst", "3"),
    ],
)
def test_the_figures_agree_with_the_servers_histograms(
    tiny_server: ServerProcess, tmp_path: Path, load: tuple[str, ...]
) -> None:
    file = tmp_path / "result.json"
    lengths = ("--prompt-tokens", "40-120", "--output-tokens", "20-60", "--requests", "24")
    # Half of a time, and 10 ms: other tests' processes share the machine's cores.
    more = ("--require-agreement", "--tolerance", "0.5", "--json", str(file))
    done = affine(tiny_server, "bench", *load, *lengths, *more)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(file.read_text())
    figures = result["server"]["figures"]
    assert result["server"]["remark"] is None
    for name in ("requests finished", "prompt tokens", "output tokens", *TIMES):
        assert figures[name]["agrees"] is True, (name, figures[name])
    assert figures["requests finished"]["here"] == figures["requests finished"]["server"] == 24
    assert figures["output tokens"]["server"] == result["total_output_tokens"]


def test_hang_ups_and_later_turns_reach_the_server(
    tiny_server: ServerProcess, tmp_path: Path
) -> None:
    file = tmp_path / "result.json"
    load = ("--requests", "12", "--turns", "2", "--prompt-tokens", "64", "--output-tokens", "200")
    done = affine(
        tiny_server, "bench", *load, "--cancel-share", "0.4", "--api", "http", "--json", str(file)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(file.read_text())
    figures = result["server"]["figures"]
    assert result["cancelled"] > 0
    # The server may have finished an answer before it notices that nobody reads on.
    assert 0 < figures["of these cancelled"]["server"] <= result["cancelled"]
    assert figures["requests finished"]["agrees"] is True
    assert max(result["turns"]) == 1
    assert result["cached_input_tokens"] > 200  # the first turn's prompt and answer, block by block


def test_top_shows_the_load_and_every_layer(tiny_server: ServerProcess) -> None:
    load = ("--requests", "4", "--output-tokens", "80")
    assert affine(tiny_server, "bench", *load).returncode == 0
    done = affine(tiny_server, "top", "--once", "--json")
    one = json.loads(done.stdout)
    assert (one["model"], one["running"]) == ("tiny", 0), done.stderr
    assert one["output_tokens_per_s"] > 0 and one["latencies"]["first token"][0] > 0
    layers = {len(values) for values in one["attention"].values()}
    assert layers == {len(one["attention"]["alpha drift"])} and "sink" in one["attention"]
    shown = affine(tiny_server, "top", "--count", "1", "--interval", "0.01").stdout
    assert "over the last" in shown and "entropy, nats" in shown and "\x1b" not in shown
