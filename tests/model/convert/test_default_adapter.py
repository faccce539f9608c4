"""The adapter that deploy/setup.sh merges into the default model."""

import json
from pathlib import Path

import numpy as np
import pytest
from affine_convert.adapter import Adapter, read_adapter
from affine_convert.affinize import convert
from affine_convert.merge import merge
from affine_convert.safetensors_reader import read_folder
from numpy_llama import NumpyLlama
from tokenizers import Tokenizer

PATH = (
    Path(__file__).resolve().parents[3]
    / "model/convert/adapters/smollm2-135m-instruct-affine/adapter.safetensors"
)


@pytest.fixture(scope="module")
def adapter() -> Adapter:
    return read_adapter(PATH)


def test_it_belongs_to_the_default_base_and_makes_its_affine_twin(smollm2, tmp_path):
    merge(smollm2, PATH, tmp_path / "merged")
    convert(smollm2, tmp_path / "twin", "linear_clipping", "visible")
    configs = [json.loads((tmp_path / n / "config.json").read_text()) for n in ("merged", "twin")]
    assert configs[0] == configs[1]
    merged, twin = (read_folder(tmp_path / name) for name in ("merged", "twin"))
    assert merged.keys() == twin.keys()
    tokenizer = Tokenizer.from_file(str(tmp_path / "merged" / "tokenizer.json"))
    tokens = tokenizer.encode("The capital of France is").ids
    logits = [NumpyLlama(tmp_path / name).logits(tokens)[-1] for name in ("merged", "twin")]
    assert tokenizer.decode([int(logits[0].argmax())]) == " Paris"
    assert np.abs(logits[0] - logits[1]).max() > 0.1


def test_scales_differ_by_layer_and_head(adapter):
    means = np.array([v for n, v in sorted(adapter.tensors.items()) if n.endswith(".alpha_ma")])
    assert means.shape == (30, 9)
    assert (means > 0.2).all() and (means < 0.8).all()
    assert means.std(axis=0).min() > 0.01 and means.std(axis=1).min() > 0.001
    projections = [v for n, v in adapter.tensors.items() if n.endswith(".alpha_proj.weight")]
    assert all(np.linalg.norm(values, axis=1).min() > 0 for values in projections)


def test_it_is_small_and_its_record_and_card_say_the_same(adapter):
    assert PATH.stat().st_size < 2e6
    record = json.loads(PATH.with_suffix(".json").read_text())
    assert record["base_sha256"] == adapter.base_sha256
    assert record["attention"] == adapter.attention
    assert len(record["losses"]) == record["plan"]["steps"] == adapter.steps
    card = PATH.with_name("README.md").read_text()
    for kind, losses in record["held_out"].items():
        assert losses["after"] < losses["before"]
        assert (
            f"| {kind} | {losses['tokens']:,} | {losses['before']:.4f} | {losses['after']:.4f} |"
            in card
        )
