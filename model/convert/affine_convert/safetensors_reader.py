"""Reads the tensors of a checkpoint folder, memory-mapped."""

import json
from collections.abc import Iterator
from math import prod
from pathlib import Path, PurePosixPath

import numpy as np

from affine_convert.errors import ConvertError
from affine_convert.floats import STORAGE

_MAX_HEADER_BYTES = 100_000_000


class StoredTensor:
    """One tensor in a file. `load` reads it in the storage of `dtype` (bfloat16 as uint16)."""

    def __init__(self, path: Path, start: int, dtype: str, shape: tuple[int, ...]):
        self.path = path
        self.dtype = dtype
        self.shape = shape
        self._start = start  # bytes from the beginning of the file

    @property
    def num_bytes(self) -> int:
        """Bytes in the file."""
        return prod(self.shape) * STORAGE[self.dtype].itemsize

    def load(self) -> np.ndarray:
        """A read-only view of the file, read as it is used; it holds a file descriptor meanwhile."""
        return np.memmap(self.path, STORAGE[self.dtype], "r", self._start, self.shape)


def _is_counts(value: object) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _read_header(path: Path) -> tuple[dict, int]:
    """The parsed header and the offset of the data in the file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(_MAX_HEADER_BYTES, size - 8):
            raise ConvertError(f"{path} is no whole safetensors file. Copy it again.")
        try:
            header = json.loads(file.read(length))
        except (ValueError, RecursionError) as error:
            raise ConvertError(f"{path} has a header that is not JSON. Copy it again.") from error
    if not isinstance(header, dict):
        raise ConvertError(f"{path} has a header that is no JSON object. Copy it again.")
    return header, 8 + length


def read_metadata(path: Path) -> dict[str, str]:
    """The texts that the file carries beside its tensors. Raises ConvertError."""
    metadata = _read_header(path)[0].get("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ConvertError(f"{path} has metadata that are no texts. Copy it again.")
    return metadata


def read_safetensors(path: Path) -> dict[str, StoredTensor]:
    """The tensors of one file by name. Raises ConvertError for what contradicts itself."""
    header, data_start = _read_header(path)
    header.pop("__metadata__", None)
    data_bytes = path.stat().st_size - data_start
    tensors = {}
    for name, entry in header.items():
        if not isinstance(entry, dict) or entry.get("dtype") not in STORAGE:
            raise ConvertError(f"{path}: the dtype of {name} is not one of {', '.join(STORAGE)}.")
        shape, offsets = entry.get("shape"), entry.get("data_offsets")
        if not _is_counts(shape) or not _is_counts(offsets) or len(offsets) != 2:
            raise ConvertError(f"{path}: {name} has no shape or data_offsets. Copy the file again.")
        tensor = StoredTensor(path, data_start + offsets[0], entry["dtype"], tuple(shape))
        if offsets[1] > data_bytes or offsets[1] - offsets[0] != tensor.num_bytes:
            raise ConvertError(f"{path}: {name} does not fit its place. Copy the file again.")
        tensors[name] = tensor
    return tensors


def _shards(folder: Path) -> Iterator[Path]:
    index = folder / "model.safetensors.index.json"
    if (folder / "model.safetensors").exists() or not index.exists():
        single = folder / "model.safetensors"
        yield from [single] if single.exists() else sorted(folder.glob("*.safetensors"))
        return
    for name in sorted(set(json.loads(index.read_text())["weight_map"].values())):
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise ConvertError(f"{index} names {name}, outside the folder. Correct the index.")
        yield folder / name


def read_folder(folder: Path) -> dict[str, StoredTensor]:
    """All tensors of a checkpoint folder by name, from one file or several."""
    tensors: dict[str, StoredTensor] = {}
    for path in _shards(folder):
        for name, tensor in read_safetensors(path).items():
            if name in tensors:
                raise ConvertError(f"{name} is in {tensors[name].path} and in {path}. Keep one.")
            tensors[name] = tensor
    if not tensors:
        raise ConvertError(
            f"{folder} has no *.safetensors file. Pickled weights (*.bin, *.pt) are never loaded; "
            "take the model's safetensors files."
        )
    return tensors
