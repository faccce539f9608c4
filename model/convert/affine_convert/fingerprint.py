"""Which checkpoint an adapter belongs to."""

import hashlib

import numpy as np

from affine_convert.floats import doubled
from affine_convert.safetensors_reader import StoredTensor

_ADDED = (".self_attn.alpha_proj.weight", ".self_attn.alpha_ma")


def base_sha256(tensors: dict[str, StoredTensor], affine: bool) -> str:
    """SHA-256 of names, types, shapes and bytes of all tensors but alpha_proj and alpha_ma.

    Output projections count as affinize writes them, doubled, so a plain checkpoint and its affine
    twin have the same fingerprint.
    """
    digest = hashlib.sha256()
    for name in sorted(tensors):
        if name.endswith(_ADDED):
            continue
        tensor = tensors[name]
        stored = tensor.load()
        if name.endswith(".self_attn.o_proj.weight") and not affine:
            stored = doubled(stored, tensor.dtype, name)
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        digest.update(np.ascontiguousarray(stored).data)
    return digest.hexdigest()
