"""From the records of one run to its figures, and from repeats to medians."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from affine_client.bench.record import Record
from affine_client.bench.report import percentile

Figures = Mapping[str, float]


class RunFailed(Exception):
    """A run that says nothing of speed, because a request of it failed."""


def load_figures(records: Sequence[Record], duration_s: float) -> dict[str, float]:
    """Throughput and latencies of one closed loop. Output tokens are the server's own count.

    `uncounted_tokens` are output tokens that no event showed; gaps are right where it is 0.
    """
    for number, record in enumerate(records):
        if record.error is not None:
            raise RunFailed(f"request {number + 1} of {len(records)} failed: {record.error}")
        if record.output_tokens == 0 or not record.stamps:
            raise RunFailed(f"the answer to request {number + 1} held no usage or no token")
    output = sum(record.output_tokens for record in records)
    prompt = sum(record.prompt_tokens for record in records)
    firsts = [record.first_token for record in records]
    gaps = [gap for record in records for gap in record.gaps]
    figures = {
        "output_tokens_per_s": output / duration_s,
        "all_tokens_per_s": (prompt + output) / duration_s,
        "first_token_p50_ms": 1e3 * percentile(firsts, 50),
        "first_token_p99_ms": 1e3 * percentile(firsts, 99),
        "duration_s": duration_s,
        "output_tokens": output,
        "uncounted_tokens": output - sum(sum(record.counts) for record in records),
    }
    if gaps:
        figures["between_tokens_p50_ms"] = 1e3 * percentile(gaps, 50)
        figures["between_tokens_p99_ms"] = 1e3 * percentile(gaps, 99)
    return figures


@dataclass(frozen=True)
class StepTimes:
    """Seconds that a server's engine has spent since its start."""

    step: float  # plan, model, commit, publish
    model: float  # the model's share


def overhead_figures(before: StepTimes, after: StepTimes, wall_s: float) -> dict[str, float]:
    """What a load's wall time was above the time of its steps' model, as ratios.

    `wall_over_model` has all of it: HTTP, queues, scheduling and the client; `step_over_model` the
    engine's own part.
    """
    step, model = after.step - before.step, after.model - before.model
    if model <= 0.0:
        raise RunFailed("/metrics counted no time of the model during the load")
    return {
        "step_s": step,
        "model_s": model,
        "wall_over_model": wall_s / model,
        "step_over_model": step / model,
    }


def medians(runs: Sequence[Figures]) -> dict[str, float]:
    """Of each figure over the runs that have it."""
    names = dict.fromkeys(name for run in runs for name in run)
    return {name: statistics.median(values_of(runs, name)) for name in names}


def values_of(runs: Sequence[Figures], name: str) -> list[float]:
    return [run[name] for run in runs if name in run]
