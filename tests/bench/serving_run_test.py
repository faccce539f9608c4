"""The whole command, with processes that stand in for the three servers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from fake_servers import FakeServers
from serving.rows import ROW_NAMES

PROGRAM = Path(__file__).resolve().parent / "serving"


def run(fakes: FakeServers, out: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRAM), *fakes.arguments(out), "--quick", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def line_of(done: subprocess.CompletedProcess[str], row: str, figure: str) -> list[str]:
    """The cells of one line of the printed table."""
    for line in done.stdout.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == row and cells[2] == figure:
            return cells
    raise AssertionError(f"no line {row}, {figure} in:\n{done.stdout}\n{done.stderr}")


def test_every_row_is_measured_and_an_unknown_flag_is_told(
    fakes: FakeServers, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = run(fakes, out)
    assert done.returncode == 0, done.stderr
    written = json.loads((out / "serving.json").read_text())
    assert (out / "serving.md").read_text() == done.stdout
    assert {row["line"]["row"] for row in written["rows"]} == set(ROW_NAMES)
    for row in written["rows"]:
        quantised = row["line"]["row"] in ("int8", "int4")
        assert (row["verdict"] == "server refused") == quantised, row
        assert (row["ratio"] is None) == quantised, row
    assert "affine_server int8: server refused: exit code 2: unknown flag --weights" in done.stdout
    assert all(run["figures"].get("uncounted_tokens", 0) == 0 for run in written["runs"])
    assert "affine_server 1/1: c8: " in done.stderr  # progress


def test_all_servers_get_the_same_prompts(fakes: FakeServers, tmp_path: Path) -> None:
    assert run(fakes, tmp_path / "out", "--rows=c8").returncode == 0
    prompts: dict[str, set[str]] = {}
    for line in fakes.requests_file.read_text().splitlines():
        asked = json.loads(line)
        body = asked["body"]
        assert (body["temperature"], body["ignore_eos"], body["stream"]) == (0, True, True)
        prompts.setdefault(asked["kind"], set()).add(json.dumps(body["prompt"]))
    assert prompts.keys() == {"affine", "llama", "vllm"}
    assert prompts["affine"] == prompts["llama"] == prompts["vllm"]
    assert len(prompts["affine"]) == 16 + 8  # warm-up, and one wave


def test_repeats_give_medians_and_every_run(fakes: FakeServers, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(fakes, out, "--rows=c1,overhead", "--repeats=3")
    assert done.returncode == 0, done.stderr
    runs = json.loads((out / "serving.json").read_text())["runs"]
    ours = [run for run in runs if run["server"] == "affine_server"]
    assert [run["repeat"] for run in ours if run["experiment"] == "c1"] == [0, 1, 2]
    assert len({run["seed"] for run in ours}) == len(ours)
    speeds = sorted(r["figures"]["output_tokens_per_s"] for r in ours if r["experiment"] == "c1")
    rows = json.loads((out / "serving.json").read_text())["rows"]
    assert rows[0]["ours"] == speeds[1]
    assert rows[0]["spread"] == [speeds[0], speeds[2]]
    assert line_of(done, "overhead", "step time over model time")[3] == "1.25"


def test_a_peer_that_is_not_there_is_left_out(fakes: FakeServers, tmp_path: Path) -> None:
    fakes.vllm.unlink()
    done = run(fakes, tmp_path / "out", "--rows=c1")
    assert done.returncode == 0, done.stderr
    assert f"- vLLM: left out: {fakes.vllm} is not there" in done.stdout
    others = line_of(done, "c1", "output tokens/s")[4]
    assert others.startswith("llama-server ") and "vLLM" not in others


def test_without_peers_our_own_figures_stand(fakes: FakeServers, tmp_path: Path) -> None:
    words = [word for word in fakes.arguments(tmp_path / "out") if "--peers" not in word]
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *words, "--quick", "--rows=c1"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert line_of(done, "c1", "output tokens/s")[4:] == ["–", "–", "≥ 1.15", "no peer"]


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("#!/bin/sh\necho no memory >&2\nexit 78\n", "server refused: exit code 78: no memory"),
        ("#!/bin/sh\nexit 1\n", "server refused: exit code 1: it wrote nothing"),
    ],
)
def test_a_server_of_ours_that_does_not_start_fails_the_run(
    fakes: FakeServers, tmp_path: Path, program: str, said: str
) -> None:
    fakes.affine_server.write_text(program)
    done = run(fakes, tmp_path / "out", "--rows=c1")
    assert done.returncode == 1
    assert said in done.stdout
    assert line_of(done, "c1", "output tokens/s")[7] == "server refused"
