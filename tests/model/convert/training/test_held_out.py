"""Losses by kind of text."""

import numpy as np
import pytest
import torch
from affine_convert.errors import ConvertError
from affine_convert.training.decoder import Decoder
from affine_convert.training.decoder_weights import load_weights
from affine_convert.training.held_out import HeldOut
from affine_convert.training.objective import Objective
from affine_convert.training.text_files import windows_of


def test_each_kind_has_the_mean_of_its_windows(plain):
    decoder = Decoder(*load_weights(plain), torch.float32, 8)
    random = np.random.default_rng(2)
    kinds = {"letters": random.integers(0, 300, 25), "digits": random.integers(0, 300, 60)}
    held_out = HeldOut(kinds, length=8, batch=2)
    assert held_out.tokens == {"letters": 24, "digits": 56}
    losses = held_out.losses(decoder, "test")
    for kind, tokens in kinds.items():
        whole = torch.from_numpy(windows_of(tokens, 8))
        assert losses[kind] == pytest.approx(
            float(Objective().loss(decoder, None, whole)), rel=1e-5
        )


def test_a_text_shorter_than_a_window_is_refused_by_name():
    with pytest.raises(ConvertError, match="texts short hold no window of --length = 8"):
        HeldOut({"short": np.arange(8), "long": np.arange(9)}, length=8, batch=2)
