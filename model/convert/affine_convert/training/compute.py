"""Prepares torch for results that can be made again."""

import os

import torch

from affine_convert.errors import ConvertError


def prepare_device(device: str, threads: int) -> None:
    """Chooses kernels that always sum in the same order; `threads` of 0 leaves torch's choice.

    The same machine, torch and threads then give the same bits. CUDA lacks such kernels for a
    running sum, so there torch only warns.
    """
    if device == "cuda":
        if not torch.cuda.is_available():
            raise ConvertError("--device is cuda and torch finds no GPU. Give --device cpu.")
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    if threads:
        torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True, warn_only=device == "cuda")
