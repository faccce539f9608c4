"""alpha_ma while training."""

import torch
from affine_convert.training.running_mean import RunningMean


def test_a_mean_moves_by_its_share_of_the_batch_once_a_step():
    means = [torch.tensor([0.5, 0.5]), torch.tensor([0.2, 0.4])]
    running = RunningMean(means, rho=0.9)
    alpha = torch.tensor([[[0.0, 1.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, 0.0]]])  # [batch, heads, t]
    running.observe(0, alpha)
    assert means[0].tolist() == [0.5, 0.5]  # a step's beta uses the mean from before
    running.update()
    torch.testing.assert_close(
        means[0], torch.tensor([0.9 * 0.5 + 0.1 * 0.25, 0.9 * 0.5 + 0.1 * 0.75])
    )
    torch.testing.assert_close(means[1], torch.tensor([0.2, 0.4]))
    before = means[0].clone()
    running.update()
    assert torch.equal(means[0], before)
