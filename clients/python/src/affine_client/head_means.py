"""What a set of heads does as a whole, and which of them is worst."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from affine_client.stability import AttentionHeads, Matrix, WorstHead

Cell = tuple[int, int]  # layer, head


@dataclass(frozen=True)
class HeadMeans:
    """Means over heads, each weighted with its queries; 0 where there were none."""

    queries: int  # summed over the heads
    non_finite: int
    entropy: float  # nats
    first_token_mass: float
    mean_score: float
    largest_score: float  # the largest, no mean
    sink_mass: float
    weight_sum: float
    negative_mass: float
    alpha: float | None = None
    alpha_deviation: float | None = None  # over a head's queries: root of the mean variance
    alpha_at_zero: float | None = None
    alpha_at_one: float | None = None
    alpha_drift: float | None = None  # mean over heads of |alpha - alpha_ma|

    @property
    def utilization(self) -> float:
        """The share of the softmax weight on keys other than the first; 0 without queries."""
        return 1.0 - self.first_token_mass if self.queries else 0.0


def every_cell(heads: AttentionHeads) -> list[Cell]:
    return [cell for layer in range(heads.num_layers) for cell in layer_cells(heads, layer)]


def layer_cells(heads: AttentionHeads, layer: int) -> list[Cell]:
    return [(layer, head) for head in range(heads.num_heads)]


def head_means(heads: AttentionHeads, cells: Sequence[Cell]) -> HeadMeans:
    """The means over `cells`."""
    measured = _measured(heads, cells)
    queries = sum(heads.queries[layer][head] for layer, head in measured)

    def mean(matrix: Matrix) -> float:
        weighted = (heads.queries[layer][head] * matrix[layer][head] for layer, head in measured)
        return math.fsum(weighted) / queries if queries else 0.0

    of_alpha: dict[str, float] = {}
    if heads.alpha and heads.alpha_deviation and heads.alpha_at_zero and heads.alpha_at_one:
        variances = tuple(tuple(value * value for value in row) for row in heads.alpha_deviation)
        of_alpha = {
            "alpha": mean(heads.alpha),
            "alpha_deviation": math.sqrt(mean(variances)),
            "alpha_at_zero": mean(heads.alpha_at_zero),
            "alpha_at_one": mean(heads.alpha_at_one),
            "alpha_drift": mean(alpha_drift(heads) or ()),
        }
    return HeadMeans(
        queries=queries,
        non_finite=sum(heads.non_finite[layer][head] for layer, head in cells),
        entropy=mean(heads.entropy),
        first_token_mass=mean(heads.first_token_mass),
        mean_score=mean(heads.mean_score),
        largest_score=max(
            (heads.largest_score[layer][head] for layer, head in measured), default=0.0
        ),
        sink_mass=mean(heads.sink_mass),
        weight_sum=mean(heads.weight_sum),
        negative_mass=mean(heads.negative_mass),
        **of_alpha,
    )


def worst_heads(heads: AttentionHeads, cells: Sequence[Cell]) -> dict[str, WorstHead]:
    """By statistic, the head of `cells` that is worst in it; none for a set without queries.

    Worst is the lowest entropy, the weight sum farthest from 1, the alpha nearest to 0 or 1, and
    the highest of anything else.
    """
    judged: dict[str, tuple[Matrix | None, Callable[[float], float]]] = {
        "entropy": (heads.entropy, lambda value: -value),
        "first_token_mass": (heads.first_token_mass, float),
        "largest_score": (heads.largest_score, float),
        "weight_sum": (heads.weight_sum, lambda value: abs(value - 1.0)),
        "alpha": (heads.alpha, lambda value: abs(value - 0.5)),
        "alpha_at_zero": (heads.alpha_at_zero, float),
        "alpha_at_one": (heads.alpha_at_one, float),
        "alpha_drift": (alpha_drift(heads), float),
    }
    measured = _measured(heads, cells)
    worst = {}
    for name, (matrix, badness) in judged.items():
        if matrix is not None and measured:
            found = [(matrix[layer][head], layer, head) for layer, head in measured]
            worst[name] = WorstHead(*max(found, key=lambda place: badness(place[0])))
    return worst


def alpha_drift(heads: AttentionHeads) -> Matrix | None:
    """|alpha - alpha_ma| by layer and head, 0 without queries; None without affine scaling."""
    if heads.alpha is None or heads.alpha_ma is None:
        return None
    return tuple(
        tuple(abs(a - ma) if n else 0.0 for a, ma, n in zip(*rows, strict=True))
        for rows in zip(heads.alpha, heads.alpha_ma, heads.queries, strict=True)
    )


def weight_sum_shares(heads: AttentionHeads) -> list[float]:
    """[WEIGHT_SUM_BINS], of 1, over all layers; all 0 where nothing was measured."""
    counts = [sum(bins) for bins in zip(*heads.weight_sum_counts, strict=True)]
    total = sum(counts)
    return [count / total if total else 0.0 for count in counts]


def _measured(heads: AttentionHeads, cells: Sequence[Cell]) -> list[Cell]:
    return [(layer, head) for layer, head in cells if heads.queries[layer][head]]
