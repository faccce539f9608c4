"""Writes a safetensors file tensor by tensor, so that memory holds one of them at a time."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
from tqdm import tqdm

from affine_convert.errors import ConvertError
from affine_convert.floats import STORAGE

#: JSON header and data begin at multiples of it, in bytes.
_ALIGNMENT = 64


@dataclass(frozen=True)
class PlannedTensor:
    """A tensor to write; `load` gives it in the storage of `dtype`, of just that shape."""

    name: str
    dtype: str  # F32, F16 or BF16
    shape: tuple[int, ...]
    load: Callable[[], np.ndarray]

    @property
    def num_bytes(self) -> int:
        """Bytes in the file."""
        return prod(self.shape) * STORAGE[self.dtype].itemsize


def _header(tensors: list[PlannedTensor], metadata: dict[str, str]) -> bytes:
    header: dict = {"__metadata__": {"format": "pt", **metadata}}
    offset = 0
    for tensor in tensors:
        if tensor.name in header:
            raise ConvertError(f"The tensor {tensor.name} would be written twice.")
        end = offset + tensor.num_bytes
        header[tensor.name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    return text + b" " * (-(len(text) + 8) % _ALIGNMENT)


def write_safetensors(
    path: Path,
    tensors: list[PlannedTensor],
    progress: str | None,
    metadata: dict[str, str] | None = None,
) -> None:
    """Writes `tensors` to `path`, larger elements first; `metadata` are texts beside them.

    `progress` labels the bar on stderr; None shows none.
    """
    ordered = sorted(tensors, key=lambda tensor: (-STORAGE[tensor.dtype].itemsize, tensor.name))
    header = _header(ordered, metadata or {})
    total = sum(tensor.num_bytes for tensor in ordered)
    with (
        path.open("wb") as file,
        tqdm(
            total=total,
            desc=progress,
            unit="B",
            unit_scale=True,
            unit_divisor=1024,
            disable=progress is None,
        ) as bar,
    ):
        file.write(len(header).to_bytes(8, "little"))
        file.write(header)
        for tensor in ordered:
            values = np.ascontiguousarray(tensor.load())
            if values.shape != tensor.shape or values.dtype != STORAGE[tensor.dtype]:
                raise ConvertError(
                    f"{tensor.name} came as {values.dtype} {list(values.shape)}, planned was "
                    f"{tensor.dtype} {list(tensor.shape)}. The source contradicts itself."
                )
            file.write(values.data)
            bar.update(tensor.num_bytes)
