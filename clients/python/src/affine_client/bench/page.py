"""The load test as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from affine_client.bench.agreement import Agreement, shown_rows
from affine_client.bench.experiment import Outcome
from affine_client.bench.pictures import pictures_of
from affine_client.bench.report import TITLES
from affine_client.bench.sweep import sweep_table
from affine_client.pages.document import contents, document, escaped, figure, table

_KEYS = ("mean", "median", "p90", "p95", "p99")


def page(setting: Mapping[str, Any], outcomes: Sequence[Outcome], findings: Sequence[str]) -> str:
    """`setting` is what was asked for; `findings` are sentences on a sweep."""
    pictures = pictures_of(outcomes)
    title = f"Load test of {setting['model']}"
    links = [("setting", "What was measured"), ("figures", "Figures")]
    links += [(picture.key, picture.title) for picture in pictures]
    links += [("server", "The server's own figures")]
    parts = [
        f"<h1>{escaped(title)}</h1>",
        *(f"<p>{escaped(line)}</p>" for line in findings),
        contents(links),
        '<h2 id="setting">What was measured</h2>',
        table(("", "value"), _facts(setting), "The load, and where it went"),
        '<h2 id="figures">Figures</h2>',
        _figures(outcomes),
        *map(figure, pictures),
        '<h2 id="server">The server\'s own figures</h2>',
        *(_agreement(outcome.load, outcome.agreement) for outcome in outcomes),
    ]
    return document(title, parts)


def _facts(setting: Mapping[str, Any]) -> list[list[str]]:
    """What was left at "none of it" is left out."""
    return [
        [
            name.replace("_", " "),
            ", ".join(map(str, value)) if isinstance(value, list) else str(value),
        ]
        for name, value in setting.items()
        if value not in (None, "", False)
    ]


def _figures(outcomes: Sequence[Outcome]) -> str:
    if len(outcomes) > 1:
        titles, rows = sweep_table(outcomes)
        return table(titles, rows, "A row for each load; latencies in milliseconds", numbers=True)
    summary = outcomes[0].report.summary()
    plain = {name: value for name, value in summary.items() if not name.endswith("_ms")}
    rows = [[name.replace("_", " "), f"{value:,.4g}"] for name, value in plain.items()]
    latencies = [
        [title, *(f"{summary[f'{key}_{name}_ms']:.2f}" for key in _KEYS)]
        for name, (title, _) in TITLES.items()
        if f"mean_{name}_ms" in summary
    ]
    heads = ("milliseconds", *(key.replace("median", "p50") for key in _KEYS))
    return table(("figure", "value"), rows, "Over the run", numbers=True) + table(
        heads, latencies, "Latencies of answers that were complete", numbers=True
    )


def _agreement(load: str, agreed: Agreement | None) -> str:
    if agreed is None:
        return f"<p>{escaped(load)}: the server shows none.</p>"
    compared = [row for row in agreed.rows if row.agrees is not None]
    agree = sum(row.agrees is True for row in compared)
    summary = agreed.remark or f"{agree} of {len(compared)} agree"
    rows = table(
        ("counts, and ms from the send", "here", "server", "agree"),
        shown_rows(agreed),
        "Of the same requests, from /metrics before and after",
        numbers=True,
    )
    return f"<details><summary>{escaped(f'{load}: {summary}')}</summary>{rows}</details>"
