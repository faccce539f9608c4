"""Texts as token ids, and the windows of them that training and evaluation read."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from affine_convert.errors import ConvertError


def read_tokens(tokenizer: Tokenizer, path: Path) -> np.ndarray:
    """Ids of one UTF-8 text file, int64; special tokens written in the text count as such."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConvertError(f"{path} is not UTF-8 at byte {error.start}. Convert it.") from error
    return np.array(tokenizer.encode(text, add_special_tokens=False).ids, dtype=np.int64)


def load_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a checkpoint folder. Raises ConvertError."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ConvertError(f"{path} is missing. Copy the model's tokenizer.json into the folder.")
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises no narrower class
        raise ConvertError(f"{path} is no readable tokenizer: {error}. Copy it again.") from error


def windows_of(tokens: np.ndarray, length: int) -> np.ndarray:
    """[count, length + 1]: consecutive pieces, each with the token that follows its last.

    Tokens at the end that fill no piece are left out.
    """
    count = max(0, (len(tokens) - 1) // length)
    starts = np.arange(count)[:, None] * length
    return (
        tokens[starts + np.arange(length + 1)[None]]
        if count
        else np.empty((0, length + 1), np.int64)
    )


class TokenWindows:
    """Windows of several files in an order that depends on the seed alone.

    The batch of a step is a function of (seed, step): a run that stops and continues sees what an
    uninterrupted one sees. Each epoch has an order of its own.
    """

    def __init__(self, files: Sequence[np.ndarray], length: int, batch: int, seed: int):
        """`files`: token ids of each; a window never spans two of them."""
        self._windows = np.concatenate([windows_of(tokens, length) for tokens in files])
        self._batch = batch
        self._seed = seed
        if not len(self._windows):
            raise ConvertError(
                f"The texts hold fewer than --length = {length} tokens each. Give more text, or a "
                "smaller --length."
            )

    def __len__(self) -> int:
        return len(self._windows)

    def batch(self, step: int) -> torch.Tensor:
        """[batch, length + 1] ids of a step, which counts from 0."""
        places = np.arange(step * self._batch, (step + 1) * self._batch)
        epochs, within = np.divmod(places, len(self._windows))
        orders = {epoch: self._order(epoch) for epoch in np.unique(epochs)}
        chosen = [orders[epoch][place] for epoch, place in zip(epochs, within, strict=True)]
        return torch.from_numpy(self._windows[chosen])

    def _order(self, epoch: int) -> np.ndarray:
        return np.random.default_rng([self._seed, int(epoch)]).permutation(len(self._windows))
