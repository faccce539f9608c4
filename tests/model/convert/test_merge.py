"""Base and adapter as one checkpoint."""

import json

import adapter_maker
import numpy as np
import pytest
import tiny_folder
from affine_convert.__main__ import main
from affine_convert.affinize import convert
from affine_convert.errors import ConvertError
from affine_convert.floats import decode
from affine_convert.merge import merge
from affine_convert.safetensors_reader import read_folder
from numpy_llama import NumpyLlama


@pytest.fixture
def base(tmp_path):
    return tiny_folder.write_tiny(tmp_path / "plain")


def values(folder):
    return {name: decode(t.load(), t.dtype) for name, t in read_folder(folder).items()}


def test_the_result_is_the_affine_twin_with_the_adapters_tensors(base, tmp_path):
    adapter = adapter_maker.write(tmp_path / "a.safetensors", base)
    merge(base, adapter, tmp_path / "merged")
    convert(base, tmp_path / "twin", "linear_clipping", "visible")
    merged, twin = values(tmp_path / "merged"), values(tmp_path / "twin")
    wanted = twin | adapter_maker.tensors()
    assert merged.keys() == wanted.keys()
    assert all(np.array_equal(merged[name], wanted[name]) for name in wanted)
    configs = [
        json.loads((tmp_path / name / "config.json").read_text()) for name in ("merged", "twin")
    ]
    assert configs[0] == configs[1]
    assert (tmp_path / "merged" / "tokenizer.json").exists()


def test_plain_base_and_affine_twin_give_the_same_checkpoint(base, tmp_path):
    adapter = adapter_maker.write(tmp_path / "a.safetensors", base)
    convert(base, tmp_path / "twin", "linear_clipping", "visible")
    merge(base, adapter, tmp_path / "one")
    merge(tmp_path / "twin", adapter, tmp_path / "other")
    read = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "other")]
    assert read[0] == read[1]


def test_scales_of_zero_change_no_output(base, tmp_path):
    identity = {
        name: np.full_like(v, 0.5 if name.endswith("_ma") else 0)
        for name, v in adapter_maker.tensors().items()
    }
    adapter = adapter_maker.write(tmp_path / "a.safetensors", base, identity)
    merge(base, adapter, tmp_path / "merged")
    tokens = [3, 1, 4, 1, 5]
    assert np.array_equal(
        NumpyLlama(tmp_path / "merged").logits(tokens), NumpyLlama(base).logits(tokens)
    )


def test_all_that_does_not_fit_is_named_in_one_error(base, tmp_path):
    wrong = {
        "model.layers.0.self_attn.alpha_proj.weight": np.zeros((2, 9), np.float32),
        "model.layers.1.self_attn.alpha_ma": np.array([0.5, np.nan], np.float32),
        "model.layers.2.self_attn.alpha_ma": np.zeros(2, np.float32),
    }
    adapter = adapter_maker.write(
        tmp_path / "a.safetensors",
        base,
        wrong,
        base_sha256="0" * 64,
        base_model="another",
        attention={**adapter_maker.ATTENTION, "gate": "headwise"},
    )
    with pytest.raises(ConvertError) as refused:
        merge(base, adapter, tmp_path / "merged")
    for told in (
        "another base, another",
        "gate is 'none', the adapter's 'headwise'",
        "alpha_proj.weight is [2, 9], the base's [2, 8]",
        "model.layers.1.self_attn.alpha_ma holds NaN or infinity",
        "model.layers.2.self_attn.alpha_ma has no place",
        f"the adapter's base {'0' * 64}",
    ):
        assert told in str(refused.value)
    assert not (tmp_path / "merged").exists()


def test_an_adapter_of_other_scales_than_an_affine_base_is_refused(base, tmp_path):
    adapter = adapter_maker.write(tmp_path / "a.safetensors", base)
    convert(base, tmp_path / "twin", "sigmoid", "visible")
    with pytest.raises(ConvertError, match="affine is .*sigmoid.*linear_clipping"):
        merge(tmp_path / "twin", adapter, tmp_path / "merged")


def test_the_command_line_ends_with_one_line_and_1(base, tmp_path, capsys):
    adapter = adapter_maker.write(tmp_path / "a.safetensors", base)
    arguments = ["merge", str(base), str(adapter), str(tmp_path / "merged")]
    assert main(arguments) == 0
    assert main(arguments) == 1
    assert "exists already" in capsys.readouterr().err.strip().splitlines()[-1]
