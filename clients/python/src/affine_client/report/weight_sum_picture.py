"""The analysis of weight sums, as a histogram over all layers and heads."""

from __future__ import annotations

from collections.abc import Sequence

from affine_client.head_means import weight_sum_shares
from affine_client.pages.picture import Picture
from affine_client.pages.svg import draw
from affine_client.report.charts import histogram
from affine_client.report.subject import Subject

_INCHES = (9.0, 3.6)
_X = "sum of a query's weights before the gate (no unit); outermost bars: below −0.05, above 2.05"
_Y = "share of queries (%)"


def weight_sums(subjects: Sequence[Subject]) -> Picture:
    key, title = "weight-sums", "How often each weight sum occurs"
    shares = [weight_sum_shares(subject.measurement.heads) for subject in subjects]
    names = [subject.name for subject in subjects]
    alt = f"Histogram of the {_X}. " + " ".join(
        _in_words(name, row) for name, row in zip(names, shares, strict=True)
    )
    return Picture(
        key,
        title,
        "What the weights of one query and head add up to. The plain softmax always gives 1; "
        "affine scaling and a sink in the denominator let a head weigh less, or more. Each bar "
        "counts queries over all layers and heads whose sum lies within 0.05 of its middle.",
        draw(key, title, alt, _INCHES, histogram(names, shares, (_X, _Y))),
    )


def _in_words(name: str, shares: list[float]) -> str:
    most = max(range(len(shares)), key=shares.__getitem__)
    bar = {0: "below −0.05", len(shares) - 1: "above 2.05"}.get(most, f"near {(most - 1) / 10:.1f}")
    return f"{name}: {shares[most]:.1%} of the sums are {bar}, the tallest bar."
