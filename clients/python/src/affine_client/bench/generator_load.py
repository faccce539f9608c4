"""What the load generator itself took: whether it, not the server, was what was measured."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

_BEAT_S = 0.05
# Beyond these the generator's own work shows in the latencies.
_MOST_CORE_SHARE = 0.7
_MOST_LAG_S = 0.02


@dataclass
class GeneratorLoad:
    """`lags`: how much later than due this process got to its work, each 50 ms."""

    cpu_s: float = 0.0
    wall_s: float = 0.0
    lags: list[float] = field(default_factory=list)

    @property
    def core_share(self) -> float:
        """Of one core; all of this process's threads together."""
        return self.cpu_s / self.wall_s if self.wall_s > 0.0 else 0.0

    @property
    def lag_p99(self) -> float:
        ordered = sorted(self.lags)
        return ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))] if ordered else 0.0

    @property
    def remark(self) -> str | None:
        """Says so when the figures are those of the generator."""
        if self.core_share <= _MOST_CORE_SHARE and self.lag_p99 <= _MOST_LAG_S:
            return None
        return (
            f"the load generator took {self.core_share:.0%} of a core and came up to "
            f"{1e3 * self.lag_p99:.0f} ms late (p99): latencies hold its own delays; give it a core "
            "of its own or a lighter load"
        )


@contextmanager
def generator_load() -> Iterator[GeneratorLoad]:
    """Filled when it ends. Within an event loop; garbage of before is not looked at during it."""
    load = GeneratorLoad()
    clock = asyncio.get_running_loop().time

    async def beat() -> None:
        while True:
            due = clock() + _BEAT_S
            await asyncio.sleep(_BEAT_S)
            load.lags.append(max(0.0, clock() - due))

    gc.collect()
    gc.freeze()
    heart = asyncio.get_running_loop().create_task(beat())
    cpu, wall = time.process_time(), clock()
    try:
        yield load
    finally:
        load.cpu_s, load.wall_s = time.process_time() - cpu, clock() - wall
        heart.cancel()
        gc.unfreeze()
