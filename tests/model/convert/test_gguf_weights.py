"""Names and row order of GGUF weights."""

import numpy as np
import pytest
from affine_convert.errors import ConvertError
from affine_convert.gguf_config import llama3_divisors
from affine_convert.gguf_weights import hugging_face_name, permute, unpermute

HEADS, DIM, HIDDEN = 3, 8, 5


def rotate_neighbours(x: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """[heads, d]: pairs (2i, 2i + 1) turned by angles [d / 2], as GGUF's llama does."""
    even, odd = x[:, 0::2], x[:, 1::2]
    turned = np.empty_like(x)
    turned[:, 0::2] = even * np.cos(angles) - odd * np.sin(angles)
    turned[:, 1::2] = odd * np.cos(angles) + even * np.sin(angles)
    return turned


def rotate_halves(x: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """[heads, d]: pairs (i, i + d / 2) turned, as Hugging Face does."""
    first, second = x[:, : DIM // 2], x[:, DIM // 2 :]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=1)


def test_names_of_top_and_layers():
    assert hugging_face_name("token_embd.weight") == "model.embed_tokens.weight"
    assert hugging_face_name("output.weight") == "lm_head.weight"
    assert hugging_face_name("output_norm.weight") == "model.norm.weight"
    assert hugging_face_name("blk.12.attn_q.bias") == "model.layers.12.self_attn.q_proj.bias"
    assert (
        hugging_face_name("blk.0.ffn_norm.weight")
        == "model.layers.0.post_attention_layernorm.weight"
    )


@pytest.mark.parametrize(
    "name", ["blk.0.attn_q_norm.weight", "blk.0.ffn_gate_exps.weight", "output.scale"]
)
def test_unknown_tensors_are_refused_by_name(name):
    with pytest.raises(ConvertError, match=name):
        hugging_face_name(name)


def test_unpermute_undoes_permute_for_weights_and_biases():
    random = np.random.default_rng(0)
    for shape in ((HEADS * DIM, HIDDEN), (HEADS * DIM,)):
        rows = random.standard_normal(shape)
        assert np.array_equal(unpermute(permute(rows, HEADS), HEADS), rows)
        assert not np.array_equal(permute(rows, HEADS), rows)


def test_unpermute_brings_neighbours_to_halves():
    assert unpermute(np.arange(8), 1).tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    assert unpermute(np.arange(8), 2).tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_scores_are_the_same_under_either_rotation():
    random = np.random.default_rng(1)
    x, y = random.standard_normal((2, HIDDEN))
    query, key = random.standard_normal((2, HEADS * DIM, HIDDEN))  # as GGUF stores them
    angles_x, angles_y = random.standard_normal((2, DIM // 2))

    def scores(rotate, query_rows, key_rows):
        left = rotate((query_rows @ x).reshape(HEADS, DIM), angles_x)
        right = rotate((key_rows @ y).reshape(HEADS, DIM), angles_y)
        return (left * right).sum(axis=1)

    gguf_scores = scores(rotate_neighbours, query, key)
    ours = scores(rotate_halves, unpermute(query, HEADS), unpermute(key, HEADS))
    np.testing.assert_allclose(ours, gguf_scores, rtol=1e-12)
    assert not np.allclose(scores(rotate_halves, query, key), gguf_scores)


def test_llama3_divisors_keep_short_waves_and_divide_long_ones():
    scaling = {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    divisors = llama3_divisors(128, 500000.0, scaling)
    assert divisors.shape == (64,)
    assert divisors[0] == 1.0 and divisors[-1] == 8.0
    assert (np.diff(divisors) >= 0).all()
