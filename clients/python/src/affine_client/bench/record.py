"""What is measured of one request."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Record:
    """Times in seconds; `started` counts from the start of the run."""

    started: float
    stamps: list[float] = field(default_factory=list)  # arrivals of pieces, since `started`
    prompt_tokens: int = 0
    output_tokens: int = 0
    error: str | None = None

    @property
    def success(self) -> bool:
        return self.error is None

    @property
    def first_token(self) -> float:
        return self.stamps[0]

    @property
    def latency(self) -> float:
        return self.stamps[-1]

    @property
    def gaps(self) -> list[float]:
        return [
            later - earlier for earlier, later in zip(self.stamps, self.stamps[1:], strict=False)
        ]

    @property
    def time_per_token(self) -> float | None:
        """Seconds for each output token after the first; None for an answer of one token."""
        if self.output_tokens < 2:
            return None
        return (self.latency - self.first_token) / (self.output_tokens - 1)
