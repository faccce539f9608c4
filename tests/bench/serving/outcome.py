"""What a line of the table comes to: our median, the others', their ratio, and the goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from serving.figures import medians, values_of
from serving.measurement import Run
from serving.rows import Comparison

MET, MISSED, NO_GOAL = "met", "missed", "no goal"
REFUSED, LEFT_OUT, FAILED, NO_PEER = "server refused", "left out", "failed", "no peer"


@dataclass(frozen=True)
class Outcome:
    line: Comparison
    ours: float | None  # median of the repeats
    spread: tuple[float, float] | None  # least and largest of them
    others: Mapping[str, float]  # medians, of the servers that have one
    ratio: float | None  # ours over the best of the others'; where there are none to be, ours
    verdict: str


def outcome(line: Comparison, runs: Sequence[Run], left_out: Mapping[str, str]) -> Outcome:
    """`left_out`: servers that were not measured, and why."""
    ours = [run.figures for run in runs if _is_of(run, line, line.ours)]
    own = values_of(ours, line.figure)
    others = {}
    for server in line.others:
        found = medians([run.figures for run in runs if _is_of(run, line, server)])
        if line.figure in found:
            others[server] = found[line.figure]
    if not own:
        return Outcome(line, None, None, others, None, _absence(line.ours, left_out))
    median = medians(ours)[line.figure]
    spread = (min(own), max(own))
    if line.others and not others:
        return Outcome(line, median, spread, others, None, NO_PEER)
    ratio = median / _best(line, others) if others else median
    met = line.met(ratio)
    verdict = NO_GOAL if met is None else MET if met else MISSED
    return Outcome(line, median, spread, others, ratio, verdict)


def _is_of(run: Run, line: Comparison, server: str) -> bool:
    return run.server == server and run.experiment == line.experiment and run.problem is None


def _best(line: Comparison, others: Mapping[str, float]) -> float:
    return max(others.values()) if line.more_is_better else min(others.values())


def _absence(server: str, left_out: Mapping[str, str]) -> str:
    reason = left_out.get(server)
    if reason is None:
        return FAILED
    return REFUSED if reason.startswith(REFUSED) else LEFT_OUT
