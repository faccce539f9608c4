"""What of config.json the forward pass takes, and what it refuses."""

import pytest
from affine_convert.errors import ConvertError
from affine_convert.training.decoder_config import AttentionSpec, read_decoder_config
from tiny_folder import CONFIG


def test_sizes_and_defaults_are_read():
    config = read_decoder_config({**CONFIG, "num_key_value_heads": None, "head_dim": None})
    assert (config.heads, config.kv_heads, config.head_dim) == (2, 2, 4)
    assert config.attention == AttentionSpec()
    assert config.most_tokens == 32


def test_the_attention_key_is_read_and_given_back():
    attention = {
        "denominator": "learned_sink",
        "affine": {"alpha_activation": "sigmoid", "normalizer": 16},
        "gate": "headwise",
    }
    config = read_decoder_config({**CONFIG, "attention": attention})
    assert config.attention == AttentionSpec("learned_sink", "sigmoid", 16, "headwise")
    assert config.attention.to_json() == attention
    assert config.most_tokens == 16


def test_rope_is_read_in_both_spellings():
    old = {"rope_theta": 5e5, "rope_scaling": {"type": "linear", "factor": 2.0}}
    new = {"rope_theta": None}
    new["rope_parameters"] = {"rope_type": "linear", "factor": 2.0, "rope_theta": 5e5}
    for spelling in (old, new):
        config = read_decoder_config({**CONFIG, **spelling})
        assert config.rope_theta == 5e5
        assert (config.rope_scaling["rope_type"], config.rope_scaling["factor"]) == ("linear", 2.0)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"architectures": ["GemmaForCausalLM"]}, "architectures is .*GemmaForCausalLM"),
        ({"hidden_act": "gelu"}, "hidden_act is 'gelu'. Allowed is one of silu"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0. Allowed is a number from 1"),
        ({"use_sliding_window": True}, "use_sliding_window is True"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "rope_type is 'yarn'"),
        ({"attention": {"gate": "headless"}}, "gate is 'headless'"),
        (
            {"attention": {"affine": {"alpha_activation": "relu", "normalizer": "visible"}}},
            "alpha_activation is 'relu'",
        ),
        (
            {"attention": {"affine": {"alpha_activation": "sigmoid", "normalizer": 0}}},
            "normalizer is 0",
        ),
    ],
)
def test_what_is_not_built_in_is_refused_by_name(changes, told):
    with pytest.raises(ConvertError, match=told):
        read_decoder_config({**CONFIG, **changes})
