"""Rotary position embedding, halves turned against each other as Hugging Face does."""

import numpy as np
import torch

from affine_convert.gguf_config import llama3_divisors
from affine_convert.training.decoder_config import DecoderConfig


def _frequencies(config: DecoderConfig) -> np.ndarray:
    """[head_dim / 2] radians a position."""
    steps = np.arange(0, config.head_dim, 2) / config.head_dim
    frequencies = config.rope_theta**-steps
    scaling = config.rope_scaling
    if scaling is None:
        return frequencies
    if scaling["rope_type"] == "linear":
        return frequencies / scaling["factor"]
    return frequencies / llama3_divisors(config.head_dim, config.rope_theta, scaling)


class Rotary:
    """Turns queries and keys by their positions, which count from 0."""

    def __init__(self, config: DecoderConfig, length: int, device: str):
        """Prepares `length` positions."""
        angles = np.arange(length)[:, None] * _frequencies(config)  # float64
        both = np.concatenate([angles, angles], axis=1)  # [length, head_dim]
        self._cos = torch.tensor(np.cos(both), dtype=torch.float32, device=device)
        self._sin = torch.tensor(np.sin(both), dtype=torch.float32, device=device)

    def turn(self, x: torch.Tensor) -> torch.Tensor:
        """x [batch, heads, length, head_dim], in its own type; computed in float32."""
        length = x.shape[2]
        wide = x.float()
        first, second = wide.chunk(2, dim=-1)
        crossed = torch.cat([-second, first], dim=-1)
        return (wide * self._cos[:length] + crossed * self._sin[:length]).to(x.dtype)
