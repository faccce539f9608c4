"""Subcommands that need torch where there is none."""

import builtins

import pytest
import tiny_folder
from affine_convert.__main__ import main


@pytest.fixture
def no_torch(monkeypatch):
    """A machine whose torch cannot be imported."""
    whole = builtins.__import__

    def refuse(name, *arguments, **named):
        if name.split(".")[0] == "torch":
            raise ImportError("libcufile.so.0: cannot open shared object file")
        return whole(name, *arguments, **named)

    monkeypatch.setattr("importlib.import_module", refuse)
    monkeypatch.setattr(builtins, "__import__", refuse)


def test_they_name_the_cause_and_the_remedy(no_torch, tmp_path, capsys):
    folder = tiny_folder.write_tiny(tmp_path / "tiny")
    text = tmp_path / "a.txt"
    text.write_text("text")
    tune = ["finetune", str(folder), str(tmp_path / "a.safetensors"), f"--text={text}"]
    for arguments in (tune, ["verify", str(folder), str(folder)]):
        assert main(arguments) == 1
        told = capsys.readouterr().err.strip().splitlines()[-1]
        assert "libcufile.so.0" in told
        assert "pip install" in told


def test_the_others_go_on_without(no_torch, tmp_path):
    folder = tiny_folder.write_tiny(tmp_path / "tiny")
    assert main(["affinize", str(folder), str(tmp_path / "affine")]) == 0
    assert main(["inspect", str(tmp_path / "affine")]) == 0
