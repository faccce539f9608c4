"""Adapters for the tiny folder, as finetune would write them."""

from pathlib import Path

import numpy as np
from affine_convert.adapter import Adapter, write_adapter
from affine_convert.fingerprint import base_sha256
from affine_convert.safetensors_reader import read_folder

AFFINE = {"alpha_activation": "linear_clipping", "normalizer": "visible"}
ATTENTION = {"denominator": "softmax", "affine": AFFINE, "gate": "none"}


def tensors() -> dict[str, np.ndarray]:
    """W_a and alpha_ma of both layers, each value another; all fit bfloat16."""
    made = {}
    for layer in range(2):
        prefix = f"model.layers.{layer}.self_attn."
        made[f"{prefix}alpha_proj.weight"] = np.arange(16, dtype=np.float32).reshape(2, 8) + layer
        made[f"{prefix}alpha_ma"] = np.array([0.25, 0.625 + layer], np.float32)
    return made


def write(path: Path, base: Path, changed: dict[str, np.ndarray] | None = None, **fields) -> Path:
    """An adapter of plain folder `base`; `changed` go into its tensors, `fields` into the rest."""
    kept = {
        "base_model": base.name,
        "base_sha256": base_sha256(read_folder(base), affine=False),
        "attention": ATTENTION,
        "rho": 0.9,
        "steps": 3,
        "train": "alpha",
    }
    write_adapter(path, Adapter(tensors=tensors() | (changed or {}), **(kept | fields)))
    return path
