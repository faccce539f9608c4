"""The report's rows: what was measured, and the figures over all layers and heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from affine_client.head_means import HeadMeans, every_cell, head_means, layer_cells
from affine_client.report.subject import Subject


@dataclass(frozen=True)
class Figure:
    name: str  # with its unit, if it has one
    field: str  # of HeadMeans
    format: str


FIGURES = (
    Figure("score, mean", "mean_score", ".4f"),
    Figure("score, largest", "largest_score", ".3f"),
    Figure("entropy (nats)", "entropy", ".4f"),
    Figure("first-token weight (share of 1)", "first_token_mass", ".4f"),
    Figure("utilization (share of 1)", "utilization", ".4f"),
    Figure("weight sum", "weight_sum", ".4f"),
    Figure("negative weights of a query, summed", "negative_mass", ".4f"),
    Figure("weight of the denominator's sink (share of 1)", "sink_mass", ".4f"),
    Figure("α", "alpha", ".4f"),
    Figure("α, deviation over inputs", "alpha_deviation", ".4f"),
    Figure("α exactly 0 (share of queries)", "alpha_at_zero", ".4f"),
    Figure("α exactly 1 (share of queries)", "alpha_at_one", ".4f"),
    Figure("α, drift from the training's mean", "alpha_drift", ".4f"),
    Figure("queries with scores that are not finite", "non_finite", ",d"),
)
_BY_LAYER = (
    "mean_score",
    "first_token_mass",
    "utilization",
    "entropy",
    "weight_sum",
    "alpha",
    "alpha_deviation",
)


def facts(subjects: Sequence[Subject], text_name: str, made: str) -> list[list[str]]:
    """[rows][1 + subjects]: what the figures are of. `made` is the report's date."""
    rows = [["text file", *(text_name for _ in subjects)], ["date", *(made for _ in subjects)]]
    columns = [_facts_of(subject) for subject in subjects]
    return [[name, *(column[name] for column in columns)] for name in columns[0]] + rows


def _facts_of(subject: Subject) -> dict[str, str]:
    one, model = subject.measurement, subject.measurement.model
    heads = one.heads
    return {
        "model": model.name,
        "architecture": model.architecture,
        "attention": model.attention.description,
        "precision": model.precision,
        "device": model.device,
        "parameters": f"{model.num_parameters:,}",
        "layers": f"{model.num_layers} of {model.num_heads} heads, {model.num_kv_heads} for keys "
        f"and values, head size {model.head_dim}",
        "server version": model.server_version,
        "requests": f"{one.requests:,} of at most {one.chunk_tokens:,} tokens",
        "tokens": f"{one.tokens:,}"
        + (f", {one.special_tokens} special ones in each request" if one.special_tokens else ""),
        "text used": "all of it" if one.whole_text else "its beginning, as --requests says",
        "positions measured": f"{one.positions:,}",
        "queries": f"{sum(map(sum, heads.queries)):,} over all layers and heads",
        "ended as unstable": f"{one.unstable_requests:,} requests",
    }


def figures(subjects: Sequence[Subject]) -> list[list[str]]:
    """[rows][1 + subjects, and the difference B - A where there are two]."""
    means = [_overall(subject) for subject in subjects]
    rows = []
    for figure in FIGURES:
        values = [getattr(mean, figure.field) for mean in means]
        if all(value is None for value in values):
            continue
        row = [figure.name, *(_shown(value, figure.format) for value in values)]
        if len(values) == 2:
            both = None not in values
            row.append(_shown(values[1] - values[0], "+" + figure.format) if both else "–")
        rows.append(row)
    return rows


def by_layer(subject: Subject) -> tuple[list[str], list[list[str]]]:
    """Titles, and [layers] rows of the figures by layer."""
    heads = subject.measurement.heads
    shown = [
        figure
        for field in _BY_LAYER
        for figure in FIGURES
        if figure.field == field and (heads.alpha or not field.startswith("alpha"))
    ]
    titles = ["layer", *(one.name for one in shown)]
    rows = []
    for layer in range(heads.num_layers):
        means = head_means(heads, layer_cells(heads, layer))
        values = (_shown(getattr(means, one.field), one.format) for one in shown)
        rows.append([str(layer), *values])
    return titles, rows


def _overall(subject: Subject) -> HeadMeans:
    return head_means(subject.measurement.heads, every_cell(subject.measurement.heads))


def _shown(value: float | None, form: str) -> str:
    return "–" if value is None else f"{value:{form}}".replace("-", "−")
