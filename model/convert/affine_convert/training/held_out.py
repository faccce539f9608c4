"""The loss on texts that training never sees, by kind."""

import numpy as np
import torch
from tqdm import tqdm

from affine_convert.errors import ConvertError
from affine_convert.training.decoder import AlphaObserver, Decoder
from affine_convert.training.objective import Objective
from affine_convert.training.text_files import windows_of


class HeldOut:
    """Windows of each kind of text."""

    def __init__(self, kinds: dict[str, np.ndarray], length: int, batch: int):
        """`kinds`: token ids by the kind's name. Raises ConvertError for one below a window."""
        self._windows = {kind: windows_of(tokens, length) for kind, tokens in kinds.items()}
        self._batch = batch
        short = [kind for kind, pieces in self._windows.items() if not len(pieces)]
        if short:
            raise ConvertError(
                f"The held-out texts {', '.join(short)} hold no window of --length = {length} "
                "tokens. Give longer ones, or a smaller --length."
            )

    @property
    def tokens(self) -> dict[str, int]:
        """Tokens that are predicted, by kind."""
        return {kind: pieces[:, 1:].size for kind, pieces in self._windows.items()}

    @torch.no_grad()
    def losses(
        self,
        decoder: Decoder,
        label: str,
        device: str = "cpu",
        observe: AlphaObserver | None = None,
    ) -> dict[str, float]:
        """Mean next-token loss in nats, by kind; `label` is the bar's."""
        found = {}
        total = sum(map(len, self._windows.values()))
        with tqdm(total=total, desc=label, unit="window", disable=not total) as bar:
            for kind, pieces in self._windows.items():
                summed = 0.0
                for start in range(0, len(pieces), self._batch):
                    part = torch.from_numpy(pieces[start : start + self._batch]).to(device)
                    summed += float(Objective().loss(decoder, None, part, observe)) * len(part)
                    bar.update(len(part))
                found[kind] = summed / len(pieces)
        return found
