"""How stable a model's attention is, as plain data. Field meanings are those of affine.v1."""

from __future__ import annotations

from dataclasses import dataclass

Matrix = tuple[tuple[float, ...], ...]  # [layers][heads]
Counts = tuple[tuple[int, ...], ...]  # [layers][heads], but weight_sum_counts [layers][23]

# Bin 0 of a weight-sum histogram is below -0.05, bin i from 1 to 21 within 0.05 of (i - 1) / 10,
# bin 22 above 2.05.
WEIGHT_SUM_BINS = 23


@dataclass(frozen=True)
class WorstHead:
    """A statistic of the head where it is worst."""

    value: float
    layer: int
    head: int


@dataclass(frozen=True)
class AttentionHeads:
    """Statistics by layer and head: `entropy[layer][head]`. Means are over that head's queries; 0
    where there were none. The last five are None without affine scaling.
    """

    num_layers: int
    num_heads: int
    queries: Counts  # whose scores were finite
    non_finite: Counts  # queries whose scores were not
    entropy: Matrix  # nats, of the softmax over the visible keys
    first_token_mass: Matrix  # the softmax weight of the first token
    mean_score: Matrix  # q k / sqrt(head_dim), mean over the visible keys
    largest_score: Matrix  # the same, largest
    sink_mass: Matrix  # what the denominator takes; 0 with the plain softmax
    weight_sum: Matrix  # sum of a query's weights before the gate; 1 with the plain softmax
    negative_mass: Matrix  # sum of a query's negative weights, negated
    weight_sum_counts: Counts  # [layers][WEIGHT_SUM_BINS], over all heads of a layer
    alpha: Matrix | None = None
    alpha_deviation: Matrix | None = None  # standard deviation over the queries
    alpha_at_zero: Matrix | None = None  # share of queries with alpha exactly 0
    alpha_at_one: Matrix | None = None  # share of queries with alpha exactly 1
    alpha_ma: Matrix | None = None  # the mean that training left


@dataclass(frozen=True)
class AttentionWindow:
    """The latest steps that the server observed, added up."""

    model: str
    observed_steps: int  # 0: none yet, or the server observes none
    heads: AttentionHeads


@dataclass(frozen=True)
class StabilitySummary:
    """Of one request's attention: means over layers, heads and queries, and the worst head's own
    mean. The alpha fields are None without affine scaling, worst heads where no query was finite.
    """

    queries: int  # positions measured, each over all layers and heads
    entropy: float  # nats; worst is lowest
    worst_entropy: WorstHead | None
    first_token_mass: float  # worst is highest
    worst_first_token_mass: WorstHead | None
    largest_score: WorstHead | None  # of all
    non_finite: int  # queries whose scores were not finite, over all layers and heads
    alpha: float | None = None
    alpha_at_zero: float | None = None  # share of queries
    alpha_at_one: float | None = None  # share of queries
    alpha_drift: float | None = None  # |mean - the mean that training left|, mean over heads
    worst_alpha_drift: WorstHead | None = None
    heads: AttentionHeads | None = None  # with `stability_heads`
