"""Tiny checkpoints of the whole family, and the reference that they are held against."""

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "golden"))

import tiny_checkpoint  # noqa: E402
from cases import case_named  # noqa: E402

# Tiny tensors are computed fastest, and always in the same order, by one thread.
torch.set_num_threads(1)

PROSE = "The sea was flat that day, and the boats lay still. Nobody spoke of the storm. " * 30


@pytest.fixture
def checkpoint(tmp_path):
    """Writes the checkpoint of the golden case of that name, and gives its folder."""

    def write(name: str) -> Path:
        folder = tmp_path / name
        if not folder.exists():
            tiny_checkpoint.write(case_named(name), folder)
        return folder

    return write


@pytest.fixture
def plain(checkpoint) -> Path:
    """A plain Llama of two layers."""
    return checkpoint("llama-softmax-unscaled-none")


@pytest.fixture
def prose(tmp_path) -> Path:
    """A text of a few thousand tiny tokens, of kind `prose`."""
    path = tmp_path / "prose.txt"
    path.write_text(PROSE)
    return path
