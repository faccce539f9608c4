"""The table for people and the JSON for programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from serving.machine import Machine
from serving.measurement import Run
from serving.outcome import Outcome
from serving.server_kinds import ServerKind

_FIGURES = {
    "output_tokens_per_s": "output tokens/s",
    "first_token_p50_ms": "first token, median ms",
    "first_token_p99_ms": "first token, 99 % ms",
    "between_tokens_p50_ms": "between tokens, median ms",
    "between_tokens_p99_ms": "between tokens, 99 % ms",
    "cold_ms": "first token, cold ms",
    "warm_ms": "first token, warm ms",
    "warm_over_cold": "first token, warm over cold",
    "longest_stall_ms": "longest stall, ms",
    "stall_over_bound": "longest stall over --max_decode_stall_ms",
    "wall_over_model": "wall time over model time",
    "step_over_model": "step time over model time",
}
_HEAD = ("row", "what", "figure", "ours (least–largest)", "others", "ratio", "goal", "")


@dataclass(frozen=True)
class Report:
    machine: Machine
    began: str  # ISO 8601, UTC
    settings: Mapping[str, Any]
    kinds: Mapping[str, ServerKind]  # those that the chosen rows need
    runs: Sequence[Run]
    left_out: Mapping[str, str]
    outcomes: Sequence[Outcome]

    def markdown(self) -> str:
        lines = [str(self.machine), f"{self.began}; {_settings_text(self.settings)}", ""]
        lines += [_table_row(_HEAD), _table_row(("---",) * len(_HEAD))]
        lines += [_table_row(_cells(outcome)) for outcome in self.outcomes]
        notes = [f"- {name}: {reason}" for name, reason in self.left_out.items()]
        notes += [
            f"- {run.server}, {run.experiment}, repeat {run.repeat + 1}: {run.problem}"
            for run in self.runs
            if run.problem is not None
        ]
        return "\n".join([*lines, *([""] if notes else []), *notes]) + "\n"

    def json(self) -> dict[str, Any]:
        return {
            "machine": dataclasses.asdict(self.machine),
            "began": self.began,
            "settings": dict(self.settings),
            "servers": {
                name: {"command": list(kind.command), "left_out": self.left_out.get(name)}
                for name, kind in self.kinds.items()
            },
            "runs": [dataclasses.asdict(run) for run in self.runs],
            "rows": [dataclasses.asdict(outcome) for outcome in self.outcomes],
        }


def shown(value: float) -> str:
    """Three digits that matter, and no fewer before the point."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _settings_text(settings: Mapping[str, Any]) -> str:
    text = f"median of {settings['repeats']}" if settings["repeats"] > 1 else "one run"
    return text + (", --quick: too short to judge by" if settings["quick"] else "")


def _cells(outcome: Outcome) -> tuple[str, ...]:
    line = outcome.line
    return (
        line.row,
        line.title,
        _FIGURES[line.figure],
        _ours(outcome),
        ", ".join(f"{name} {shown(value)}" for name, value in outcome.others.items()) or "–",
        "–" if outcome.ratio is None else f"{outcome.ratio:.2f}",
        "–" if line.goal is None else f"{'≥' if line.more_is_better else '≤'} {line.goal:g}",
        outcome.verdict,
    )


def _ours(outcome: Outcome) -> str:
    if outcome.ours is None or outcome.spread is None:
        return "–"
    least, largest = outcome.spread
    text = shown(outcome.ours)
    return text if least == largest else f"{text} ({shown(least)}–{shown(largest)})"


def _table_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
