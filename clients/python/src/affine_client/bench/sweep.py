"""Where a server is saturated: over the outcomes of one load after another."""

from __future__ import annotations

from collections.abc import Sequence

from affine_client.bench.experiment import Outcome

# More load that brings less than this share of the best throughput brings only waiting.
_ENOUGH = 0.95


def saturation(outcomes: Sequence[Outcome]) -> Outcome | None:
    """The lightest load that gives 95 % of the best throughput; None when that is the heaviest, for
    then a heavier one may give more."""
    if len(outcomes) < 2:
        return None
    ordered = sorted(outcomes, key=lambda outcome: outcome.x)
    speeds = [outcome.report.summary()["output_throughput"] for outcome in ordered]
    enough = _ENOUGH * max(speeds)
    first = next(place for place, speed in enumerate(speeds) if speed >= enough)
    return ordered[first] if first + 1 < len(ordered) else None


def heaviest_within_goal(outcomes: Sequence[Outcome], share: float) -> Outcome | None:
    """The heaviest load below the first that keeps the goal for less than `share` of its requests;
    None where there is no such load or no goal."""
    best = None
    for outcome in sorted(outcomes, key=lambda outcome: outcome.x):
        if outcome.report.summary().get("goodput_share", 0.0) < share:
            break
        best = outcome
    return best


def sweep_table(outcomes: Sequence[Outcome]) -> tuple[list[str], list[list[str]]]:
    """Titles, and a row for each load."""
    goal = bool(outcomes[0].report.goal.bounds)
    titles = ["load", "tok/s", "req/s"]
    titles += [f"{name} {p}" for name in ("TTFT", "ITL", "E2EL") for p in ("p50", "p90", "p99")]
    titles += ["goodput/s", "met"] if goal else []
    titles += ["failed", "client"]
    return titles, [_row(outcome, goal) for outcome in outcomes]


def _row(outcome: Outcome, goal: bool) -> list[str]:
    figures = outcome.report.summary()
    row = [
        outcome.load,
        f"{figures['output_throughput']:.1f}",
        f"{figures['request_throughput']:.2f}",
    ]
    for name in ("ttft", "itl", "e2el"):
        for key in ("median", "p90", "p99"):
            value = figures.get(f"{key}_{name}_ms")
            row.append("–" if value is None else f"{value:.1f}")
    if goal:
        row += [f"{figures['request_goodput']:.2f}", f"{figures['goodput_share']:.0%}"]
    return [*row, f"{figures['failed']:.0f}", f"{figures.get('generator_core_share', 0.0):.0%}"]
