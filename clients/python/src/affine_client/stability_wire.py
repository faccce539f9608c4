"""From the messages of affine.v1 about attention to plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from affine_client._proto import completion_pb2 as pb
from affine_client.errors import ServerFault
from affine_client.stability import (
    WEIGHT_SUM_BINS,
    AttentionHeads,
    AttentionWindow,
    StabilitySummary,
    WorstHead,
)

_Number = TypeVar("_Number", int, float)

_COUNTS = ("queries", "non_finite")
_MEANS = (
    "entropy",
    "first_token_mass",
    "mean_score",
    "largest_score",
    "sink_mass",
    "weight_sum",
    "negative_mass",
)
_OF_ALPHA = ("alpha", "alpha_deviation", "alpha_at_zero", "alpha_at_one", "alpha_ma")


def window_of(answer: pb.GetAttentionResponse) -> AttentionWindow:
    return AttentionWindow(answer.model, answer.observed_steps, heads_of(answer.heads))


def heads_of(heads: pb.AttentionHeads) -> AttentionHeads:
    """Raises ServerFault when a list is not as long as layers and heads say."""
    layers, width = heads.num_layers, heads.num_heads
    rows: dict[str, Any] = {
        name: _rows(name, getattr(heads, name), layers, width) for name in (*_COUNTS, *_MEANS)
    }
    if heads.alpha:
        rows |= {name: _rows(name, getattr(heads, name), layers, width) for name in _OF_ALPHA}
    bins = _rows("weight_sum_counts", heads.weight_sum_counts, layers, WEIGHT_SUM_BINS)
    return AttentionHeads(num_layers=layers, num_heads=width, weight_sum_counts=bins, **rows)


def summary_of(summary: pb.StabilitySummary) -> StabilitySummary:
    shares = ("alpha", "alpha_at_zero", "alpha_at_one", "alpha_drift")
    given = {name: getattr(summary, name) for name in shares if summary.HasField(name)}
    return StabilitySummary(
        queries=summary.queries,
        entropy=summary.entropy,
        worst_entropy=_worst(summary, "worst_entropy"),
        first_token_mass=summary.first_token_mass,
        worst_first_token_mass=_worst(summary, "worst_first_token_mass"),
        largest_score=_worst(summary, "largest_score"),
        non_finite=summary.non_finite,
        worst_alpha_drift=_worst(summary, "worst_alpha_drift"),
        heads=heads_of(summary.heads) if summary.HasField("heads") else None,
        **given,
    )


def _worst(summary: pb.StabilitySummary, name: str) -> WorstHead | None:
    worst = getattr(summary, name)
    return WorstHead(worst.value, worst.layer, worst.head) if summary.HasField(name) else None


def _rows(
    name: str, values: Sequence[_Number], rows: int, width: int
) -> tuple[tuple[_Number, ...], ...]:
    """[rows * width] to [rows][width]."""
    if len(values) != rows * width:
        raise ServerFault(
            f"the server's answer is malformed: {name} has {len(values)} values for "
            f"{rows} layers of {width}"
        )
    return tuple(tuple(values[row * width : (row + 1) * width]) for row in range(rows))
