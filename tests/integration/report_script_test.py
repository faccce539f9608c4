"""deploy/report.sh: one command that draws the default model and the plain one side by side."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

from prerequisites import ROOT

SCRIPT = ROOT / "deploy" / "report.sh"


def report(*words: str | Path, port: int = 0) -> subprocess.CompletedProcess[str]:
    # The tests' own AFFINE_ variables name what is built and made, as tests/run.sh set them.
    environment = {**os.environ, "AFFINE_PORT": str(port)}
    for name in ("AFFINE_TEST_MODEL", "AFFINE_TEST_PLAIN_MODEL", "AFFINE_TEST_IDENTITY_MODEL"):
        environment.pop(name, None)
    for name in ("AFFINE_SERVER_BINARY", "AFFINE_SCORE", "AFFINE_COMPLETE_EXAMPLE"):
        environment.pop(name, None)  # the server would take them for misspelt variables of its own
    return subprocess.run(
        [SCRIPT, *words], env=environment, capture_output=True, text=True, timeout=500
    )


def test_it_writes_the_page_and_the_numbers(real_model: Path, plain_model: Path, tmp_path: Path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = tmp_path / "text.txt"
    text.write_text("A lighthouse keeper counted the ships that passed, and wrote each one down. " * 6)
    run = report(text, tmp_path / "out", port=port)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "out" / "report.html").read_text().count("<svg") >= 6
    models = json.loads((tmp_path / "out" / "report.json").read_text())["models"]
    assert [one["model"]["name"] for one in models] == ["affine", "plain"]
    assert [one["model"]["num_layers"] for one in models] == [30, 30]


def test_a_text_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    run = report(tmp_path / "missing.txt")
    assert run.returncode == 1
    assert run.stderr.endswith("missing.txt can't be read; name a text file\n")


def test_without_a_text_it_says_how_to_call_it() -> None:
    run = report()
    assert run.returncode == 1
    assert "usage: deploy/report.sh TEXT_FILE" in run.stderr
