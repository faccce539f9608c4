"""Writing and reading safetensors, against the safetensors package."""

import json

import numpy as np
import pytest
import safetensors
import tiny_folder
from affine_convert.errors import ConvertError
from affine_convert.floats import decode, encode
from affine_convert.safetensors_reader import read_folder, read_safetensors
from affine_convert.safetensors_writer import PlannedTensor, write_safetensors


def plan(name: str, values: np.ndarray, dtype: str) -> PlannedTensor:
    return PlannedTensor(name, dtype, values.shape, lambda: encode(values, dtype))


@pytest.fixture
def mixed(tmp_path):
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensors = [plan("b", values, "BF16"), plan("h", values[:1], "F16"), plan("f", values, "F32")]
    write_safetensors(tmp_path / "w.safetensors", tensors, "test")
    return tmp_path / "w.safetensors", values


def test_the_safetensors_package_reads_what_we_write(mixed):
    path, values = mixed
    found = dict(safetensors.deserialize(path.read_bytes()))
    assert {name: entry["dtype"] for name, entry in found.items()} == {
        "b": "BF16",
        "h": "F16",
        "f": "F32",
    }
    assert found["b"]["shape"] == [2, 3]
    stored = np.frombuffer(bytes(found["b"]["data"]), "<u2").reshape(2, 3)
    assert np.array_equal(decode(stored, "BF16"), values)
    assert np.array_equal(np.frombuffer(bytes(found["f"]["data"]), "<f4").reshape(2, 3), values)


def test_we_read_what_we_write_and_data_are_aligned(mixed):
    path, values = mixed
    tensors = read_safetensors(path)
    assert np.array_equal(decode(tensors["b"].load(), "BF16"), values)
    assert np.array_equal(tensors["h"].load(), values[:1])
    assert int.from_bytes(path.read_bytes()[:8], "little") % 64 == 56


def test_a_name_written_twice_is_refused(tmp_path):
    tensor = plan("a", np.zeros(1, np.float32), "F32")
    with pytest.raises(ConvertError, match="a would be written twice"):
        write_safetensors(tmp_path / "w", [tensor, tensor], "test")


def test_a_tensor_of_another_shape_than_planned_is_refused(tmp_path):
    wrong = PlannedTensor("a", "F32", (2,), lambda: np.zeros(3, "<f4"))
    with pytest.raises(ConvertError, match=r"a came as float32 \[3\]"):
        write_safetensors(tmp_path / "w", [wrong], "test")


def test_every_truncation_is_refused(mixed, tmp_path):
    whole = mixed[0].read_bytes()
    cut = tmp_path / "cut.safetensors"
    for length in range(0, len(whole), 7):
        cut.write_bytes(whole[:length])
        with pytest.raises(ConvertError):
            read_safetensors(cut)


@pytest.mark.parametrize(
    "entry",
    [
        1,
        {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [1], "data_offsets": [0, 4, 8]},
        {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]},
    ],
)
def test_lying_headers_are_refused(tmp_path, entry):
    header = json.dumps({"t": entry}).encode()
    path = tmp_path / "w.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    with pytest.raises(ConvertError, match="t "):
        read_safetensors(path)


def test_an_index_is_followed_and_may_not_leave_the_folder(tmp_path):
    folder = tiny_folder.write_tiny(tmp_path / "m")
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"model.norm.weight": "part.safetensors"}}))
    assert read_folder(folder).keys() == tiny_folder.shapes().keys()
    index.write_text(json.dumps({"weight_map": {"model.norm.weight": "../m/part.safetensors"}}))
    with pytest.raises(ConvertError, match="outside the folder"):
        read_folder(folder)


def test_pickled_weights_alone_are_refused(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(ConvertError, match="never loaded"):
        read_folder(tmp_path)
