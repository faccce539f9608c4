"""Tables of attention statistics: one request's summary, and a row for each layer."""

from __future__ import annotations

from dataclasses import dataclass

from affine_client.cli.terminal import Terminal
from affine_client.head_means import HeadMeans, head_means, layer_cells, worst_heads
from affine_client.stability import AttentionHeads, StabilitySummary, WorstHead

LEGEND = (
    "means over heads and queries; after each the worst head and its value: the lowest entropy, "
    "the weight sum farthest from 1, the alpha nearest to 0 or 1, the highest of the others"
)


@dataclass(frozen=True)
class _Column:
    title: str
    field: str  # of HeadMeans and of worst_heads
    format: str


_COLUMNS = (
    _Column("entropy, nats", "entropy", ".3f"),
    _Column("first token", "first_token_mass", ".3f"),
    _Column("largest score", "largest_score", ".2f"),
    _Column("weight sum", "weight_sum", ".3f"),
)
_ALPHA_COLUMNS = (
    _Column("alpha ± deviation", "alpha", ".3f"),
    _Column("at 0", "alpha_at_zero", ".1%"),
    _Column("at 1", "alpha_at_one", ".1%"),
    _Column("drift", "alpha_drift", ".3f"),
)


def show_layers(terminal: Terminal, heads: AttentionHeads) -> None:
    """A row for each layer; the columns of alpha only with affine scaling, that of queries with
    scores that are not finite only where there are some."""
    columns = _COLUMNS + (_ALPHA_COLUMNS if heads.alpha else ())
    amiss = any(map(any, heads.non_finite))
    titles = ["layer", "queries", *(column.title for column in columns)]
    rows = []
    for layer in range(heads.num_layers):
        cells = layer_cells(heads, layer)
        means, worst = head_means(heads, cells), worst_heads(heads, cells)
        row = [str(layer), f"{max(heads.queries[layer], default=0):,}"]
        row += [_cell(column, means, worst.get(column.field)) for column in columns]
        rows.append(row + ([f"{means.non_finite:,}"] if amiss else []))
    terminal.table(titles + (["not finite"] if amiss else []), rows)


def show_summary(terminal: Terminal, summary: StabilitySummary) -> None:
    """A block of the summary's figures, each with its worst head."""
    rows = [
        ("queries", f"{summary.queries:,}", ""),
        ("entropy", f"{summary.entropy:.3f} nats", _where("lowest", summary.worst_entropy)),
        (
            "first-token mass",
            f"{summary.first_token_mass:.3f}",
            _where("highest", summary.worst_first_token_mass),
        ),
    ]
    if summary.largest_score is not None:
        largest = summary.largest_score
        rows.append(("largest score", f"{largest.value:.2f}", _place(largest)))
    shares = (
        ("alpha", summary.alpha, ".3f"),
        ("alpha at 0", summary.alpha_at_zero, ".1%"),
        ("alpha at 1", summary.alpha_at_one, ".1%"),
        ("alpha drift", summary.alpha_drift, ".3f"),
    )
    for name, value, form in shares:
        if value is not None:
            worst = summary.worst_alpha_drift if name == "alpha drift" else None
            rows.append((name, f"{value:{form}}", _where("highest", worst)))
    if summary.non_finite:
        rows.append(("not finite", f"{summary.non_finite:,}", "queries over all layers and heads"))
    terminal.table(("attention", "mean", "worst head"), rows)


def _cell(column: _Column, means: HeadMeans, worst: WorstHead | None) -> str:
    if worst is None:
        return "-"
    text = f"{getattr(means, column.field):{column.format}}"
    if column.field == "alpha":
        text += f" ± {means.alpha_deviation:{column.format}}"
    if column.field == "largest_score":
        return f"{text} (h{worst.head})"
    return f"{text} (h{worst.head} {worst.value:{column.format}})"


def _where(extreme: str, worst: WorstHead | None) -> str:
    if worst is None:
        return ""
    return f"{extreme} {worst.value:.3f} at {_place(worst)}"


def _place(worst: WorstHead) -> str:
    return f"layer {worst.layer}, head {worst.head}"
