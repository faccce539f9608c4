"""The training loop's one step, and its state between steps."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from affine_convert.training.decoder import Decoder
from affine_convert.training.objective import Objective
from affine_convert.training.running_mean import RunningMean
from affine_convert.training.schedule import share_of_rate
from affine_convert.training.text_files import TokenWindows

ALPHA_PROJECTION = ".self_attn.alpha_proj.weight"
ALPHA_MEAN = ".self_attn.alpha_ma"


@dataclass(frozen=True)
class TrainingPlan:
    """All numbers on which the result depends, beside model and texts."""

    train: str  # alpha, attention or all
    distill: float  # weight of the teacher, 0 to 1
    steps: int
    batch: int  # windows a step
    length: int  # tokens a window
    seed: int
    dtype: str  # of linear layers: bfloat16 or float32
    learning_rate: float  # of alpha_proj
    other_learning_rate: float  # of all else that is trained
    warmup: int  # steps
    weight_decay: float
    clip: float  # largest norm of the gradient
    rho: float  # of the running mean


def is_trained(name: str, train: str | None) -> bool:
    """Whether `--train=train` trains the tensor, None nothing; no gradient moves a running mean."""
    if train is None or name.endswith(ALPHA_MEAN):
        return False
    kinds = {"alpha": ALPHA_PROJECTION, "attention": ".self_attn.", "all": ""}
    return kinds[train] in name


class Trainer:
    """Changes the trained tensors of a decoder's weights, and its running means, in place."""

    def __init__(
        self, plan: TrainingPlan, student: Decoder, teacher: Decoder | None, windows: TokenWindows
    ):
        """The student's trained tensors must be float32 leaves. `teacher`: see Objective."""
        self.plan = plan
        self._student, self._teacher, self._windows = student, teacher, windows
        self._objective = Objective(plan.distill)
        self._trained = {n: w for n, w in student.weights.items() if is_trained(n, plan.train)}
        layers = range(student.config.layers)
        self._means = {
            name: student.weights[name]
            for name in (f"model.layers.{i}{ALPHA_MEAN}" for i in layers)
        }
        self._running = RunningMean(list(self._means.values()), plan.rho)
        self._optimizer = torch.optim.AdamW(self._groups(), betas=(0.9, 0.95))
        self._device = next(iter(self._means.values())).device

    def _groups(self) -> list[dict]:
        plan, groups = self.plan, []
        for alpha, rate in ((True, plan.learning_rate), (False, plan.other_learning_rate)):
            chosen = [w for n, w in self._trained.items() if n.endswith(ALPHA_PROJECTION) == alpha]
            if chosen:
                groups.append(
                    {"params": chosen, "full_rate": rate, "weight_decay": plan.weight_decay}
                )
        return groups

    def step(self, index: int) -> float:
        """Step `index` (from 0) and its loss, before the change, in nats a token."""
        for group in self._optimizer.param_groups:
            share = share_of_rate(index, self.plan.steps, self.plan.warmup)
            group["lr"] = group["full_rate"] * share
        windows = self._windows.batch(index).to(self._device)
        self._optimizer.zero_grad(set_to_none=True)
        loss = self._objective.loss(self._student, self._teacher, windows, self._running.observe)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(self._trained.values()), self.plan.clip)
        self._optimizer.step()
        self._running.update()
        return float(loss.detach())

    def result(self) -> dict[str, torch.Tensor]:
        """The trained tensors and running means by name, detached."""
        return {name: tensor.detach() for name, tensor in (self._trained | self._means).items()}

    def state(self) -> dict[str, torch.Tensor]:
        """All that a later step depends on; the running means and trained tensors included."""
        moments = {f"{kind}:{name}": tensor for kind, name, tensor in self._moments()}
        return self.result() | moments

    def _moments(self) -> Iterator[tuple[str, str, torch.Tensor]]:
        for name, weight in self._trained.items():
            for kind in ("exp_avg", "exp_avg_sq"):
                yield kind, name, self._optimizer.state[weight][kind]

    def restore(self, state: dict[str, torch.Tensor], done: int) -> None:
        """Goes back to the state after `done` steps, as `state` gave it."""
        with torch.no_grad():
            for name, tensor in self.result().items():
                tensor.copy_(state[name])
        for name, weight in self._trained.items():
            self._optimizer.state[weight] = {
                "step": torch.tensor(float(done)),
                "exp_avg": state[f"exp_avg:{name}"].to(self._device),
                "exp_avg_sq": state[f"exp_avg_sq:{name}"].to(self._device),
            }
