"""The command line `affine` and the C++ example against the real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from grpc_api import GrpcApi
from prerequisites import built_or_made
from server_process import ServerProcess

GREEDY = ("--max-tokens", "12", "--temperature", "0", "--ignore-eos")
PROMPT = "some words"


@pytest.fixture
def expected(tiny_grpc: GrpcApi) -> str:
    return tiny_grpc.complete(PROMPT, max_tokens=12, temperature=0, ignore_eos=True).text


def affine(server: ServerProcess, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "affine_client.cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "AFFINE_ADDRESS": server.address, "PYTHONUTF8": "1"},
    )


def test_complete(tiny_server: ServerProcess, expected: str) -> None:
    streamed = affine(tiny_server, "complete", PROMPT, *GREEDY)
    whole = affine(tiny_server, "complete", PROMPT, *GREEDY, "--json")
    assert (streamed.returncode, streamed.stdout) == (0, expected + "\n"), streamed.stderr
    assert json.loads(whole.stdout)["text"] == expected


def test_errors_carry_the_servers_message(tiny_server: ServerProcess) -> None:
    done = affine(tiny_server, "complete", "x", "--top-p", "7")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("affine: error: `top_p` is 7")


def test_info_and_tokenize(tiny_server: ServerProcess) -> None:
    info = affine(tiny_server, "info")
    assert "SERVING" in info.stdout and "learned_sink denominator, affine" in info.stdout
    tokens = json.loads(affine(tiny_server, "tokenize", PROMPT, "--json").stdout)
    assert "".join(tokens["pieces"]) == PROMPT


def test_bench_and_metrics(tiny_server: ServerProcess, tmp_path: Path) -> None:
    for api in ("grpc", "http"):
        file = tmp_path / f"{api}.json"
        load = ("--requests", "6", "--concurrency", "3", "--prompt-tokens", "20")
        done = affine(
            tiny_server, "bench", *load, "--output-tokens", "9", "--api", api, "--json", str(file)
        )
        assert done.returncode == 0, done.stderr
        result = json.loads(file.read_text())
        assert (result["completed"], result["total_output_tokens"]) == (6, 54)
        assert result["total_input_tokens"] == 120
    shown = affine(tiny_server, "metrics").stdout
    for figure in ("running", "cache in use", "output tokens", "first token", "between tokens"):
        assert f"\n{figure} " in shown, shown


def test_the_cpp_example(tiny_server: ServerProcess) -> None:
    example = built_or_made(
        "AFFINE_COMPLETE_EXAMPLE",
        "build/clients/cpp/affine_complete_example",
        "build the target affine_complete_example",
    )
    done = subprocess.run(
        [str(example), f"--address={tiny_server.address}", "--prompt=x", "--max_tokens=4"],
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(b"\n") and len(done.stdout) > 1
