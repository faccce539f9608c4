"""The command line, output folders and inspect."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from affine_convert.__main__ import main
from affine_convert.output_folder import output_folder
from tiny_folder import write_tiny

_PACKAGE = Path(__file__).resolve().parents[3] / "model" / "convert"


def test_the_module_runs_and_explains_itself():
    done = subprocess.run(
        [sys.executable, "-m", "affine_convert", "--help"],
        env={**os.environ, "PYTHONPATH": str(_PACKAGE)},
        capture_output=True,
        text=True,
        check=True,
    )
    for word in ("from-gguf", "affinize", "finetune", "merge", "verify", "inspect", "exit codes"):
        assert word in done.stdout


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("from-gguf", ["SRC", "OUT", "--dtype", "package:NAME", "(default: bfloat16)"]),
        ("affinize", ["--activation", "--normalizer", "visible|N", "(default: linear_clipping)"]),
        ("finetune", ["MODEL_DIR", "OUT_ADAPTER", "--held-out", "--objective", "(default: 0.002)"]),
        ("merge", ["BASE_DIR", "ADAPTER", "OUT_DIR"]),
        ("verify", ["A_DIR", "B_DIR", "--text", "--max-difference"]),
        ("inspect", ["FOLDER"]),
    ],
)
def test_every_subcommand_has_help(command, words, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    text = capsys.readouterr().out
    assert ended.value.code == 0
    for word in words:
        assert word in text


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["melt"],
        ["affinize", "a", "b", "--normalizer", "0"],
        ["affinize", "a", "b", "--normalizer", "all"],
    ],
)
def test_wrong_usage_ends_with_2(arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


def test_what_cannot_be_converted_ends_with_1_and_one_line(tmp_path, capsys):
    assert main(["affinize", str(tmp_path / "none"), str(tmp_path / "out")]) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert "config.json is missing" in lines[0]


def test_affinize_then_inspect(tmp_path, capsys):
    write_tiny(tmp_path / "plain")
    arguments = [
        "affinize",
        str(tmp_path / "plain"),
        str(tmp_path / "affine"),
        "--normalizer",
        "24",
    ]
    assert main(arguments) == 0
    assert main(["inspect", str(tmp_path / "affine")]) == 0
    table = " ".join(capsys.readouterr().out.split())
    assert "alpha activation linear_clipping normalizer 24 gate none" in table
    assert "model.layers.*.self_attn.alpha_ma F32 [2] x2 0.00 MiB" in table
    # 1,256 of the plain model, and in each layer 16 of alpha_proj and 2 of alpha_ma
    assert "25 tensors, 1,292 parameters" in table


def test_an_output_folder_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "deep" / "out"
    with pytest.raises(KeyboardInterrupt), output_folder(target) as folder:
        (folder / "half").write_text("x")
        assert not target.exists()
        raise KeyboardInterrupt
    assert list(target.parent.iterdir()) == []
    with output_folder(target) as folder:
        (folder / "whole").write_text("x")
    assert [path.name for path in target.parent.iterdir()] == ["out"]
    assert (target / "whole").read_text() == "x"
