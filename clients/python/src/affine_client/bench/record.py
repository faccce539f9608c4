"""What is measured of one request."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Record:
    """Times in seconds; `started` counts from the start of the run.

    A piece is what arrives at once: one event or message with at least one token.
    """

    started: float  # when it was sent
    stamps: list[float] = field(default_factory=list)  # arrivals of pieces, since `started`
    counts: list[int] = field(default_factory=list)  # tokens in each piece; as long as `stamps`
    prompt_tokens: int = 0
    output_tokens: int = 0
    error: str | None = None
    cached_tokens: int | None = None  # of the prompt's; None: the server does not tell
    intended: float | None = None  # when it was to be sent; None: when it was
    cancelled: bool = False  # hung up on, as planned
    turn: int = 0  # within its conversation
    token_ids: list[int] = field(default_factory=list)  # of the answer, if the server tells them
    texts: list[str] = field(default_factory=list)  # of its pieces

    @property
    def success(self) -> bool:
        return self.error is None and not self.cancelled

    def note(self, arrived: float, tokens: int) -> None:
        """A piece of `tokens` tokens came `arrived` seconds after `started`; none is no piece."""
        if tokens > 0:
            self.stamps.append(arrived)
            self.counts.append(tokens)

    @property
    def delay(self) -> float:
        """From the moment that the load asked for to the one at which it was sent. It counts in
        `first_token` and `latency`: a user who comes while the generator waits waits as well."""
        return 0.0 if self.intended is None else max(0.0, self.started - self.intended)

    @property
    def first_token(self) -> float:
        return self.delay + self.stamps[0]

    @property
    def latency(self) -> float:
        return self.delay + self.stamps[-1]

    @property
    def pauses(self) -> list[float]:
        """Seconds between neighbouring pieces, as a reader of the stream sees them."""
        return [
            later - earlier for earlier, later in zip(self.stamps, self.stamps[1:], strict=False)
        ]

    @property
    def gaps(self) -> list[float]:
        """Seconds between tokens: a piece of k tokens after a pause of t is k gaps of t / k.

        Tokens of the first piece have no gaps: all of their time is in `first_token`.
        """
        return [
            pause / tokens
            for pause, tokens in zip(self.pauses, self.counts[1:], strict=True)
            for _ in range(tokens)
        ]

    @property
    def time_per_token(self) -> float | None:
        """Seconds for each output token after the first piece; None if there is none."""
        later = self.output_tokens - (self.counts[0] if self.counts else 1)
        return (self.stamps[-1] - self.stamps[0]) / later if later > 0 else None
