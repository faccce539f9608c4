"""The parts of affine attention, against direct weight matrices in float64."""

import pytest
import torch
from affine_convert.training.affine_attention import affine_sum, alpha_of, weighted_values
from affine_convert.training.decoder_config import AttentionSpec


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_clipped_alpha_is_a_line_between_zero_and_one():
    logits = torch.tensor([-9.0, -5.0, 0.0, 2.5, 5.0, 9.0])
    found = alpha_of(logits, "linear_clipping")
    torch.testing.assert_close(found, torch.tensor([0.0, 0.0, 0.5, 0.75, 1.0, 1.0]))
    assert alpha_of(torch.zeros(1), "sigmoid").item() == 0.5


@pytest.mark.parametrize("denominator", ["softmax", "off_by_one", "learned_sink"])
def test_weighted_values_are_those_of_the_definition(denominator):
    query, key, value = (random(2, 3, 7, 4, seed=seed) for seed in range(3))
    sinks = torch.tensor([-1.0, 0.5, 2.0])
    found = weighted_values(query, key, value, AttentionSpec(denominator), sinks)
    scores = (query @ key.transpose(2, 3)).double() / 2
    raised = scores.exp() * torch.ones(7, 7).tril()
    added = {"softmax": torch.zeros(3), "off_by_one": torch.ones(3), "learned_sink": sinks.exp()}
    below = raised.sum(-1, keepdim=True) + added[denominator].double().view(1, 3, 1, 1)
    torch.testing.assert_close(found.double(), raised / below @ value.double(), atol=1e-5, rtol=0)


@pytest.mark.parametrize("normalizer", ["visible", 64])
def test_affine_weights_sum_to_alpha_and_the_share_of_beta(normalizer):
    """With values of 1, softmax gives 1, and what comes out is the sum of all weights."""
    value = torch.ones(1, 2, 5, 3)
    alpha, mean = torch.rand(1, 2, 5), torch.tensor([0.3, 0.8])
    found = affine_sum(torch.ones(1, 2, 5, 3), value, alpha, mean, normalizer)
    share = 1.0 if normalizer == "visible" else torch.arange(1, 6) / 64
    wanted = alpha + (mean.view(1, 2, 1) - alpha) * share
    torch.testing.assert_close(found, wanted.unsqueeze(-1).expand_as(found))


def test_no_position_sees_what_follows_it():
    query, key, value = (random(1, 2, 6, 4, seed=seed) for seed in range(3))
    alpha, mean = torch.rand(1, 2, 6), torch.tensor([0.3, 0.8])

    def output(value):
        weighted = weighted_values(query, key, value, AttentionSpec(), None)
        return affine_sum(weighted, value, alpha, mean, "visible")

    changed = value.clone()
    changed[:, :, 4:] += 1
    before, after = output(value), output(changed)
    assert torch.equal(before[:, :, :4], after[:, :, :4])
    assert not torch.allclose(before[:, :, 4:], after[:, :, 4:])
