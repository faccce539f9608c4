"""The analyses by layer and head, as heat maps: utilization, and alpha with its deviation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from affine_client.head_means import every_cell, head_means, worst_heads
from affine_client.pages.picture import Picture
from affine_client.pages.svg import draw
from affine_client.report.charts import HeatMap, heat_maps
from affine_client.report.subject import Subject
from affine_client.stability import AttentionHeads, Matrix

_WIDTH, _ROW = 9.0, 3.2  # inches


def utilization(subjects: Sequence[Subject]) -> Picture:
    key, title = "utilization", "Head utilization by layer and head"
    row = [
        HeatMap(
            subject.name,
            _values(subject.measurement.heads, "first_token_mass", lambda mass: 1.0 - mass),
            "utilization (share of 1)",
            0.0,
            1.0,
        )
        for subject in subjects
    ]
    alt = "Heat map of layer and head. " + " ".join(map(_utilization_in_words, subjects))
    return Picture(
        key,
        title,
        "Utilization is the share of a head's softmax weight on keys other than the first: "
        "1 − first-token mass, mean over queries. A head near 0 spends its weight on the first "
        "token and adds little. Grey: nothing was measured.",
        draw(key, title, alt, (_WIDTH, _ROW), heat_maps([row])),
    )


def alpha(subjects: Sequence[Subject]) -> Picture:
    key, title = "alpha", "α by layer and head"
    affine = [subject for subject in subjects if subject.measurement.heads.alpha is not None]
    without = [subject.name for subject in subjects if subject not in affine]
    lacking = f" Not drawn, since without affine scaling α is 1: {', '.join(without)}."
    explanation = (
        "The factor α that affine scaling puts on a head's softmax weights, between 0 and 1. "
        "Above: its mean over all inputs. Below: its standard deviation over the inputs, which is "
        "0 where a head scales every query alike. Grey: nothing was measured."
    ) + (lacking if without else "")
    if not affine:
        return Picture(key, title, "Not drawn: without affine scaling α is 1.", None)
    spread = [_values(one.measurement.heads, "alpha_deviation") for one in affine]
    most = max(
        (value for rows in spread for row in rows for value in row if value == value), default=0
    )
    means = [
        HeatMap(one.name, _values(one.measurement.heads, "alpha"), "mean of α", 0.0, 1.0)
        for one in affine
    ]
    deviations = [
        HeatMap(f"{one.name}, deviation", rows, "deviation of α", 0.0, most)
        for one, rows in zip(affine, spread, strict=True)
    ]
    alt = "Heat maps of layer and head. " + " ".join(map(_alpha_in_words, affine))
    svg = draw(key, title, alt, (_WIDTH, 2 * _ROW), heat_maps([means, deviations]))
    return Picture(key, title, explanation, svg)


def _values(
    heads: AttentionHeads, statistic: str, turned: Callable[[float], float] = float
) -> Matrix:
    """[layers][heads]; NaN for a head without queries."""
    rows = zip(getattr(heads, statistic), heads.queries, strict=True)
    return tuple(
        tuple(turned(value) if n else math.nan for value, n in zip(*row, strict=True))
        for row in rows
    )


def _utilization_in_words(subject: Subject) -> str:
    heads = subject.measurement.heads
    cells = every_cell(heads)
    worst = worst_heads(heads, cells).get("first_token_mass")
    if worst is None:
        return f"{subject.name}: nothing was measured."
    return (
        f"{subject.name}: mean {head_means(heads, cells).utilization:.3f}, lowest "
        f"{1.0 - worst.value:.3f} at layer {worst.layer}, head {worst.head}."
    )


def _alpha_in_words(subject: Subject) -> str:
    means = head_means(subject.measurement.heads, every_cell(subject.measurement.heads))
    if not means.queries:
        return f"{subject.name}: nothing was measured."
    return f"{subject.name}: mean {means.alpha:.3f}, deviation {means.alpha_deviation:.3f}."
