"""The C++ example against the fake service; the program is named by AFFINE_COMPLETE_EXAMPLE."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest
from fake_service import FakeServer

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "clients" / "cpp" / "README.md").read_text()


@pytest.fixture(scope="module")
def example() -> str:
    default = ROOT / "build" / "clients" / "cpp" / "affine_complete_example"
    path = os.environ.get("AFFINE_COMPLETE_EXAMPLE", str(default))
    if not Path(path).is_file():
        pytest.fail(
            f"{path} is not built: build the target affine_complete_example, "
            "or name the program with AFFINE_COMPLETE_EXAMPLE"
        )
    return path


def run(example: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([example, *arguments], capture_output=True, text=True, timeout=60)


def test_it_prints_the_answer(example: str, server: FakeServer) -> None:
    done = run(example, "--address", server.address, "--prompt=one two", "--max_tokens", "3")
    assert (done.returncode, done.stdout, done.stderr) == (0, " red green blue\n", "")
    assert server.service.requests[0].text == "one two"


def test_ctrl_c_cancels_the_request(example: str, server: FakeServer) -> None:
    server.service.hold_after_first_chunk = True
    with subprocess.Popen(
        [example, "--address", server.address], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(4) == b" red"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 130
    assert server.service.cancelled.wait(timeout=10)


def test_an_unreachable_server_is_69(example: str, closed_address: str) -> None:
    done = run(example, "--address", closed_address)
    assert done.returncode == 69
    assert closed_address in done.stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--no_such=1"], "unknown flag --no_such"),
        (["--max_tokens", "-1"], "--max_tokens is '-1'"),
        (["--max_tokens=99999999999"], "--max_tokens is '99999999999'"),
        (["--prompt"], "--prompt needs a value"),
    ],
)
def test_wrong_usage_is_2(example: str, arguments: list[str], named: str) -> None:
    done = run(example, *arguments)
    assert done.returncode == 2
    assert named in done.stderr


@pytest.mark.parametrize("line", re.findall(r"^affine_complete_example .*$", README, re.MULTILINE))
def test_the_readmes_lines_run(example: str, server: FakeServer, line: str) -> None:
    words = shlex.split(line.replace("127.0.0.1:8000", server.address))[1:]
    done = run(example, *words, *([] if "address" in line else ["--address", server.address]))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(" red green")


def test_the_readme_names_every_flag(example: str) -> None:
    usage = run(example, "--help").stderr
    named = set(re.findall(r"--[a-z_]+", usage)) - {"--help"}
    assert named == set(re.findall(r"^\| `(--[a-z_]+)`", README, re.MULTILINE))
