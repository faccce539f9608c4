"""The identity of affine attention."""

import json
import resource

import numpy as np
import pytest
from affine_convert import affinize
from affine_convert.errors import ConvertError
from affine_convert.floats import decode
from affine_convert.safetensors_reader import read_folder
from numpy_llama import NumpyLlama
from tiny_folder import shapes, write_tiny

TOKENS = [3, 1, 4, 1, 5, 9, 2, 6]


@pytest.mark.parametrize("dtype", ["F32", "BF16", "F16"])
@pytest.mark.parametrize("activation", ["linear_clipping", "sigmoid"])
def test_no_logit_changes_by_a_single_bit(tmp_path, dtype, activation):
    source = write_tiny(tmp_path / "plain", dtype)
    affinize.convert(source, tmp_path / "affine", activation, "visible")
    plain, affine = NumpyLlama(source), NumpyLlama(tmp_path / "affine")
    assert affine.affine == {"alpha_activation": activation, "normalizer": "visible"}
    assert np.array_equal(plain.logits(TOKENS), affine.logits(TOKENS))


def test_tensors_are_doubled_added_or_kept(tmp_path):
    source = write_tiny(tmp_path / "plain", "BF16")
    affinize.convert(source, tmp_path / "affine", "sigmoid", 16)
    before, after = read_folder(source), read_folder(tmp_path / "affine")
    for name in shapes():
        scale = 2 if "o_proj" in name else 1
        old, new = (decode(t[name].load(), "BF16") for t in (before, after))
        assert np.array_equal(new, scale * old), name
    added = after.keys() - before.keys()
    assert {name.rpartition("self_attn.")[2] for name in added} == {"alpha_proj.weight", "alpha_ma"}
    assert len(added) == 4
    alpha = after["model.layers.1.self_attn.alpha_proj.weight"]
    assert (alpha.dtype, alpha.shape) == ("BF16", (2, 8)) and not alpha.load().any()
    mean = after["model.layers.1.self_attn.alpha_ma"]
    assert (mean.dtype, mean.load().tolist()) == ("F32", [0.5, 0.5])


def test_more_tensors_than_open_files_are_allowed_convert(tmp_path):
    source = write_tiny(tmp_path / "plain", layers=67)
    before = read_folder(source)
    assert len(before) > 600
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        affinize.convert(source, tmp_path / "affine", "sigmoid", "visible")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(read_folder(tmp_path / "affine")) == len(before) + 2 * 67


def test_other_files_come_along_but_no_index_and_no_pickles(tmp_path):
    source = write_tiny(tmp_path / "plain")
    (source / "model.safetensors").rename(source / "part.safetensors")
    weight_map = {name: "part.safetensors" for name in shapes()}
    (source / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    (source / "pytorch_model.bin").write_bytes(b"x")
    affinize.convert(source, tmp_path / "affine", "sigmoid", "visible")
    names = sorted(path.name for path in (tmp_path / "affine").iterdir())
    assert names == ["config.json", "model.safetensors", "tokenizer.json"]


def test_denominator_and_gate_of_the_source_stay():
    config = {"architectures": ["Qwen2ForCausalLM"], "attention": {"denominator": "off_by_one"}}
    assert affinize.affine_config(config, "sigmoid", 2048)["attention"] == {
        "denominator": "off_by_one",
        "gate": "none",
        "affine": {"alpha_activation": "sigmoid", "normalizer": 2048},
    }


def test_an_affine_source_and_other_architectures_are_refused(tmp_path):
    source = write_tiny(tmp_path / "plain")
    affinize.convert(source, tmp_path / "affine", "sigmoid", "visible")
    with pytest.raises(ConvertError, match="affine already|there already"):
        affinize.convert(tmp_path / "affine", tmp_path / "again", "sigmoid", "visible")
    other = write_tiny(tmp_path / "other", changes={"architectures": ["MistralForCausalLM"]})
    with pytest.raises(ConvertError, match="MistralForCausalLM"):
        affinize.convert(other, tmp_path / "again", "sigmoid", "visible")
    assert not (tmp_path / "again").exists()


def test_a_source_without_an_output_projection_is_refused(tmp_path):
    source = write_tiny(tmp_path / "plain", changes={"num_hidden_layers": 3})
    with pytest.raises(
        ConvertError, match=r"model\.layers\.2\.self_attn\.o_proj\.weight is missing"
    ):
        affinize.convert(source, tmp_path / "affine", "sigmoid", "visible")
