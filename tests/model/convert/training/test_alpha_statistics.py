"""Figures of the scales on a text."""

import pytest
import torch
from affine_convert.training.alpha_statistics import AlphaStatistics


def test_figures_are_those_of_all_values_however_they_came():
    alpha = torch.rand(4, 3, 5, generator=torch.Generator().manual_seed(1))
    alpha[0, 0, :2], alpha[1, 2, 3] = 0.0, 1.0
    statistics = AlphaStatistics()
    statistics.observe(1, alpha[:1])
    statistics.observe(0, torch.full((2, 3, 5), 0.5))
    statistics.observe(1, alpha[1:])
    still, moving = statistics.by_layer()
    assert (still["mean"], still["std"], still["std_within_head"]) == (0.5, 0.0, 0.0)
    heads = alpha.transpose(0, 1).flatten(1)
    wanted = {
        "mean": heads.mean(),
        "std": heads.std(correction=0),
        "std_within_head": heads.std(1, correction=0).mean(),
        "least_head_mean": heads.mean(1).min(),
        "largest_head_mean": heads.mean(1).max(),
        "at_zero": 2 / 60,
        "at_one": 1 / 60,
    }
    assert moving == pytest.approx({name: float(value) for name, value in wanted.items()}, abs=1e-4)
