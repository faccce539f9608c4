"""The snippets of the READMEs run as they stand."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import CommandLine
from fake_http import FakeHttp
from fake_service import FakeServer

CLIENTS = Path(__file__).resolve().parents[2] / "clients"
README = CLIENTS / "python" / "README.md"
ADDRESS_IN_README = "127.0.0.1:8000"


def snippets(language: str, file: Path = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", file.read_text(), re.DOTALL)


def commands() -> list[str]:
    lines = "\n".join(snippets("sh") + snippets("sh", CLIENTS / "README.md")).splitlines()
    return [line for line in lines if line.startswith("affine ")]


def test_the_readme_has_snippets() -> None:
    assert len(snippets("python")) == 3
    assert {line.split()[1] for line in commands()} == {
        "info",
        "complete",
        "tokenize",
        "bench",
        "metrics",
        "top",
        "attention",
        "report",
    }


def test_the_flags_that_the_readme_names_exist(
    affine: CommandLine, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = ""
    for command in ("bench", "top", "report", "complete", "info"):
        with pytest.raises(SystemExit):
            affine(command, "--help")
        shown += capsys.readouterr().out
    for flag in re.findall(r"`(--[a-z-]+)", README.read_text()):
        assert flag in shown, flag


@pytest.mark.parametrize("number", range(3))
def test_python_snippets_run(server: FakeServer, number: int) -> None:
    code = snippets("python")[number].replace(ADDRESS_IN_README, server.address)
    assert server.address in code
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "red green" in done.stdout


@pytest.mark.parametrize("line", commands())
def test_command_lines_run(
    affine: CommandLine,
    http: FakeHttp,
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("article.txt").write_text("one two three")
    arguments = shlex.split(line)[1:]
    Path("arrivals.jsonl").write_text(snippets("json")[0])
    if arguments[0] in ("metrics", "top"):
        arguments += ["--address", http.address]
    assert affine(*arguments) == 0
    assert affine.out
