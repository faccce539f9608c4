"""alpha_ma: the exponential mean of each head's alpha."""

import torch


class RunningMean:
    """mean <- rho mean + (1 - rho) batch mean, for each layer and head, once a step.

    No gradient flows through it: it is a statistic of past batches, and serving reads it as a
    constant. A step's beta uses the mean as it stood before the step, as serving would. It goes on
    from the checkpoint's mean: from 0, beta would start at -alpha / N and change every output until
    the mean has caught up, where the identity's 0.5 starts at beta = 0.
    """

    def __init__(self, means: list[torch.Tensor], rho: float):
        """`means`: alpha_ma [heads] of each layer, float32; updated in place."""
        self._means = means
        self._rho = rho
        self._batch: dict[int, torch.Tensor] = {}

    def observe(self, layer: int, alpha: torch.Tensor) -> None:
        """Remembers the mean of a layer's alpha [batch, heads, length], for `update`."""
        self._batch[layer] = alpha.float().mean(dim=(0, 2))

    def update(self) -> None:
        """Takes in what was observed since the last update."""
        with torch.no_grad():
            for layer, mean in self._batch.items():
                self._means[layer].lerp_(mean, 1 - self._rho)
        self._batch.clear()
