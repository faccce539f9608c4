"""Ratios, goals and verdicts; the Markdown table and the JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from serving.machine import Machine, this_machine
from serving.measurement import Run
from serving.outcome import outcome
from serving.report import _FIGURES, Report, shown
from serving.rows import Comparison, comparisons
from serving.server_kinds import server_kinds

MORE = Comparison("r", "what", "output_tokens_per_s", "c1", "us", ("x", "y"), True, 1.2)
LESS = Comparison("r", "what", "first_token_p50_ms", "c1", "us", ("x", "y"), False, 1.0)
ALONE = Comparison("r", "what", "wall_over_model", "c1", "us", (), False, 1.05)


def runs(server: str, *values: float, experiment: str = "c1") -> list[Run]:
    return [
        Run(server, experiment, repeat, "seed", dict.fromkeys(_FIGURES, value))
        for repeat, value in enumerate(values)
    ]


def failed(server: str) -> Run:
    return Run(server, "c1", 0, "seed", {}, "request 1 of 8 failed: 500")


def test_the_ratio_is_of_medians_and_over_the_best_of_the_others() -> None:
    measured = runs("us", 30, 10, 12) + runs("x", 8, 9, 10) + runs("y", 4)
    more, less = outcome(MORE, measured, {}), outcome(LESS, measured, {})
    assert (more.ours, more.spread, more.others) == (12, (10, 30), {"x": 9, "y": 4})
    assert more.ratio == pytest.approx(12 / 9)
    assert less.ratio == pytest.approx(12 / 4)
    assert (more.verdict, less.verdict) == ("met", "missed")


@pytest.mark.parametrize(("value", "verdict"), [(1.2, "met"), (1.19, "missed")])
def test_a_goal_is_met_at_its_edge(value: float, verdict: str) -> None:
    assert outcome(MORE, runs("us", value) + runs("x", 1), {}).verdict == verdict


def test_a_figure_that_is_a_ratio_is_held_against_the_goal_itself() -> None:
    assert outcome(ALONE, runs("us", 1.04, 1.06, 1.05), {}).ratio == 1.05
    assert outcome(ALONE, runs("us", 1.05), {}).verdict == "met"
    assert outcome(ALONE, runs("us", 1.06), {}).verdict == "missed"


def test_runs_of_other_experiments_do_not_count() -> None:
    measured = runs("us", 1, experiment="c8") + runs("x", 1)
    assert outcome(MORE, measured, {}).verdict == "failed"


@pytest.mark.parametrize(
    ("measured", "left_out", "verdict"),
    [
        ([], {"us": "server refused: exit code 2: unknown flag"}, "server refused"),
        ([], {"us": "left out: a/b is not there"}, "left out"),
        ([failed("us"), *runs("x", 1)], {}, "failed"),
        (runs("us", 1), {"x": "left out: x", "y": "left out: y"}, "no peer"),
        ([*runs("us", 1), failed("x"), failed("y")], {}, "no peer"),
    ],
)
def test_what_was_not_measured_has_no_ratio(
    measured: list[Run], left_out: dict[str, str], verdict: str
) -> None:
    found = outcome(MORE, measured, left_out)
    assert (found.ratio, found.verdict) == (None, verdict)


def report(*measured: Run, left_out: dict[str, str] | None = None, repeats: int = 3) -> Report:
    lines = [MORE, LESS, ALONE]
    out = left_out or {}
    kinds = server_kinds(Path("bin/affine_server"), Path("model"), Path("plain"), None)
    return Report(
        machine=Machine("AMD EPYC", 2, 23.5, ("avx2", "avx512_bf16")),
        began="2026-01-02T03:04:05+00:00",
        settings={"repeats": repeats, "quick": repeats == 1, "rows": ("c1",)},
        kinds={"us": kinds["affine_server"]},
        runs=measured,
        left_out=out,
        outcomes=[outcome(line, measured, out) for line in lines],
    )


def test_the_table_names_the_machine_and_shows_each_line() -> None:
    text = report(*runs("us", 120.4, 110, 130), *runs("x", 100)).markdown()
    lines = text.splitlines()
    assert lines[0] == "AMD EPYC, 2 cores, 23.5 GiB, avx2 avx512_bf16"
    assert lines[1] == "2026-01-02T03:04:05+00:00; median of 3"
    assert "| r | what | output tokens/s | 120 (110–130) | x 100 | 1.20 | ≥ 1.2 | met |" in lines
    assert "| r | what | first token, median ms | 120 (110–130) | x 100 | 1.20 | ≤ 1 | missed |" in lines
    assert {line.count("|") for line in lines[3:]} == {9}


def test_below_the_table_stands_what_was_not_measured() -> None:
    text = report(
        failed("us"), left_out={"x": "server refused: exit code 2: what?"}, repeats=1
    ).markdown()
    assert "--quick: too short to judge by" in text
    assert "- x: server refused: exit code 2: what?" in text
    assert "- us, c1, repeat 1: request 1 of 8 failed: 500" in text
    assert "| r | what | output tokens/s | – | – | – | ≥ 1.2 | failed |" in text


def test_the_json_has_every_run_and_every_line() -> None:
    measured = [*runs("us", 2, 4), *runs("x", 1), failed("y")]
    read = json.loads(json.dumps(report(*measured, left_out={"us": "why"}).json()))
    assert read["machine"]["cores"] == 2
    assert [run["repeat"] for run in read["runs"]] == [0, 1, 0, 0]
    assert read["runs"][0]["figures"]["output_tokens_per_s"] == 2
    assert read["runs"][3]["problem"] == "request 1 of 8 failed: 500"
    assert read["rows"][0]["ratio"] == 3
    assert read["rows"][0]["line"]["goal"] == 1.2
    assert read["servers"]["us"]["command"][0] == "bin/affine_server"
    assert read["servers"]["us"]["left_out"] == "why"


def test_every_figure_of_a_line_has_a_name_for_people() -> None:
    assert {line.figure for line in comparisons()} <= _FIGURES.keys()


def test_numbers_are_shown_with_three_digits() -> None:
    assert [shown(value) for value in (1234.5, 85.25, 0.0512)] == ["1234", "85.2", "0.0512"]


def test_the_machine_is_read_from_procfs(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(
        "processor\t: 0\nmodel name\t: A: B\nflags\t\t: fpu avx2 avx512f\n\nmodel name\t: C\n"
    )
    (tmp_path / "meminfo").write_text("MemTotal:       2097152 kB\nMemFree: 1 kB\n")
    machine = this_machine(tmp_path)
    assert (machine.processor, machine.memory_gib) == ("A: B", 2.0)
    assert machine.instruction_sets == ("avx2", "avx512f")


def test_a_machine_that_tells_nothing_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor : 0\n")
    (tmp_path / "meminfo").write_text("")
    assert this_machine(tmp_path).processor == "unknown processor"
