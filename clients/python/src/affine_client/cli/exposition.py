"""Reads Prometheus' text format as far as the figures of `affine metrics` need it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

_SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')


class Exposition:
    """The samples of one page; a name's series are added up unless told apart by a label."""

    def __init__(self, page: str) -> None:
        self._samples: list[tuple[str, dict[str, str], float]] = []
        for line in page.splitlines():
            match = None if line.startswith("#") else _SAMPLE.match(line.strip())
            if match:
                labels = dict(_LABEL.findall(match[2] or ""))
                self._samples.append((match[1], labels, float(match[3])))

    def total(self, *names: str) -> float | None:
        """The sum of all series of the first of `names` that the page has; None without any."""
        for name in names:
            values = [value for found, _, value in self._samples if found == name]
            if values:
                return sum(values)
        return None

    def by_label(self, label: str, *names: str) -> dict[str, float]:
        """The same, one sum for each value of `label`."""
        for name in names:
            sums: dict[str, float] = {}
            for found, labels, value in self._samples:
                if found == name and label in labels:
                    sums[labels[label]] = sums.get(labels[label], 0.0) + value
            if sums:
                return sums
        return {}

    def quantile(self, share: float, *names: str) -> float | None:
        """A histogram's quantile by linear interpolation, as PromQL's histogram_quantile; None
        for a histogram that is missing or empty."""
        for name in names:
            buckets = self.by_label("le", f"{name}_bucket")
            if buckets:
                return _quantile(share, sorted((float(le), n) for le, n in buckets.items()))
        return None


def _quantile(share: float, buckets: Iterable[tuple[float, float]]) -> float | None:
    edges = list(buckets)
    target = share * edges[-1][1]
    if target == 0.0:
        return None
    low_edge, low_count = 0.0, 0.0
    for edge, count in edges:
        if count >= target:
            if math.isinf(edge):
                return low_edge
            return low_edge + (edge - low_edge) * (target - low_count) / (count - low_count)
        low_edge, low_count = edge, count
    return low_edge
