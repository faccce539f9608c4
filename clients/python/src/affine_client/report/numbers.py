"""The report as numbers, for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from affine_client.head_means import (
    HeadMeans,
    every_cell,
    head_means,
    layer_cells,
    weight_sum_shares,
    worst_heads,
)
from affine_client.report.subject import Subject


def numbers(subjects: Sequence[Subject], text_name: str, made: str) -> dict[str, Any]:
    """Ready for JSON. `overall` and `by_layer` are weighted with queries; `heads` holds [layers,
    heads] matrices; `difference` is B - A of `overall`, and null with one model."""
    models = [_of(subject) for subject in subjects]
    return {
        "text_file": text_name,
        "date": made,
        "models": models,
        "difference": _difference(*(one["overall"] for one in models)) if models[1:] else None,
    }


def _of(subject: Subject) -> dict[str, Any]:
    one = subject.measurement
    heads = one.heads
    run = asdict(one)
    del run["model"], run["heads"]
    return {
        "letter": subject.letter,
        "model": asdict(one.model),
        **run,
        "queries": sum(map(sum, heads.queries)),
        "overall": _means(head_means(heads, every_cell(heads))),
        "worst_heads": {
            name: asdict(worst) for name, worst in worst_heads(heads, every_cell(heads)).items()
        },
        "by_layer": [
            _means(head_means(heads, layer_cells(heads, layer)))
            for layer in range(heads.num_layers)
        ],
        "weight_sum_shares": weight_sum_shares(heads),
        "heads": asdict(heads),
    }


def _means(means: HeadMeans) -> dict[str, Any]:
    return asdict(means) | {"utilization": means.utilization}


def _difference(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if value is None or second[name] is None else second[name] - value
        for name, value in first.items()
    }
