"""The result of one run, as vLLM's block of text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from affine_client.bench.generator_load import GeneratorLoad
from affine_client.bench.goal import Goal
from affine_client.bench.record import Record

_WIDTH = 50
TITLES = {
    "ttft": ("Time to First Token", "TTFT"),
    "tpot": ("Time per Output Token (excl. 1st token)", "TPOT"),
    "itl": ("Inter-token Latency", "ITL"),
    "e2el": ("End-to-end Latency", "E2EL"),
    "delay": ("Queueing before the Send", "Queueing"),
}
_PERCENTILES = (90, 95, 99)


class Report:
    """`duration` in seconds. Latencies are reported in milliseconds, of successes alone: neither
    failures nor answers that were hung up on."""

    def __init__(
        self,
        records: Sequence[Record],
        duration: float,
        goal: Goal = Goal(),
        generator: GeneratorLoad | None = None,
    ) -> None:
        self.records = records
        self.duration = duration
        self.goal = goal
        self.generator = generator
        self._good = [record for record in records if record.success]

    @property
    def errors(self) -> list[str]:
        return [record.error for record in self.records if record.error is not None]

    def summary(self) -> dict[str, float]:
        good, duration = self._good, self.duration
        prompt = sum(record.prompt_tokens for record in good)
        output = sum(record.output_tokens for record in good)
        # Tokens of answers that were hung up on were made and sent, too.
        cut = sum(sum(record.counts) for record in self.records if record.cancelled)
        cached = [record.cached_tokens for record in good if record.cached_tokens is not None]
        figures: dict[str, float] = {
            "completed": len(good),
            "failed": len(self.errors),
            "cancelled": sum(record.cancelled for record in self.records),
            "duration": duration,
            "total_input_tokens": prompt,
            "total_output_tokens": output,
            "request_throughput": len(good) / duration,
            "output_throughput": (output + cut) / duration,
            "total_token_throughput": (prompt + output + cut) / duration,
        }
        if cached:
            figures["cached_input_tokens"] = sum(cached)
        if self.goal.bounds:
            met = sum(self.goal.met(record) for record in self.records)
            judged = sum(not record.cancelled for record in self.records)
            figures["request_goodput"] = met / duration
            figures["goodput_share"] = met / judged if judged else 0.0
        for name, seconds in self.latencies().items():
            if seconds:
                figures |= _spread(name, seconds)
        if self.generator is not None:
            figures["generator_core_share"] = self.generator.core_share
            figures["generator_lag_p99_ms"] = 1e3 * self.generator.lag_p99
        return figures

    def json(self) -> dict[str, Any]:
        """The summary, and every request's times in the order of the prompts (seconds)."""
        records = self.records
        return {
            **self.summary(),
            "ttfts": [record.first_token if record.stamps else None for record in records],
            "itls": [record.gaps for record in records],
            "start_times": [record.started for record in records],
            "intended_times": [record.started - record.delay for record in records],
            "latencies": [record.latency if record.success else None for record in records],
            "input_lens": [record.prompt_tokens for record in records],
            "output_lens": [record.output_tokens for record in records],
            "turns": [record.turn for record in records],
            "successes": [record.success for record in records],
            "cancellations": [record.cancelled for record in records],
            "errors": [record.error or "" for record in records],
        }

    def block(self) -> str:
        figures = self.summary()
        lines = [
            " Serving Benchmark Result ".center(_WIDTH, "="),
            _row("Successful requests:", figures["completed"], 0),
            _row("Failed requests:", figures["failed"], 0),
        ]
        if figures["cancelled"]:
            lines.append(_row("Requests hung up on:", figures["cancelled"], 0))
        lines += [
            _row("Benchmark duration (s):", figures["duration"]),
            _row("Total input tokens:", figures["total_input_tokens"], 0),
            _row("Total generated tokens:", figures["total_output_tokens"], 0),
            _row("Request throughput (req/s):", figures["request_throughput"]),
        ]
        if self.goal.bounds:
            lines.append(_row("Request goodput (req/s):", figures["request_goodput"]))
            lines.append(_row("Share that met the goal (%):", 100 * figures["goodput_share"], 1))
        lines += [
            _row("Output token throughput (tok/s):", figures["output_throughput"]),
            _row("Total Token throughput (tok/s):", figures["total_token_throughput"]),
        ]
        if figures.get("cached_input_tokens"):
            lines.append(_row("Input tokens from the cache:", figures["cached_input_tokens"], 0))
        for name, (title, short) in TITLES.items():
            if f"mean_{name}_ms" in figures:
                lines.append(title.center(_WIDTH, "-"))
                for key in ("mean", "median", *(f"p{p}" for p in _PERCENTILES)):
                    label = f"{key.capitalize()} {short} (ms):"
                    lines.append(_row(label, figures[f"{key}_{name}_ms"]))
        return "\n".join([*lines, "=" * _WIDTH])

    def latencies(self) -> dict[str, list[float]]:
        """Seconds, by figure; "delay" only of loads whose requests had a time to be sent at."""
        per_token = [record.time_per_token for record in self._good]
        return {
            "ttft": [record.first_token for record in self._good],
            "tpot": [value for value in per_token if value is not None],
            "itl": [gap for record in self._good for gap in record.gaps],
            "e2el": [record.latency for record in self._good],
            "delay": [record.delay for record in self._good if record.intended is not None],
        }


def percentile(values: Sequence[float], p: float) -> float:
    """The p-th percentile of at least one value, linear between neighbours."""
    return _at(sorted(values), p)


def _at(ordered: Sequence[float], p: float) -> float:
    place = (len(ordered) - 1) * p / 100.0
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _spread(name: str, seconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    figures = {
        f"mean_{name}_ms": 1e3 * sum(ordered) / len(ordered),
        f"median_{name}_ms": 1e3 * _at(ordered, 50),
    }
    return figures | {f"p{p}_{name}_ms": 1e3 * _at(ordered, p) for p in _PERCENTILES}


def _row(label: str, value: float, digits: int = 2) -> str:
    return f"{label:<40} {value:<9.{digits}f}".rstrip()
