"""The figures as lines of text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from affine_client.top.figures import Figures

_BARS = "▁▂▃▄▅▆▇█"


def view(figures: Figures, *, every_layer: bool = False) -> list[str]:
    """Lines without colours; `every_layer` adds a row for each layer."""
    one = figures
    blocks = f" of {one.cache_blocks:,.0f} blocks" if one.cache_blocks is not None else ""
    lines = [
        f"{one.model}",
        f"  running {_count(one.running)}   waiting {_count(one.waiting)}   "
        f"cache {_percent(one.cache_usage)}{blocks}   preemptions {_count(one.preemptions)}",
        f"  output {_number(one.output_tokens_per_s)} tok/s   "
        f"prompts {_number(one.prompt_tokens_per_s)} tok/s   "
        f"finished {_number(one.requests_per_s)} requests/s   "
        f"prefix hits {_percent(one.prefix_hits)}   guesses right {_percent(one.drafts_accepted)}",
        f"  {'latency':<16}{'p50':>10}{'p90':>10}{'p99':>10}",
    ]
    for name, values in one.latencies.items():
        lines.append(f"  {name:<16}" + "".join(f"{_seconds(value):>10}" for value in values))
    lines += _attention(one, every_layer)
    return lines


def _attention(one: Figures, every_layer: bool) -> list[str]:
    if not one.attention:
        return ["  attention       not measured yet"]
    lines = [f"  {'attention':<16}{'mean':>10}{'lowest':>17}{'highest':>17}   by layer"]
    for name, values in one.attention.items():
        mean = sum(values) / len(values)
        least, most = min(values), max(values)
        at_least, at_most = (f"layer {values.index(value)}" for value in (least, most))
        lines.append(
            f"  {name:<16}{mean:>10.3f}{f'{least:.3f} {at_least}':>17}"
            f"{f'{most:.3f} {at_most}':>17}   {bars(values)}"
        )
    past = {limit: count for limit, count in one.unstable.items() if count}
    if past or one.not_finite:
        told = [f"{count:,.0f} past {limit}" for limit, count in sorted(past.items())]
        told += [f"{one.not_finite:,.0f} queries not finite"] if one.not_finite else []
        lines.append("  unstable since the start: " + ", ".join(told))
    if every_layer:
        lines.append("  layer" + "".join(f"{name:>16}" for name in one.attention))
        for layer, row in enumerate(zip(*one.attention.values(), strict=True)):
            lines.append(f"  {layer:>5}" + "".join(f"{value:>16.4f}" for value in row))
    return lines


def bars(values: Sequence[float]) -> str:
    """One letter for each value, from the least to the greatest; ? where it is not finite."""
    finite = [value for value in values if math.isfinite(value)]
    least, span = min(finite, default=0.0), max(finite, default=0.0) - min(finite, default=0.0)
    return "".join(
        _BARS[int((len(_BARS) - 1) * (value - least) / span) if span else 0]
        if math.isfinite(value)
        else "?"
        for value in values
    )


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100.0 * share:.1f} %"


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value * 1e3:.1f} ms" if value < 1.0 else f"{value:.2f} s"
