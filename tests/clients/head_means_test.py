"""Adding up heads and requests, against figures worked out by hand."""

from __future__ import annotations

import statistics
from dataclasses import replace

import pytest
from affine_client import AttentionHeads, ServerFault, WorstHead
from affine_client.head_means import (
    every_cell,
    head_means,
    layer_cells,
    weight_sum_shares,
    worst_heads,
)
from affine_client.report.head_sums import HeadSums
from affine_client.stability_wire import heads_of
from fake_attention import BINS, attention_heads

NOTHING = ((0.0, 0.0),)


def two_heads(queries: tuple[int, int], entropy: tuple[float, float]) -> AttentionHeads:
    """One layer, with affine scaling."""
    return AttentionHeads(
        num_layers=1,
        num_heads=2,
        queries=(queries,),
        non_finite=((1, 0),),
        entropy=(entropy,),
        first_token_mass=NOTHING,
        mean_score=NOTHING,
        largest_score=((-3.0, -2.0),),
        sink_mass=NOTHING,
        weight_sum=((0.5, 1.25),),
        negative_mass=NOTHING,
        weight_sum_counts=(tuple(1 if bin == 6 else 0 for bin in range(BINS)),),
        alpha=((0.5, 0.9),),
        alpha_deviation=((0.3, 0.4),),
        alpha_at_zero=NOTHING,
        alpha_at_one=NOTHING,
        alpha_ma=((0.25, 0.9),),
    )


def test_a_mean_over_heads_counts_each_query_once() -> None:
    heads = two_heads((3, 1), (2.0, 4.0))
    means = head_means(heads, layer_cells(heads, 0))
    assert (means.queries, means.entropy, means.non_finite) == (4, 2.5, 1)
    assert means.largest_score == -2.0
    assert means.alpha == pytest.approx(0.6)
    assert means.alpha_deviation == pytest.approx(((3 * 0.09 + 0.16) / 4) ** 0.5)
    assert means.alpha_drift == pytest.approx(3 * 0.25 / 4)


def test_a_head_without_queries_plays_no_part() -> None:
    heads = two_heads((0, 2), (0.0, 4.0))
    means, worst = head_means(heads, every_cell(heads)), worst_heads(heads, every_cell(heads))
    assert (means.entropy, means.alpha, means.largest_score) == (4.0, 0.9, -2.0)
    assert worst["entropy"] == WorstHead(4.0, 0, 1)


def test_without_any_queries_everything_is_zero() -> None:
    heads = two_heads((0, 0), (0.0, 0.0))
    means = head_means(heads, every_cell(heads))
    assert (means.queries, means.entropy, means.largest_score, means.utilization) == (0, 0, 0, 0)
    assert worst_heads(heads, every_cell(heads)) == {}


def test_what_worst_is_depends_on_the_statistic() -> None:
    heads = two_heads((1, 1), (2.0, 4.0))
    worst = worst_heads(heads, every_cell(heads))
    assert worst["entropy"].value == 2.0  # the lowest
    assert worst["weight_sum"].value == 0.5  # the farthest from 1
    assert worst["alpha"].value == 0.9  # the nearest to 0 or 1
    assert worst["alpha_drift"] == WorstHead(0.25, 0, 0)
    assert "alpha" not in worst_heads(replace(heads, alpha=None), every_cell(heads))


def test_requests_are_weighted_with_their_queries() -> None:
    sums = HeadSums(two_heads((3, 0), (2.0, 0.0)))
    sums.add(two_heads((1, 5), (4.0, 7.0)))
    heads = sums.heads()
    assert heads.queries == ((4, 5),) and heads.non_finite == ((2, 0),)
    assert heads.entropy == ((2.5, 7.0),)
    assert heads.largest_score == ((-3.0, -2.0),)
    assert heads.weight_sum_counts[0][6] == 2
    assert heads.alpha_ma == ((0.25, 0.9),)


def test_deviations_are_over_all_queries_of_all_requests() -> None:
    samples = [[0.25, 0.5, 0.75], [1.0], [0.0, 0.5]]
    sums: HeadSums | None = None
    for part in samples:
        message = attention_heads(len(part), layers=1, heads=1)
        message.alpha[:] = [statistics.mean(part)]
        message.alpha_deviation[:] = [statistics.pstdev(part)]
        if sums is None:
            sums = HeadSums(heads_of(message))
        else:
            sums.add(heads_of(message))
    assert sums is not None
    heads, every = sums.heads(), [value for part in samples for value in part]
    assert heads.alpha is not None and heads.alpha_deviation is not None
    assert heads.alpha[0][0] == pytest.approx(statistics.mean(every))
    assert heads.alpha_deviation[0][0] == pytest.approx(statistics.pstdev(every))


def test_one_request_added_up_is_itself() -> None:
    for affine in (True, False):
        heads = heads_of(attention_heads(4, affine=affine))
        assert HeadSums(heads).heads() == heads


def test_a_head_that_never_had_queries_has_no_largest_score() -> None:
    assert HeadSums(two_heads((0, 1), (0.0, 1.0))).heads().largest_score == ((0.0, -2.0),)


@pytest.mark.parametrize("other", [{"layers": 3}, {"heads": 2}, {"affine": False}])
def test_a_model_that_changes_in_between_is_refused(other: dict) -> None:
    sums = HeadSums(heads_of(attention_heads()))
    with pytest.raises(ServerFault, match="changed between two requests"):
        sums.add(heads_of(attention_heads(**other)))


def test_shares_of_weight_sums_add_up_to_one() -> None:
    shares = weight_sum_shares(heads_of(attention_heads()))
    assert (sum(shares), shares[11]) == (1.0, 1.0)
    assert sum(weight_sum_shares(heads_of(attention_heads(0)))) == 0.0
