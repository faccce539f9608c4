"""How far two checkpoints are apart, and verify's command line."""

import math

import pytest
import torch
from affine_convert.__main__ import main
from affine_convert.affinize import convert
from affine_convert.errors import ConvertError
from affine_convert.training.decoder import Decoder
from affine_convert.training.decoder_weights import load_weights
from affine_convert.training.logits_comparison import compare_decoders, compare_folders


@pytest.fixture
def decoders(plain):
    config, weights = load_weights(plain)
    changed = {n: w * 1.1 if n.endswith("o_proj.weight") else w for n, w in weights.items()}
    return [Decoder(config, tensors, torch.float32, 16) for tensors in (weights, changed)]


def test_figures_are_those_of_the_definition(decoders):
    ids = torch.randint(0, 300, (34,), generator=torch.Generator().manual_seed(4))
    found = compare_decoders(*decoders, ids, length=16)
    assert found.positions == 33
    logs = [
        torch.cat([
            torch.log_softmax(decoder.logits(decoder.hidden(ids[None, start : start + 16])[0]), -1)
            for start in (0, 16, 32)
        ])[:33]
        for decoder in decoders
    ]  # fmt: skip
    apart = (logs[0] - logs[1]).abs()
    assert found.largest == pytest.approx(float(apart.max()), rel=1e-4)
    assert found.mean == pytest.approx(float(apart.mean()), rel=1e-4)
    away = (logs[0].exp() * (logs[0] - logs[1])).sum(-1).mean()
    assert found.divergence == pytest.approx(float(away), rel=1e-3)
    surprise = -logs[1][torch.arange(33), ids[1:]].mean()
    assert found.second_loss == pytest.approx(float(surprise), rel=1e-5)
    assert found.agreement == pytest.approx(
        float((logs[0].argmax(-1) == logs[1].argmax(-1)).float().mean())
    )


def test_what_is_not_a_number_never_passes_for_equal(decoders):
    broken = dict(decoders[1].weights)
    broken["model.norm.weight"] = broken["model.norm.weight"] * math.nan
    other = Decoder(decoders[1].config, broken, torch.float32, 16)
    found = compare_decoders(decoders[0], other, torch.arange(20), length=8)
    assert math.isnan(found.largest)


def test_affinize_changes_nothing_and_verify_says_so(plain, tmp_path, capsys):
    convert(plain, tmp_path / "affine", "linear_clipping", "visible")
    arguments = ["verify", str(plain), str(tmp_path / "affine"), "--length=64"]
    assert main([*arguments, "--max-difference=1e-4"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "same most likely token 100.00 %" in told
    assert "next-token loss of B = affine, nats" in told


def test_a_difference_above_the_limit_ends_with_1(checkpoint, plain, capsys):
    other = checkpoint("llama-rope-linear")
    config = [load_weights(folder)[0].vocab for folder in (plain, other)]
    assert config[0] == config[1]
    assert main(["verify", str(plain), str(other), "--max-difference=0.01"]) == 1
    assert "--max-difference 0.01" in capsys.readouterr().err.splitlines()[-1]


def test_checkpoints_of_different_vocabularies_are_refused(checkpoint, plain):
    other = checkpoint("llama-rope-theta")
    with pytest.raises(ConvertError, match="331"):
        compare_folders(
            plain, other, "text", length=8, most_tokens=99, dtype="float32", device="cpu"
        )


def test_a_text_of_one_token_is_refused(plain):
    with pytest.raises(ConvertError, match="The text has 1 tokens"):
        compare_folders(plain, plain, "a", length=8, most_tokens=9, dtype="float32", device="cpu")
