"""Adapters as files."""

import adapter_maker
import numpy as np
import pytest
import tiny_folder
from affine_convert.adapter import read_adapter
from affine_convert.errors import ConvertError
from affine_convert.safetensors_reader import read_metadata
from affine_convert.safetensors_writer import write_safetensors


@pytest.fixture
def path(tmp_path):
    base = tiny_folder.write_tiny(tmp_path / "tiny")
    return adapter_maker.write(tmp_path / "a.safetensors", base)


def test_an_adapter_comes_back_as_it_was_written(path):
    adapter = read_adapter(path)
    assert (adapter.base_model, adapter.rho, adapter.steps) == ("tiny", 0.9, 3)
    assert (adapter.attention, adapter.train) == (adapter_maker.ATTENTION, "alpha")
    wanted = adapter_maker.tensors()
    assert adapter.tensors.keys() == wanted.keys()
    assert all(np.array_equal(adapter.tensors[name], wanted[name]) for name in wanted)
    assert not list(path.parent.glob(".*"))


def test_metadata_lie_beside_the_format_that_others_look_for(path):
    metadata = read_metadata(path)
    assert metadata["format"] == "affine-adapter"
    assert metadata["format_version"] == "1"


def test_weights_that_are_no_adapter_are_refused(tmp_path):
    folder = tiny_folder.write_tiny(tmp_path / "tiny")
    with pytest.raises(ConvertError, match="is no adapter: .* lack format_version"):
        read_adapter(folder / "model.safetensors")
    with pytest.raises(ConvertError, match="none.safetensors is no file"):
        read_adapter(tmp_path / "none.safetensors")


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("format_version", "2", "format_version '2'. Allowed is '1'"),
        ("attention", "{", "metadata that cannot be read"),
        ("steps", "many", "metadata that cannot be read"),
    ],
)
def test_metadata_of_another_version_or_none_are_refused(path, key, value, told):
    metadata = read_metadata(path) | {key: value}
    write_safetensors(path, [], None, metadata)
    with pytest.raises(ConvertError, match=told):
        read_adapter(path)
