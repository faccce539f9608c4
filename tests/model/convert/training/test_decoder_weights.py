"""Tensors of a folder, checked against its config."""

import json

import pytest
import tiny_folder
import torch
from affine_convert.errors import ConvertError
from affine_convert.training.decoder_weights import load_weights


def test_tensors_keep_the_type_they_are_stored_in(tmp_path):
    for dtype, kind in (("BF16", torch.bfloat16), ("F16", torch.float16), ("F32", torch.float32)):
        _, weights = load_weights(tiny_folder.write_tiny(tmp_path / dtype, dtype))
        assert {tensor.dtype for tensor in weights.values()} == {kind}
        assert weights.keys() == tiny_folder.shapes().keys()


def test_one_mean_for_a_layer_becomes_one_for_each_head(checkpoint):
    config, weights = load_weights(checkpoint("llama-shared-mean"))
    mean = weights["model.layers.0.self_attn.alpha_ma"]
    assert mean.shape == (config.heads,)
    assert len(set(mean.tolist())) == 1


def test_everything_that_does_not_fit_is_named_in_one_error(tmp_path):
    folder = tiny_folder.write_tiny(tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    attention = {"denominator": "learned_sink"}
    config |= {"num_hidden_layers": 1, "intermediate_size": 13, "attention": attention}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConvertError) as refused:
        load_weights(folder)
    for told in (
        "model.layers.0.self_attn.sinks is missing",
        "model.layers.0.mlp.up_proj.weight is [12, 8], expected [13, 8]",
        "model.layers.1.self_attn.o_proj.weight is unexpected",
    ):
        assert told in str(refused.value)
