"""What is shown on stderr while it works: a bar of runs, and a line for each that is done."""

from __future__ import annotations

import sys
from types import TracebackType

from serving.figures import Figures
from serving.measurement import Run
from serving.plan import Visit
from tqdm import tqdm


class Progress:
    """A Display. The bar counts runs; behind it stand server, experiment and requests done."""

    def __init__(self, runs: int, repeats: int) -> None:
        self._repeats = repeats
        self._bar = tqdm(total=runs, unit="run", file=sys.stderr, dynamic_ncols=True)
        self._what = ""
        self._requests = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.close()

    def begin(self, visit: Visit, what: str) -> None:
        self._what = f"{visit.server} {visit.repeat + 1}/{self._repeats}: {what}"
        self._requests = 0
        self._bar.set_postfix_str(self._what)

    def advance(self, requests: int) -> None:
        self._requests += requests
        self._bar.set_postfix_str(f"{self._what}, {self._requests} requests done")

    def skipped(self, server: str, reason: str, runs: int) -> None:
        self._bar.write(f"{server}: {reason}", file=sys.stderr)
        self._bar.update(runs)

    def done(self, run: Run) -> None:
        said = run.problem or _in_short(run.figures)
        self._bar.write(f"{self._what}: {said}", file=sys.stderr)
        self._bar.update()


def _in_short(figures: Figures) -> str:
    if "output_tokens_per_s" in figures:
        return f"{figures['output_tokens_per_s']:.1f} output tokens/s"
    return ", ".join(f"{name} {value:.1f}" for name, value in figures.items())
