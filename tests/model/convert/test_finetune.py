"""finetune's command line, before torch is needed."""

import pytest
from affine_convert.__main__ import main


def test_a_training_without_text_is_refused(tmp_path, capsys):
    assert main(["finetune", str(tmp_path), str(tmp_path / "a.safetensors")]) == 1
    assert "No text to train on. Give --text" in capsys.readouterr().err
    (tmp_path / "texts").mkdir()
    arguments = ["finetune", str(tmp_path), str(tmp_path / "a.safetensors")]
    assert main([*arguments, f"--text-dir={tmp_path / 'texts'}"]) == 1
    assert "No text to train on" in capsys.readouterr().err


def test_the_adapters_name_ends_in_safetensors(tmp_path, capsys):
    assert main(["finetune", str(tmp_path), "adapter.bin", "--text=a.txt"]) == 1
    assert "OUT_ADAPTER is adapter.bin" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option",
    [
        "--steps=0",
        "--rho=1.5",
        "--length=x",
        "--clip=-1",
        "--seed=-1",
        "--train=norms",
        "--objective=x",
    ],
)
def test_numbers_out_of_range_are_wrong_usage(option, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["finetune", "model", "a.safetensors", "--text=a.txt", option])
    assert ended.value.code == 2
    assert option.split("=")[0] in capsys.readouterr().err
