"""The learning rate over the steps."""

import pytest
from affine_convert.training.schedule import share_of_rate


def test_the_rate_climbs_evenly_then_falls_to_nothing():
    shares = [share_of_rate(step, 20, 4) for step in range(20)]
    assert shares[:4] == pytest.approx([0.2, 0.4, 0.6, 0.8])
    assert shares[4] == 1.0
    assert all(a > b > 0 for a, b in zip(shares[4:], shares[5:], strict=False))
    assert share_of_rate(20, 20, 4) == pytest.approx(0)


def test_without_warm_up_the_first_step_has_the_full_rate():
    assert share_of_rate(0, 10, 0) == 1.0


def test_a_warm_up_longer_than_the_training_is_no_error():
    assert 0 < share_of_rate(2, 3, 10) < 1
