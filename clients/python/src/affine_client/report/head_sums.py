"""Adds up the statistics of requests, so that the sum is what one long request would have shown."""

from __future__ import annotations

import math
from typing import TypeVar

from affine_client.errors import ServerFault
from affine_client.stability import AttentionHeads, Matrix

_Number = TypeVar("_Number", int, float)

_MEANS = (
    "entropy",
    "first_token_mass",
    "mean_score",
    "sink_mass",
    "weight_sum",
    "negative_mass",
)
_MEANS_OF_ALPHA = ("alpha", "alpha_at_zero", "alpha_at_one")


class HeadSums:
    """Means are weighted with queries; scores' largest is kept; deviations are pooled, so they are
    over all queries of all requests; counts are summed."""

    def __init__(self, first: AttentionHeads) -> None:
        self._first = first
        cells = first.num_layers * first.num_heads
        self._means = _MEANS + (_MEANS_OF_ALPHA if first.alpha is not None else ())
        self._queries = [0] * cells
        self._non_finite = [0] * cells
        self._sums = {name: [0.0] * cells for name in self._means}
        self._squares = [0.0] * cells  # of alpha's distances from its mean
        self._largest = [-math.inf] * cells
        self._bins = [[0] * len(row) for row in first.weight_sum_counts]
        self.add(first)

    def add(self, heads: AttentionHeads) -> None:
        """Raises ServerFault when `heads` is of a model of another shape than the first."""
        mine = (self._first.num_layers, self._first.num_heads, self._first.alpha_ma)
        if mine != (heads.num_layers, heads.num_heads, heads.alpha_ma):
            raise ServerFault("the model changed between two requests; make the report again")
        self._add_spread(heads)
        queries = _flat(heads.queries)
        for name, sums in self._sums.items():
            for cell, (n, value) in enumerate(
                zip(queries, _flat(getattr(heads, name)), strict=True)
            ):
                sums[cell] += n * value
        for cell, (n, score) in enumerate(zip(queries, _flat(heads.largest_score), strict=True)):
            if n:
                self._largest[cell] = max(self._largest[cell], score)
        self._queries = [a + b for a, b in zip(self._queries, queries, strict=True)]
        non_finite = _flat(heads.non_finite)
        self._non_finite = [a + b for a, b in zip(self._non_finite, non_finite, strict=True)]
        for mine_row, row in zip(self._bins, heads.weight_sum_counts, strict=True):
            mine_row[:] = [a + b for a, b in zip(mine_row, row, strict=True)]

    def _add_spread(self, heads: AttentionHeads) -> None:
        """Chan's update of a sum of squared distances; before the sums that it reads."""
        if heads.alpha is None or heads.alpha_deviation is None:
            return
        values = zip(
            _flat(heads.queries), _flat(heads.alpha), _flat(heads.alpha_deviation), strict=True
        )
        for cell, (n, mean, deviation) in enumerate(values):
            had = self._queries[cell]
            self._squares[cell] += n * deviation * deviation
            if n and had:
                apart = mean - self._sums["alpha"][cell] / had
                self._squares[cell] += apart * apart * had * n / (had + n)

    def heads(self) -> AttentionHeads:
        """What was added so far, as one."""
        rows = {name: self._matrix(self._mean(sums)) for name, sums in self._sums.items()}
        if self._first.alpha is not None:
            deviations = [math.sqrt(value) for value in self._mean(self._squares)]
            rows["alpha_deviation"] = self._matrix(deviations)
        return AttentionHeads(
            num_layers=self._first.num_layers,
            num_heads=self._first.num_heads,
            queries=self._counts(self._queries),
            non_finite=self._counts(self._non_finite),
            largest_score=self._matrix(
                [0.0 if math.isinf(score) else score for score in self._largest]
            ),
            weight_sum_counts=tuple(tuple(row) for row in self._bins),
            alpha_ma=self._first.alpha_ma,
            **rows,
        )

    def _mean(self, sums: list[float]) -> list[float]:
        return [total / n if n else 0.0 for total, n in zip(sums, self._queries, strict=True)]

    def _matrix(self, values: list[float]) -> Matrix:
        width = self._first.num_heads
        return tuple(
            tuple(values[layer * width : (layer + 1) * width])
            for layer in range(self._first.num_layers)
        )

    def _counts(self, values: list[int]) -> tuple[tuple[int, ...], ...]:
        width = self._first.num_heads
        return tuple(
            tuple(values[layer * width : (layer + 1) * width])
            for layer in range(self._first.num_layers)
        )


def _flat(rows: tuple[tuple[_Number, ...], ...]) -> list[_Number]:
    return [value for row in rows for value in row]
