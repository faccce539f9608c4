"""An event loop whose clock jumps to the next thing that is due, so that nothing waits."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _NoWait(selectors.SelectSelector):
    """Moves the clock by what a select would have waited."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list:
        if timeout is None:
            raise RuntimeError("everything waits and nothing is due: the test would hang")
        self.now += timeout
        return super().select(0)


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumps = _NoWait()
        super().__init__(self._jumps)

    def time(self) -> float:
        return self._jumps.now


def run_virtually(work: Coroutine[Any, Any, T]) -> T:
    """`work`'s result, as asyncio.run, in no time; the clock begins at 0."""
    with asyncio.Runner(loop_factory=_VirtualLoop) as runner:
        return runner.run(work)
