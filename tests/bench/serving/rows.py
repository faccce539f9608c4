"""The rows of the table: what is measured, on which servers, and what the project wants of it.

To change a goal, or to add a row, edit this file; --rows and the README's table follow its names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from serving import server_kinds as kinds
from serving.experiments import DecodeBeside, Experiment, SharedPrefix, Throughput
from serving.load import Load


@dataclass(frozen=True)
class Comparison:
    """One line of the table: a figure of ours over the best of the others', or, where there are no
    others, a figure that is itself a ratio."""

    row: str
    title: str
    figure: str  # a name that the experiment gives
    experiment: str
    ours: str
    others: tuple[str, ...]
    more_is_better: bool
    goal: float | None = None  # the ratio: at least this if more is better, else at most

    def met(self, ratio: float) -> bool | None:
        if self.goal is None:
            return None
        return ratio >= self.goal if self.more_is_better else ratio <= self.goal


ROW_NAMES = (
    *("c1", "c8", "c32", "nospec", "prefix", "long", "int8", "int4", "overhead", "softmax"),
)

_PEERS = (kinds.LLAMA, kinds.VLLM)
_LONG_CONTEXT = (kinds.LLAMA_LONG, kinds.VLLM)


def experiments(quick: bool) -> Mapping[str, Experiment]:
    """By name. `quick`: one wave of requests, which is too short to judge by."""
    waves = 1 if quick else 1000

    def load(*numbers: int) -> Load:
        return Load(*numbers).shortened(waves)

    return {
        "c1": Throughput(load(1, 8, 128, 64)),
        "c8": Throughput(load(8, 32, 128, 64)),
        "c32": Throughput(load(32, 96, 128, 64)),
        "prefix": SharedPrefix(load(8, 32, 32, 64), prefix_tokens=1024, probes=1 if quick else 3),
        "long": Throughput(load(4, 4, 4096, 128)),
        "stall": DecodeBeside(
            load(4, 4, 4096, 128), prompt_tokens=128, output_tokens=6000, bound_ms=200
        ),
    }


def comparisons() -> list[Comparison]:
    lines: list[Comparison] = []
    for row, clients in (("c1", 1), ("c8", 8), ("c32", 32)):
        title = f"128 + 64 tokens, {clients} at once"
        goals = {(kinds.LLAMA,): 1.15, (kinds.VLLM,): 2.0} if clients == 1 else {_PEERS: 2.0}
        lines += _throughput(row, title, row, kinds.AFFINE, goals)
        lines += _latencies(row, title, row, kinds.AFFINE, _PEERS, 1.0)
    for load, clients in (("c1", 1), ("c8", 8), ("c32", 32)):
        title = f"without speculation, {clients} at once"
        lines += _throughput("nospec", title, load, kinds.NO_SPECULATION, {_PEERS: None})
    title = "1,024 shared + 32 + 64 tokens, 8 at once"
    lines += _throughput("prefix", title, "prefix", kinds.AFFINE, {(kinds.VLLM,): 2.0})
    lines += [
        _line("prefix", title, "warm_ms", "prefix", _LONG_CONTEXT, False),
        _line("prefix", title, "cold_ms", "prefix", _LONG_CONTEXT, False),
        _line("prefix", title, "warm_over_cold", "prefix", (), False, 0.2),
    ]
    title = "4,096 + 128 tokens, 4 at once"
    lines += _throughput("long", title, "long", kinds.AFFINE, {_LONG_CONTEXT: 1.5})
    lines += _latencies("long", title, "long", kinds.AFFINE, _LONG_CONTEXT)
    title = "a decode beside them"
    lines += [
        _line("long", title, "longest_stall_ms", "stall", _LONG_CONTEXT, False),
        _line("long", title, "stall_over_bound", "stall", (), False, 2.0),
    ]
    for row, ours, theirs, goal in (
        ("int8", kinds.INT8, kinds.LLAMA_Q8, 1.6),
        ("int4", kinds.INT4, kinds.LLAMA_Q4, 1.5),
    ):
        title = f"{row} weights, 1 at once"
        lines += _throughput(row, title, "c1", ours, {(theirs,): goal})
        lines += _latencies(row, title, "c1", ours, (theirs,))
    title = "server over engine, 32 at once"
    lines += [
        _line("overhead", title, "wall_over_model", "c32", (), False, 1.05),
        _line("overhead", title, "step_over_model", "c32", (), False),
    ]
    title = "affine over softmax, 8 at once"
    lines.append(_line("softmax", title, "output_tokens_per_s", "c8", (kinds.SOFTMAX,), True, 0.98))
    return lines


def _throughput(
    row: str, title: str, experiment: str, ours: str, goals: Mapping[tuple[str, ...], float | None]
) -> list[Comparison]:
    """A line for each group of others, with its goal."""
    figure = "output_tokens_per_s"
    return [
        Comparison(row, title, figure, experiment, ours, others, True, goal)
        for others, goal in goals.items()
    ]


def _latencies(
    row: str,
    title: str,
    experiment: str,
    ours: str,
    others: tuple[str, ...],
    goal: float | None = None,
) -> list[Comparison]:
    return [
        Comparison(row, title, f"{which}_{percentile}_ms", experiment, ours, others, False, goal)
        for which in ("first_token", "between_tokens")
        for percentile in ("p50", "p99")
    ]


def _line(
    row: str,
    title: str,
    figure: str,
    experiment: str,
    others: tuple[str, ...],
    more: bool,
    goal: float | None = None,
) -> Comparison:
    return Comparison(row, title, figure, experiment, kinds.AFFINE, others, more, goal)
