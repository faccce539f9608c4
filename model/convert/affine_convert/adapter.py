"""An adapter: what fine-tuning changed of a checkpoint, as one safetensors file."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from affine_convert.errors import ConvertError
from affine_convert.floats import decode
from affine_convert.safetensors_reader import read_metadata, read_safetensors
from affine_convert.safetensors_writer import PlannedTensor, write_safetensors

_FORMAT, _VERSION = "affine-adapter", "1"
_KEYS = ("format_version", "base_model", "base_sha256", "attention", "rho", "steps", "train")


@dataclass(frozen=True)
class Adapter:
    """Tensors under their checkpoint names, and what they were made from.

    `attention` is the `attention` key of the tuned checkpoint's config.json. Output projections,
    where an adapter has them, belong to affine attention: they are twice a plain one's size.
    """

    tensors: dict[str, np.ndarray]  # float32
    base_model: str  # name of the base, for people
    base_sha256: str  # base_sha256() of the base, for the check
    attention: dict
    rho: float  # of the running mean
    steps: int
    train: str  # alpha, attention or all


def write_adapter(path: Path, adapter: Adapter) -> None:
    """Writes the file in one go: it appears when it is complete."""
    metadata = {
        "format": _FORMAT,
        "format_version": _VERSION,
        "base_model": adapter.base_model,
        "base_sha256": adapter.base_sha256,
        "attention": json.dumps(adapter.attention),
        "rho": str(adapter.rho),
        "steps": str(adapter.steps),
        "train": adapter.train,
    }
    planned = [
        PlannedTensor(name, "F32", values.shape, lambda values=values: values.astype("<f4"))
        for name, values in adapter.tensors.items()
    ]
    partial = path.with_name(f".{path.name}.partial")
    write_safetensors(partial, planned, None, metadata)
    os.replace(partial, path)


def read_adapter(path: Path) -> Adapter:
    """Reads an adapter. Raises ConvertError for a file that is none."""
    if not path.is_file():
        raise ConvertError(f"{path} is no file. Name an adapter that finetune wrote.")
    metadata = read_metadata(path)
    missing = [key for key in _KEYS if key not in metadata]
    if metadata.get("format") != _FORMAT or missing:
        raise ConvertError(
            f"{path} is no adapter: its metadata have format {metadata.get('format')!r} and lack "
            f"{', '.join(missing) or 'nothing'}. Name an adapter that finetune wrote."
        )
    if metadata["format_version"] != _VERSION:
        raise ConvertError(
            f"{path} has format_version {metadata['format_version']!r}. Allowed is {_VERSION!r}. "
            "Take a newer affine_convert."
        )
    try:
        attention, rho = json.loads(metadata["attention"]), float(metadata["rho"])
        steps = int(metadata["steps"])
    except (ValueError, RecursionError) as error:
        raise ConvertError(f"{path} has metadata that cannot be read: {error}.") from error
    tensors = {
        name: decode(tensor.load(), tensor.dtype) for name, tensor in read_safetensors(path).items()
    }
    return Adapter(
        tensors,
        metadata["base_model"],
        metadata["base_sha256"],
        attention,
        rho,
        steps,
        metadata["train"],
    )
