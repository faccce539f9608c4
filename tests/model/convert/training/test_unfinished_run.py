"""The file from which a training goes on."""

import pytest
import torch
from affine_convert.errors import ConvertError
from affine_convert.training.unfinished_run import Progress, UnfinishedRun


def test_tensors_and_progress_come_back_as_they_were(tmp_path):
    run = UnfinishedRun(tmp_path / "a.safetensors", {"seed": 1})
    assert run.load() is None
    tensors = {"exp_avg:w": torch.tensor([[1e-30, -2.5]]), "w": torch.arange(3.0)}
    progress = Progress(3, [2.5, 2.25, 2.0], {"prose": 2.75}, 1.5)
    run.save(tensors, progress)
    found, told = run.load()
    assert told == progress
    assert found.keys() == tensors.keys()
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    run.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_other_inputs_is_refused_by_what_differs(tmp_path):
    UnfinishedRun(tmp_path / "a", {"seed": 1, "steps": 5}).save({}, Progress())
    with pytest.raises(ConvertError, match="steps was 5 and is 6"):
        UnfinishedRun(tmp_path / "a", {"seed": 1, "steps": 6}).load()


def test_a_file_that_is_something_else_is_refused(tmp_path):
    run = UnfinishedRun(tmp_path / "a", {})
    run.path.write_bytes((2).to_bytes(8, "little") + b"{}")
    with pytest.raises(ConvertError, match="no unfinished training"):
        run.load()
