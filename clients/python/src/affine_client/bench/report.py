"""The result of a load test, as vLLM's block of text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from affine_client.bench.record import Record

_WIDTH = 50
_TITLES = {
    "ttft": ("Time to First Token", "TTFT"),
    "tpot": ("Time per Output Token (excl. 1st token)", "TPOT"),
    "itl": ("Inter-token Latency", "ITL"),
    "e2el": ("End-to-end Latency", "E2EL"),
}
_PERCENTILES = (90, 95, 99)


class Report:
    """`duration` in seconds. Latencies are reported in milliseconds, of successes alone."""

    def __init__(self, records: Sequence[Record], duration: float) -> None:
        self._records = records
        self._good = [record for record in records if record.success]
        self._duration = duration

    @property
    def errors(self) -> list[str]:
        return [record.error for record in self._records if record.error is not None]

    def summary(self) -> dict[str, float]:
        good, duration = self._good, self._duration
        prompt = sum(record.prompt_tokens for record in good)
        output = sum(record.output_tokens for record in good)
        figures: dict[str, float] = {
            "completed": len(good),
            "failed": len(self.errors),
            "duration": duration,
            "total_input_tokens": prompt,
            "total_output_tokens": output,
            "request_throughput": len(good) / duration,
            "output_throughput": output / duration,
            "total_token_throughput": (prompt + output) / duration,
        }
        for name, seconds in self._latencies().items():
            if seconds:
                figures[f"mean_{name}_ms"] = 1e3 * sum(seconds) / len(seconds)
                figures[f"median_{name}_ms"] = 1e3 * percentile(seconds, 50)
                for p in _PERCENTILES:
                    figures[f"p{p}_{name}_ms"] = 1e3 * percentile(seconds, p)
        return figures

    def json(self) -> dict[str, Any]:
        """The summary, and every request's times in the order of the prompts (seconds)."""
        return {
            **self.summary(),
            "ttfts": [record.first_token if record.success else None for record in self._records],
            "itls": [record.gaps for record in self._records],
            "start_times": [record.started for record in self._records],
            "latencies": [record.latency if record.success else None for record in self._records],
            "input_lens": [record.prompt_tokens for record in self._records],
            "output_lens": [record.output_tokens for record in self._records],
            "successes": [record.success for record in self._records],
            "errors": [record.error or "" for record in self._records],
        }

    def block(self) -> str:
        figures = self.summary()
        lines = [
            " Serving Benchmark Result ".center(_WIDTH, "="),
            _row("Successful requests:", figures["completed"], 0),
            _row("Failed requests:", figures["failed"], 0),
            _row("Benchmark duration (s):", figures["duration"]),
            _row("Total input tokens:", figures["total_input_tokens"], 0),
            _row("Total generated tokens:", figures["total_output_tokens"], 0),
            _row("Request throughput (req/s):", figures["request_throughput"]),
            _row("Output token throughput (tok/s):", figures["output_throughput"]),
            _row("Total Token throughput (tok/s):", figures["total_token_throughput"]),
        ]
        for name, (title, short) in _TITLES.items():
            if f"mean_{name}_ms" in figures:
                lines.append(title.center(_WIDTH, "-"))
                for key in ("mean", "median", *(f"p{p}" for p in _PERCENTILES)):
                    label = f"{key.capitalize()} {short} (ms):"
                    lines.append(_row(label, figures[f"{key}_{name}_ms"]))
        return "\n".join([*lines, "=" * _WIDTH])

    def _latencies(self) -> dict[str, list[float]]:
        per_token = [record.time_per_token for record in self._good]
        return {
            "ttft": [record.first_token for record in self._good],
            "tpot": [value for value in per_token if value is not None],
            "itl": [gap for record in self._good for gap in record.gaps],
            "e2el": [record.latency for record in self._good],
        }


def percentile(values: Sequence[float], p: float) -> float:
    """The p-th percentile of at least one value, linear between neighbours."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * p / 100.0
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _row(label: str, value: float, digits: int = 2) -> str:
    return f"{label:<40} {value:<9.{digits}f}".rstrip()
