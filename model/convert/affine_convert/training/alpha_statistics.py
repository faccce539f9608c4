"""What the scales do on a text: whether they differ by layer, head and input."""

import torch


class AlphaStatistics:
    """Sums over all positions that `observe` has seen, for each layer and head."""

    def __init__(self):
        self._sums: dict[int, torch.Tensor] = {}  # [4, heads], float64
        self._positions: dict[int, int] = {}

    def observe(self, layer: int, alpha: torch.Tensor) -> None:
        """Takes in a layer's alpha [batch, heads, length]."""
        each = alpha.double().transpose(0, 1).flatten(1)  # [heads, positions]
        parts = (each, each.square(), each == 0, each == 1)
        sums = torch.stack([part.double().sum(1) for part in parts]).cpu()
        self._sums[layer] = self._sums.get(layer, torch.zeros_like(sums)) + sums
        self._positions[layer] = self._positions.get(layer, 0) + each.shape[1]

    def by_layer(self) -> list[dict[str, float]]:
        """Of each layer, over heads and positions; `std` is of one value among all of them."""
        return [self._layer(layer) for layer in sorted(self._sums)]

    def _layer(self, layer: int) -> dict[str, float]:
        means, squares, zeros, ones = self._sums[layer] / self._positions[layer]
        variance = float(squares.mean() - means.mean() ** 2)
        within = float((squares - means**2).clamp(min=0).sqrt().mean())
        figures = {
            "mean": float(means.mean()),
            "std": max(0.0, variance) ** 0.5,
            "std_within_head": within,  # over positions, mean over heads
            "least_head_mean": float(means.min()),
            "largest_head_mean": float(means.max()),
            "at_zero": float(zeros.mean()),
            "at_one": float(ones.mean()),
        }
        return {name: round(value, 5) for name, value in figures.items()}
