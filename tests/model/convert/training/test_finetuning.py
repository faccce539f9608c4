"""Whole fine-tunings of tiny models, through the command line."""

import json

import pytest
from affine_convert.__main__ import main
from affine_convert.adapter import read_adapter
from affine_convert.merge import merge
from affine_convert.safetensors_reader import read_folder
from affine_convert.training.decoder_weights import load_weights
from affine_convert.training.trainer import Trainer

QUICK = ["--steps=6", "--batch=2", "--length=16", "--warmup=1", "--dtype=float32", "--threads=1"]


@pytest.fixture
def tune(prose):
    """Runs finetune on the prose and gives the adapter's path."""

    def run(folder, out, *options, code=0):
        arguments = ["finetune", str(folder), str(out), f"--text={prose}", *QUICK, *options]
        assert main(arguments) == code
        return out

    return run


def same(first, second):
    """Whether two adapters hold the same bits."""
    one, other = read_adapter(first).tensors, read_adapter(second).tensors
    return one.keys() == other.keys() and all(one[n].tobytes() == other[n].tobytes() for n in one)


class Interrupted(Exception):
    """Stands for a machine that goes away."""


@pytest.fixture
def interrupt(monkeypatch):
    """Ends the next training before step `step`, as a kill would."""

    def at(step):
        whole = Trainer.step

        def step_or_end(self, index):
            if index == step:
                monkeypatch.setattr(Trainer, "step", whole)
                raise Interrupted
            return whole(self, index)

        monkeypatch.setattr(Trainer, "step", step_or_end)

    return at


def test_an_adapter_and_its_record_are_written(plain, tune, tmp_path, prose):
    held_out = tmp_path / "unseen.txt"
    held_out.write_text(prose.read_text()[::-1])
    out = tune(plain, tmp_path / "a.safetensors", f"--held-out={held_out}")
    adapter = read_adapter(out)
    config, _ = load_weights(plain)
    assert len(adapter.tensors) == 2 * config.layers
    assert (adapter.base_model, adapter.steps, adapter.train) == (plain.name, 6, "alpha")
    record = json.loads(out.with_suffix(".json").read_text())
    assert len(record["losses"]) == 6
    assert record["plan"]["rho"] == 0.9
    assert record["texts"]["prose"]["tokens"] > 500
    assert record["held_out"]["unseen"].keys() == {"tokens", "before", "after"}
    assert sorted(path.name for path in tmp_path.glob("*a.safe*")) == ["a.safetensors"]


def test_the_adapters_folder_is_there_from_the_first_saving_on(plain, tune, tmp_path):
    out = tune(plain, tmp_path / "not" / "yet" / "a.safetensors", "--checkpoint-every=2")
    assert sorted(path.name for path in out.parent.iterdir()) == ["a.json", "a.safetensors"]


def test_training_lowers_the_loss_of_what_it_trains_on(plain, tune, tmp_path, prose):
    out = tune(
        plain,
        tmp_path / "a.safetensors",
        "--steps=30",
        "--learning-rate=0.05",
        f"--held-out={prose}",
    )
    told = json.loads(out.with_suffix(".json").read_text())["held_out"]["prose"]
    assert told["after"] < told["before"] - 0.05


def test_the_same_seed_gives_the_same_bits_and_another_others(plain, tune, tmp_path):
    first, again, other = (
        tune(plain, tmp_path / f"{index}.safetensors", f"--seed={seed}")
        for index, seed in enumerate((1, 1, 2))
    )
    assert same(first, again)
    assert not same(first, other)


@pytest.mark.parametrize("options", [[], ["--train=all", "--objective=mixed"]], ids=" ".join)
def test_an_interrupted_training_goes_on_to_the_same_bits(
    plain, tune, tmp_path, interrupt, options
):
    whole = tune(plain, tmp_path / "whole.safetensors", *options)
    cut = tmp_path / "cut.safetensors"
    interrupt(5)
    with pytest.raises(Interrupted):
        tune(plain, cut, "--checkpoint-every=2", *options)
    assert not cut.exists()
    tune(plain, cut, "--checkpoint-every=2", *options)
    assert same(whole, cut)
    losses = [json.loads(path.with_suffix(".json").read_text())["losses"] for path in (whole, cut)]
    assert losses[0] == losses[1]


def test_an_unfinished_training_of_other_inputs_is_refused(
    plain, tune, tmp_path, interrupt, capsys
):
    out = tmp_path / "a.safetensors"
    interrupt(3)
    with pytest.raises(Interrupted):
        tune(plain, out, "--checkpoint-every=2")
    tune(plain, out, "--seed=9", code=1)
    told = capsys.readouterr().err.strip().splitlines()[-1]
    assert "seed was 1 and is 9" in told
    assert "remove the file" in told


@pytest.mark.parametrize(
    ("train", "changed"),
    [("alpha", {"alpha_proj", "alpha_ma"}), ("attention", {"alpha_proj", "alpha_ma", "q_proj"})],
)
def test_merged_checkpoints_differ_from_the_base_only_in_what_was_trained(
    plain, tune, tmp_path, train, changed
):
    out = tune(plain, tmp_path / "a.safetensors", f"--train={train}")
    merge(plain, out, tmp_path / "merged")
    before, after = read_folder(plain), read_folder(tmp_path / "merged")
    differ = {
        name.split(".")[-2 if name.endswith("weight") else -1]
        for name, tensor in after.items()
        if name not in before or tensor.load().tobytes() != before[name].load().tobytes()
    }
    assert changed <= differ
    kept = {"embed_tokens", "norm", "up_proj", "input_layernorm"}
    assert not differ & (kept | ({"q_proj", "k_proj", "v_proj"} if train == "alpha" else set()))


def test_a_model_that_is_affine_goes_on_from_its_own_scales(checkpoint, tune, tmp_path):
    folder = checkpoint("qwen2-learned_sink-affine-headwise")
    out = tune(folder, tmp_path / "a.safetensors", "--learning-rate=0", "--rho=1")
    name = "model.layers.0.self_attn.alpha_proj.weight"
    _, weights = load_weights(folder)
    assert read_adapter(out).tensors[name].tobytes() == weights[name].numpy().tobytes()
    merge(folder, out, tmp_path / "merged")
    _, merged = load_weights(tmp_path / "merged")
    assert all((merged[name] == weights[name]).all() for name in weights)


def test_distillation_from_unchanged_outputs_begins_at_nothing(plain, tune, tmp_path):
    out = tune(plain, tmp_path / "a.safetensors", "--objective=distill")
    losses = json.loads(out.with_suffix(".json").read_text())["losses"]
    assert losses[0] < 1e-5


@pytest.mark.parametrize("option", ["--activation=sigmoid", "--normalizer=64"])
def test_the_kind_of_affine_attention_is_kept_in_the_adapter(plain, tune, tmp_path, option):
    out = tune(plain, tmp_path / "a.safetensors", option)
    value = option.split("=")[1]
    assert value in map(str, read_adapter(out).attention["affine"].values())


def test_windows_longer_than_the_model_are_refused(plain, tune, tmp_path, capsys):
    tune(plain, tmp_path / "a.safetensors", "--length=4096", code=1)
    assert "--length is 4096; the model takes 256 tokens" in capsys.readouterr().err
