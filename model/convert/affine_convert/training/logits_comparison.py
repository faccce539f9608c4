"""Two checkpoints on the same text, position by position."""

from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as functional
from tqdm import tqdm

from affine_convert.errors import ConvertError
from affine_convert.training.decoder import Decoder
from affine_convert.training.decoder_weights import load_weights
from affine_convert.training.text_files import load_tokenizer

#: Rows whose log-probabilities are held at once: a row is vocab floats.
_ROWS = 256


@dataclass
class LogitsComparison:
    """Over all positions, in nats of log-probability: a constant on all logits is no difference."""

    positions: int = 0
    largest: float = 0.0  # |log p - log q| over positions and vocabulary
    mean: float = 0.0
    divergence: float = 0.0  # mean KL(first || second)
    first_loss: float = 0.0  # mean next-token loss
    second_loss: float = 0.0
    agreement: float = 0.0  # share of positions with the same most likely token

    def table(self, first: str, second: str) -> str:
        """The figures as text."""
        rows = (
            ("positions", f"{self.positions}"),
            ("largest difference of log-probabilities, nats", f"{self.largest:.3e}"),
            ("mean difference of log-probabilities, nats", f"{self.mean:.3e}"),
            ("mean KL(A || B), nats", f"{self.divergence:.3e}"),
            (f"next-token loss of A = {first}, nats", f"{self.first_loss:.4f}"),
            (f"next-token loss of B = {second}, nats", f"{self.second_loss:.4f}"),
            ("same most likely token", f"{100 * self.agreement:.2f} %"),
        )
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name.ljust(width)}  {value:>12}" for name, value in rows)


class _Sums:
    """Sums over positions, from which the means are made."""

    def __init__(self):
        self.found = LogitsComparison()

    def add(self, first: torch.Tensor, second: torch.Tensor, targets: torch.Tensor) -> None:
        """first, second [rows, vocab]: log-probabilities; targets [rows]."""
        found, apart = self.found, (first - second).abs()
        largest = float(apart.max())
        found.positions += len(targets)
        # max() leaves out a NaN on its right, and a NaN must not pass for equal.
        found.largest = largest if largest != largest else max(found.largest, largest)
        found.mean += float(apart.mean(-1).sum())
        found.divergence += float((first.exp() * (first - second)).sum())
        found.first_loss += float(functional.nll_loss(first, targets, reduction="sum"))
        found.second_loss += float(functional.nll_loss(second, targets, reduction="sum"))
        found.agreement += float((first.argmax(-1) == second.argmax(-1)).sum())

    def means(self) -> LogitsComparison:
        """The comparison; sums become means here."""
        for name in ("mean", "divergence", "first_loss", "second_loss", "agreement"):
            setattr(self.found, name, getattr(self.found, name) / self.found.positions)
        return self.found


def _decoder(folder: Path, length: int, dtype: str, device: str) -> Decoder:
    config, weights = load_weights(folder)
    kind = getattr(torch, dtype)
    made = {n: w.to(device, kind if w.ndim == 2 else None) for n, w in weights.items()}
    return Decoder(config, made, kind, min(length, config.most_tokens))


@torch.no_grad()
def compare_decoders(
    first: Decoder, second: Decoder, ids: torch.Tensor, length: int
) -> LogitsComparison:
    """ids [count], cut into pieces of `length`; each position's target is the token after it."""
    sums = _Sums()
    for start in tqdm(range(0, len(ids) - 1, length), desc="compare", unit="piece"):
        piece = ids[start : start + length + 1]
        states = [decoder.hidden(piece[None, :-1])[0] for decoder in (first, second)]
        for row in range(0, len(piece) - 1, _ROWS):
            logs = [
                functional.log_softmax(decoder.logits(state[row : row + _ROWS]), -1)
                for decoder, state in zip((first, second), states, strict=True)
            ]
            sums.add(*logs, piece[1:][row : row + _ROWS])
    return sums.means()


def compare_folders(
    first: Path, second: Path, text: str, *, length: int, most_tokens: int, dtype: str, device: str
) -> LogitsComparison:
    """Compares two folders on `text`. Raises ConvertError where that can't be done."""
    one, other = (_decoder(folder, length, dtype, device) for folder in (first, second))
    if one.config.vocab != other.config.vocab:
        raise ConvertError(
            f"{first} has {one.config.vocab} tokens in its vocabulary, {second} has "
            f"{other.config.vocab}. Name two checkpoints of the same vocabulary."
        )
    ids = load_tokenizer(first).encode(text, add_special_tokens=False).ids[:most_tokens]
    if len(ids) < 2:
        raise ConvertError(f"The text has {len(ids)} tokens. Give one of 2 or more.")
    length = min(length, one.config.most_tokens, other.config.most_tokens)
    return compare_decoders(one, other, torch.tensor(ids, device=device), length)
