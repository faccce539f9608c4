"""Carries out the plan: starts one server at a time and keeps what came of each experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Protocol

from serving.experiments import Experiment, closed_loop
from serving.figures import RunFailed
from serving.load import Load, Prompts
from serving.plan import Visit
from serving.running_server import RunningServer, ServerRefused, running
from serving.server_kinds import ServerKind

WARM_UP = Load(concurrency=8, requests=16, prompt_tokens=128, output_tokens=8)


@dataclass(frozen=True)
class Run:
    """One experiment on one server, once. `problem` says why there are no figures."""

    server: str
    experiment: str
    repeat: int
    seed: str
    figures: Mapping[str, float]
    problem: str | None = None


class Display(Protocol):
    """What is shown while it works."""

    def begin(self, visit: Visit, what: str) -> None: ...

    def advance(self, requests: int) -> None: ...

    def skipped(self, server: str, reason: str, runs: int) -> None: ...

    def done(self, run: Run) -> None: ...


class Measurement:
    """`left_out` gets the servers that can't be measured, and why."""

    def __init__(
        self,
        kinds: Mapping[str, ServerKind],
        experiments: Mapping[str, Experiment],
        vocab_size: int,
        log_folder: Path,
        display: Display,
    ) -> None:
        self._kinds = kinds
        self._experiments = experiments
        self._vocab_size = vocab_size
        self._log_folder = log_folder
        self._display = display
        self.runs: list[Run] = []
        self.left_out: dict[str, str] = {}

    def carry_out(self, visits: Sequence[Visit]) -> None:
        """Servers whose files are missing are left out; so is one that refused to start."""
        for visit in visits:
            missing = self._kinds[visit.server].missing()
            if missing is not None:
                self.left_out[visit.server] = f"left out: {missing} is not there"
            before = len(self.runs)
            if visit.server not in self.left_out:
                self._visit(visit)
            if visit.server in self.left_out:
                undone = len(visit.experiments) - (len(self.runs) - before)
                self._display.skipped(visit.server, self.left_out[visit.server], undone)

    def _visit(self, visit: Visit) -> None:
        log = self._log_folder / f"{visit.server.replace(' ', '-')}-{visit.repeat + 1}.log"
        self._display.begin(visit, "start")
        try:
            with running(self._kinds[visit.server], log) as server:
                self._display.begin(visit, "warm-up")
                self._warm_up(server, visit)
                for name in visit.experiments:
                    self._display.begin(visit, name)
                    self._keep(self._run(server, visit, name))
        except ServerRefused as refusal:
            self.left_out[visit.server] = f"server refused: {refusal}"

    def _warm_up(self, server: RunningServer, visit: Visit) -> None:
        prompts = Prompts(WARM_UP, self._vocab_size, f"warm-up {visit.repeat}")
        try:
            closed_loop(server.asker, prompts, lambda _: None)
        except RunFailed as problem:
            raise ServerRefused(f"warm-up: {problem}") from None

    def _run(self, server: RunningServer, visit: Visit, name: str) -> Run:
        seed = f"{name} {visit.repeat}"
        figures: Mapping[str, float] = {}
        problem = None
        try:
            figures = self._experiments[name].run(
                server, self._vocab_size, seed, self._display.advance
            )
        except (RunFailed, OSError, HTTPException) as failure:
            problem = str(failure) or type(failure).__name__
        return Run(visit.server, name, visit.repeat, seed, figures, problem)

    def _keep(self, run: Run) -> None:
        self.runs.append(run)
        self._display.done(run)
