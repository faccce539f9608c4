"""The analyses by layer: scores, first-token weight and entropy as lines."""

from __future__ import annotations

import math
from collections.abc import Sequence

from affine_client.head_means import head_means, layer_cells
from affine_client.pages.picture import Picture
from affine_client.pages.svg import draw
from affine_client.report.charts import Line, lines_over_layers
from affine_client.report.subject import Subject

_INCHES = (9.0, 3.6)
_BAND = (
    "The line is the mean over a layer's heads; the band reaches from the lowest head to the "
    "highest."
)


def scores(subjects: Sequence[Subject]) -> Picture:
    return _picture(
        subjects,
        key="scores",
        title="Attention scores by layer",
        label="mean of q·k / √d (no unit)",
        statistic="mean_score",
        explanation="The scores before the softmax, q·k / √d: mean over the visible keys and all "
        f"queries. Large ones drive the softmax towards a single key. {_BAND}",
    )


def first_token(subjects: Sequence[Subject]) -> Picture:
    return _picture(
        subjects,
        key="first-token",
        title="First-token weight by layer",
        label="softmax weight of the first token (share of 1)",
        statistic="first_token_mass",
        explanation="The share of its softmax weight that a query puts on the very first token. A "
        f"share near 1 is an attention sink: the head looks at little else. {_BAND}",
    )


def entropy(subjects: Sequence[Subject]) -> Picture:
    return _picture(
        subjects,
        key="entropy",
        title="Entropy by layer",
        label="entropy of the softmax (nats)",
        statistic="entropy",
        explanation="How widely the softmax spreads over the visible keys: 0 nats is a single key, "
        f"log n an even spread over n keys. {_BAND}",
    )


def _picture(
    subjects: Sequence[Subject], key: str, title: str, label: str, statistic: str, explanation: str
) -> Picture:
    lines = [_line(subject, statistic) for subject in subjects]
    alt = f"Line chart over layers of the {label}. " + " ".join(map(_in_words, lines))
    svg = draw(key, title, alt, _INCHES, lines_over_layers(lines, label))
    return Picture(key, title, explanation, svg)


def _line(subject: Subject, statistic: str) -> Line:
    heads = subject.measurement.heads
    means, low, high = [], [], []
    for layer in range(heads.num_layers):
        found = [
            value
            for value, n in zip(getattr(heads, statistic)[layer], heads.queries[layer], strict=True)
            if n
        ]
        mean = getattr(head_means(heads, layer_cells(heads, layer)), statistic)
        means.append(mean if found else math.nan)
        low.append(min(found, default=math.nan))
        high.append(max(found, default=math.nan))
    return Line(subject.name, means, low, high)


def _in_words(line: Line) -> str:
    places = [(value, layer) for layer, value in enumerate(line.values) if not math.isnan(value)]
    if not places:
        return f"{line.name}: nothing was measured."
    (least, at_least), (most, at_most) = min(places), max(places)
    return (
        f"{line.name}: lowest {least:.3g} at layer {at_least}, highest {most:.3g} at layer "
        f"{at_most}."
    )
