"""What is done with a server to get figures: one run each. Seeds make prompts that no earlier run
had, so that nothing of them is cached."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from serving.asker import Asker
from serving.figures import load_figures, medians, overhead_figures
from serving.load import Load, Prompts, random_ids
from serving.running_server import RunningServer
from serving.steady_decode import SteadyDecode

Progress = Callable[[int], None]  # so many more requests are done


class Experiment(Protocol):
    def run(
        self, server: RunningServer, vocab_size: int, seed: str, progress: Progress
    ) -> dict[str, float]:
        """The figures of one run; RunFailed if a request failed."""


@dataclass(frozen=True)
class Throughput:
    """One closed loop of unlike prompts."""

    load: Load

    def run(
        self, server: RunningServer, vocab_size: int, seed: str, progress: Progress
    ) -> dict[str, float]:
        before = server.step_times()
        figures = closed_loop(server.asker, Prompts(self.load, vocab_size, seed), progress)
        after = server.step_times()
        if before and after:
            figures |= overhead_figures(before, after, figures["duration_s"])
        return figures


@dataclass(frozen=True)
class SharedPrefix:
    """First `probes` prefixes, each asked for twice in a row and alone: cold, then warm. Then a
    closed loop whose prompts all begin with the last of them."""

    load: Load
    prefix_tokens: int
    probes: int

    def run(
        self, server: RunningServer, vocab_size: int, seed: str, progress: Progress
    ) -> dict[str, float]:
        draw = random.Random(f"prefix {seed}")
        pairs = []
        for _ in range(self.probes):
            prefix = random_ids(draw, self.prefix_tokens, vocab_size)
            cold, warm = (
                first_token_ms(server.asker, [*prefix, *rest], progress)
                for rest in self._endings(draw, vocab_size)
            )
            pairs.append({"cold_ms": cold, "warm_ms": warm, "warm_over_cold": warm / cold})
        prompts = Prompts(self.load, vocab_size, seed, tuple(prefix))
        return {**closed_loop(server.asker, prompts, progress), **medians(pairs)}

    def _endings(self, draw: random.Random, vocab_size: int) -> list[list[int]]:
        return [random_ids(draw, self.load.prompt_tokens, vocab_size) for _ in range(2)]


@dataclass(frozen=True)
class DecodeBeside:
    """A decode that runs while a load comes: how long its stream stands still at most."""

    load: Load
    prompt_tokens: int
    output_tokens: int  # of the decode at most: more than it gets to while the load runs
    bound_ms: float  # --max_decode_stall_ms of ours, its default

    def run(
        self, server: RunningServer, vocab_size: int, seed: str, progress: Progress
    ) -> dict[str, float]:
        prompt = random_ids(random.Random(f"decode {seed}"), self.prompt_tokens, vocab_size)
        decode = SteadyDecode(server.asker, prompt, self.output_tokens)
        decode.wait_first()
        try:
            closed_loop(server.asker, Prompts(self.load, vocab_size, seed), progress)
        finally:
            decode.stop()
        stall_ms = 1e3 * decode.longest_pause()
        return {"longest_stall_ms": stall_ms, "stall_over_bound": stall_ms / self.bound_ms}


def closed_loop(asker: Asker, prompts: Prompts, progress: Progress) -> dict[str, float]:
    records, duration = asker.closed_loop(
        prompts.prompts(), prompts.output_tokens, prompts.load.concurrency, lambda _: progress(1)
    )
    return load_figures(records, duration)


def first_token_ms(asker: Asker, prompt: list[int], progress: Progress) -> float:
    """Of a request that is alone."""
    record = asker.one(prompt, 1)
    progress(1)
    return load_figures([record], 1.0)["first_token_p50_ms"]
