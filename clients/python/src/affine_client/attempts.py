"""The bookkeeping of one call over its attempts; shared by the sync and the asyncio client."""

from __future__ import annotations

import random
import time

from affine_client.errors import AffineError, DeadlineExceeded
from affine_client.retry import RetryPolicy

# The name under which grpc.health.v1 tells whether completions are served.
READY_SERVICE = "affine.v1.CompletionService"


def call_metadata(api_key: str | None) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {api_key}"),) if api_key else ()


class Attempts:
    """Counts attempts and the time left. `timeout` in seconds from construction; None: no limit."""

    def __init__(self, policy: RetryPolicy, timeout: float | None, draw: random.Random) -> None:
        self._policy = policy
        self._draw = draw
        self._timeout = timeout
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._made = 0

    def time_left(self) -> float | None:
        """Seconds for the next attempt. Raises DeadlineExceeded when none are left."""
        if self._deadline is None:
            return None
        left = self._deadline - time.monotonic()
        if left <= 0.0:
            raise DeadlineExceeded(f"no answer within the timeout of {self._timeout:g} s")
        return left

    def wait_after(self, error: AffineError) -> float:
        """Seconds to wait before the next attempt; raises `error` when there is to be none."""
        self._made += 1
        left = None if self._deadline is None else self._deadline - time.monotonic()
        wait = self._policy.delay(self._made, error, left, self._draw)
        if wait is None:
            raise error from None
        return wait
