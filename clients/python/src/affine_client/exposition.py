"""Reads Prometheus' text format as far as the figures of the commands need it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

_SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')

_Series = tuple[str, frozenset[tuple[str, str]]]  # name and labels


class Exposition:
    """The samples of one page; a name's series are added up unless told apart by a label."""

    def __init__(self, page: str = "") -> None:
        self._samples: dict[_Series, float] = {}
        for line in page.splitlines():
            match = None if line.startswith("#") else _SAMPLE.match(line.strip())
            if match:
                labels = frozenset(_LABEL.findall(match[2] or ""))
                self._samples[(match[1], labels)] = float(match[3])

    def minus(self, earlier: Exposition) -> Exposition:
        """What counters and histograms counted since `earlier`; a server that was started anew
        meanwhile counts from zero. Gauges make no sense in it."""
        made = Exposition()
        for series, value in self._samples.items():
            before = earlier._samples.get(series, 0.0)
            made._samples[series] = value - before if value >= before else value
        return made

    def only(self, label: str, value: str) -> Exposition:
        """The series whose `label` is `value`, and those without that label."""
        made = Exposition()
        for (name, labels), number in self._samples.items():
            if dict(labels).get(label, value) == value:
                made._samples[(name, labels)] = number
        return made

    def total(self, *names: str) -> float | None:
        """The sum of all series of the first of `names` that the page has; None without any."""
        for name in names:
            values = [value for (found, _), value in self._samples.items() if found == name]
            if values:
                return sum(values)
        return None

    def by_label(self, label: str, *names: str) -> dict[str, float]:
        """The same, one sum for each value of `label`."""
        for name in names:
            sums: dict[str, float] = {}
            for (found, pairs), value in self._samples.items():
                labels = dict(pairs) if found == name else {}
                if label in labels:
                    sums[labels[label]] = sums.get(labels[label], 0.0) + value
            if sums:
                return sums
        return {}

    def quantile(self, share: float, *names: str) -> float | None:
        """A histogram's quantile by linear interpolation, as PromQL's histogram_quantile; None
        for a histogram that is missing or empty."""
        edges = self._buckets(names)
        return _quantile(share, edges)[0] if edges else None

    def quantile_bucket(self, share: float, *names: str) -> tuple[float, float] | None:
        """The edges between which the quantile lies for certain."""
        edges = self._buckets(names)
        return _quantile(share, edges)[1:] if edges else None

    def mean(self, *names: str) -> float | None:
        """Of a histogram; exact. None for one that is missing or empty."""
        for name in names:
            count = self.total(f"{name}_count")
            if count is not None:
                return (self.total(f"{name}_sum") or 0.0) / count if count else None
        return None

    def values(self, label: str) -> list[str]:
        """All values of `label` on the page, sorted."""
        found = {dict(labels).get(label) for _, labels in self._samples}
        return sorted(value for value in found if value is not None)

    def _buckets(self, names: Iterable[str]) -> list[tuple[float, float]]:
        """Upper edges and cumulative counts, ascending; empty for a histogram without a value."""
        for name in names:
            buckets: Mapping[str, float] = self.by_label("le", f"{name}_bucket")
            if buckets:
                edges = sorted((float(le), count) for le, count in buckets.items())
                return edges if edges[-1][1] > 0.0 else []
        return []


def _quantile(share: float, edges: list[tuple[float, float]]) -> tuple[float, float, float]:
    """The estimate, and the lower and upper edge of its bucket."""
    target = share * edges[-1][1]
    low_edge, low_count = 0.0, 0.0
    for edge, count in edges:
        if count >= target and count > 0.0:
            if math.isinf(edge):
                return low_edge, low_edge, edge
            part = (target - low_count) / (count - low_count)
            return low_edge + (edge - low_edge) * part, low_edge, edge
        low_edge, low_count = edge, count
    return low_edge, low_edge, math.inf
