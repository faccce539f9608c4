"""Normal numbers that are the same bits on every machine and numpy version."""

import numpy as np


class NormalStream:
    """Draws from PCG64's raw words with integer arithmetic, the same on every processor.

    A normal number is the sum of twelve uniform ones (variance 1/12 each) less their mean; unlike
    Box-Muller it needs no logarithm or cosine, whose last bit depends on the processor.
    """

    def __init__(self, seed):
        self._bits = np.random.PCG64(seed)

    def normal(self, shape, std=1.0, mean=0.0):
        """float32 array of `shape`, each about N(mean, std^2), within 6 std."""
        count = int(np.prod(shape))
        words = self._bits.random_raw(6 * count).reshape(count, 6)
        halves = (words >> np.uint64(32)) + (words & np.uint64(0xFFFFFFFF))  # below 2^33
        total = halves.sum(axis=1, dtype=np.uint64).astype(np.float64)  # exact: below 2^36
        unit = total / 2.0**32 - 6.0
        return (mean + std * unit).astype(np.float32).reshape(shape)

    def uniform(self, shape, low, high):
        """float32 array of `shape` in [low, high]."""
        words = self._bits.random_raw(int(np.prod(shape))) >> np.uint64(11)
        unit = words.astype(np.float64) / 2.0**53
        return (low + (high - low) * unit).astype(np.float32).reshape(shape)

    def integers(self, count, below):
        """`count` ints in [0, below); `below` is far under 2^53."""
        words = self._bits.random_raw(count) >> np.uint64(32)
        return [int(word) * below >> 32 for word in words.tolist()]
