"""When a failed call is tried again, and after how long."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from affine_client.errors import AffineError, Busy, Unavailable


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential back-off with jitter. All times in seconds.

    A call is tried again only when the server took no part in it yet: it was refused as busy or
    unavailable, and of a stream nothing had arrived.
    """

    attempts: int = 5  # in all, the first included; 1 never tries again
    first_delay: float = 0.1
    multiplier: float = 2.0
    longest_delay: float = 10.0
    jitter: float = 0.5  # each delay is drawn from [1 - jitter, 1 + jitter] times its nominal value

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts is {self.attempts}; it must be at least 1")
        for name, least in (("first_delay", 0.0), ("longest_delay", 0.0), ("multiplier", 1.0)):
            value = getattr(self, name)
            if not least <= value < math.inf:
                raise ValueError(f"{name} is {value}; it must be finite and at least {least:g}")
        if not 0.0 <= self.jitter <= 1.0:
            raise ValueError(f"jitter is {self.jitter}; it must lie in [0, 1]")

    def delay(
        self, attempt: int, error: AffineError, time_left: float | None, draw: random.Random
    ) -> float | None:
        """Seconds to wait after `attempt` (1 is the first) failed with `error`, or None to give up.

        A `retry-after` of the server's is never undercut. Gives up at once when the wait would
        outlast `time_left`.
        """
        if attempt >= self.attempts or not isinstance(error, (Busy, Unavailable)):
            return None
        nominal = min(self.longest_delay, self.first_delay * self.multiplier ** (attempt - 1))
        wait = nominal * draw.uniform(1.0 - self.jitter, 1.0 + self.jitter)
        if error.retry_after is not None:
            wait = error.retry_after + wait
        if time_left is not None and wait >= time_left:
            return None
        return wait


NO_RETRIES = RetryPolicy(attempts=1)
