"""Which checkpoint an adapter belongs to."""

import pytest
import tiny_folder
from affine_convert.affinize import convert
from affine_convert.fingerprint import base_sha256
from affine_convert.safetensors_reader import read_folder


@pytest.mark.parametrize("dtype", ["BF16", "F16", "F32"])
def test_a_plain_checkpoint_and_its_affine_twin_are_the_same_base(tmp_path, dtype):
    plain = tiny_folder.write_tiny(tmp_path / "plain", dtype)
    convert(plain, tmp_path / "affine", "linear_clipping", "visible")
    found = base_sha256(read_folder(tmp_path / "affine"), affine=True)
    assert found == base_sha256(read_folder(plain), affine=False)


def test_one_changed_value_is_another_base(tmp_path):
    folder = tiny_folder.write_tiny(tmp_path / "plain")
    before = base_sha256(read_folder(folder), affine=False)
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        last = file.read(1)[0]
        file.seek(-1, 2)
        file.write(bytes([last ^ 1]))
    assert base_sha256(read_folder(folder), affine=False) != before
