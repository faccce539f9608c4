"""What a request must keep to count as good: upper bounds on its latencies."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from affine_client.bench.record import Record

_FIGURES: dict[str, Callable[[Record], float]] = {
    "ttft": lambda record: record.first_token,
    "tpot": lambda record: record.time_per_token or 0.0,
    "e2el": lambda record: record.latency,
    "pause": lambda record: max(record.pauses, default=0.0),
}
MEANINGS = (
    "ttft first token, tpot per output token after it, e2el whole answer, pause longest between "
    "two pieces"
)


@dataclass(frozen=True)
class Goal:
    """`bounds` in milliseconds, by figure. Without any, every answer is good."""

    bounds: tuple[tuple[str, float], ...] = ()

    def met(self, record: Record) -> bool:
        return record.success and all(
            1e3 * _FIGURES[name](record) <= bound for name, bound in self.bounds
        )

    def __str__(self) -> str:
        return ", ".join(f"{name} ≤ {bound:g} ms" for name, bound in self.bounds)


def parse_goal(text: str) -> Goal:
    """`text` as ttft:200,tpot:50; raises ValueError that says what is wrong with it."""
    bounds: dict[str, float] = {}
    for part in text.replace(" ", ",").split(","):
        name, _, value = part.partition(":")
        if name not in _FIGURES:
            raise ValueError(f"{part!r} names no figure; allowed are {', '.join(_FIGURES)}")
        try:
            bounds[name] = float(value)
        except ValueError:
            raise ValueError(f"{part!r} is not of the form {name}:MILLISECONDS") from None
        if not 0.0 < bounds[name] < math.inf:
            raise ValueError(f"{part!r}: the bound must be above 0 and finite")
    return Goal(tuple(bounds.items()))
