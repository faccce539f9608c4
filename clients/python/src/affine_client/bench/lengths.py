"""How long prompts and answers are: a number, or a distribution written as text."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

FORMS = (
    "N, LOW-HIGH (uniform), normal:MEAN,DEVIATION, lognormal:MEDIAN,SIGMA, or choice:N*WEIGHT,...; "
    "normal and lognormal take bounds as a third, LOW-HIGH"
)
_MOST = 1 << 20


@dataclass(frozen=True)
class Lengths:
    """A distribution of whole numbers from `low` to `high`; `text` is how it was written."""

    text: str
    kind: str  # "uniform", "normal", "lognormal" or "choice"
    numbers: tuple[float, ...]  # normal: mean, deviation; lognormal: median, sigma; choice: values
    weights: tuple[float, ...] = ()  # of a choice
    low: int = 1
    high: int = _MOST

    def draw(self, source: random.Random) -> int:
        if self.kind == "uniform":
            return source.randint(self.low, self.high)
        if self.kind == "choice":
            return int(source.choices(self.numbers, self.weights)[0])
        first, second = self.numbers
        value = (
            source.gauss(first, second)
            if self.kind == "normal"
            else first * math.exp(source.gauss(0.0, second))
        )
        return min(self.high, max(self.low, round(min(value, float(_MOST)))))

    def __str__(self) -> str:
        return self.text


def fixed(number: int) -> Lengths:
    return Lengths(str(number), "uniform", (), low=number, high=number)


def parse_lengths(text: str) -> Lengths:
    """Raises ValueError that names the text and what is allowed."""
    kind, colon, rest = text.partition(":")
    try:
        if not colon:
            low, high = _range(text)
            return Lengths(text, "uniform", (), low=low, high=high)
        if kind == "uniform":
            low, high = _range(rest)
            return Lengths(text, "uniform", (), low=low, high=high)
        if kind == "choice":
            pairs = [part.partition("*") for part in rest.split(",")]
            values = tuple(float(_whole(value)) for value, _, _ in pairs)
            weights = tuple(_above_zero(weight or "1") for _, _, weight in pairs)
            return Lengths(text, "choice", values, weights)
        if kind in ("normal", "lognormal"):
            first, second, *bounds = rest.split(",")
            low, high = _range(bounds[0]) if bounds else (1, _MOST)
            if len(bounds) > 1:
                raise ValueError("too many numbers")
            return Lengths(text, kind, (_above_zero(first), _number(second)), low=low, high=high)
    except ValueError as problem:
        raise ValueError(f"{text!r} is no length ({problem}); allowed: {FORMS}") from None
    raise ValueError(f"{text!r} is no length; allowed: {FORMS}")


def _range(text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    ends = _whole(low), _whole(high if dash else low)
    if ends[0] > ends[1]:
        raise ValueError(f"{ends[0]} is above {ends[1]}")
    return ends


def _whole(text: str) -> int:
    value = int(text)
    if not 1 <= value <= _MOST:
        raise ValueError(f"{value} is not within 1 and {_MOST}")
    return value


def _number(text: str) -> float:
    value = float(text)
    if not 0.0 <= value < math.inf:
        raise ValueError(f"{value:g} is below 0 or not finite")
    return value


def _above_zero(text: str) -> float:
    value = _number(text)
    if value == 0.0:
        raise ValueError("0 is too small")
    return value
