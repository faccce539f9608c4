"""When the requests of an open loop are to be sent, whatever became of those before."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Arrivals:
    """`rate` in requests a second; infinite: all at once. `burst` of them come together.

    Gaps between bursts follow a gamma distribution of the shape `burstiness`: 1 is a Poisson
    process, below 1 the gaps are more uneven, above 1 more even, and infinite makes all alike.
    """

    rate: float
    burstiness: float = 1.0
    burst: int = 1

    def times(self, source: random.Random) -> Iterator[float]:
        """Seconds after the start, ascending, without end. The first is 0."""
        now = 0.0
        while True:
            for _ in range(self.burst):
                yield now
            now += self._gap(source)

    def _gap(self, source: random.Random) -> float:
        if math.isinf(self.rate):
            return 0.0
        mean = self.burst / self.rate
        if math.isinf(self.burstiness):
            return mean
        return source.gammavariate(self.burstiness, mean / self.burstiness)
