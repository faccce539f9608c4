"""What training minimises, in nats a token."""

from dataclasses import dataclass

import torch
import torch.nn.functional as functional

from affine_convert.training.decoder import AlphaObserver, Decoder

#: Rows whose logits are held at once: a row is vocab floats.
_ROWS = 512


@dataclass(frozen=True)
class Objective:
    """(1 - distill) cross-entropy of the next token + distill KL from the teacher's distribution.

    KL(teacher || student) over the whole vocabulary, at each position.
    """

    distill: float = 0.0  # 0 next-token alone, 1 distillation alone

    def loss(
        self,
        student: Decoder,
        teacher: Decoder | None,
        windows: torch.Tensor,
        observe: AlphaObserver | None = None,
    ) -> torch.Tensor:
        """Mean over all positions of windows [batch, length + 1]; a scalar that can be derived.

        `teacher` may be None where `distill` is 0; it is never derived.
        """
        ids, targets = windows[:, :-1], windows[:, 1:].flatten()
        rows = student.hidden(ids, observe).flatten(0, 1).split(_ROWS)
        if self.distill:
            with torch.no_grad():
                taught = teacher.hidden(ids).flatten(0, 1).split(_ROWS)
        total = torch.zeros((), device=windows.device)
        for index, (row, target) in enumerate(zip(rows, targets.split(_ROWS), strict=True)):
            logits = student.logits(row)
            if self.distill < 1:
                entropy = functional.cross_entropy(logits, target, reduction="sum")
                total = total + (1 - self.distill) * entropy
            if self.distill:
                with torch.no_grad():
                    wanted = functional.log_softmax(teacher.logits(taught[index]), -1)
                got = functional.log_softmax(logits, -1)
                away = functional.kl_div(got, wanted, reduction="sum", log_target=True)
                total = total + self.distill * away
        return total / targets.numel()
