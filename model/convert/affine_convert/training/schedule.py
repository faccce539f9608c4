"""The learning rate over the steps."""

import math


def share_of_rate(step: int, steps: int, warmup: int) -> float:
    """Of the full rate, at `step` (from 0): linear over `warmup` steps, then half a cosine to 0."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    done = (step - warmup) / max(1, steps - warmup)
    return 0.5 * (1 + math.cos(math.pi * done))
