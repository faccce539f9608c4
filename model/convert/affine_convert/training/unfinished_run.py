"""A file from which an interrupted training goes on, and gone when the training is done."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import torch

from affine_convert.errors import ConvertError
from affine_convert.floats import decode
from affine_convert.safetensors_reader import read_metadata, read_safetensors
from affine_convert.safetensors_writer import PlannedTensor, write_safetensors


@dataclass
class Progress:
    """How far a training is, beside its tensors."""

    done: int = 0  # steps
    losses: list[float] = field(default_factory=list)  # of each step
    before: dict[str, float] = field(default_factory=dict)  # held-out losses at the start
    seconds: float = 0.0  # of all steps


class UnfinishedRun:
    """The file beside an adapter that is still being made. No code is ever loaded from it."""

    def __init__(self, adapter: Path, inputs: dict):
        """`inputs`: all that decides the result, as JSON; a file of other inputs is refused."""
        self.path = adapter.with_name(f"{adapter.name}.unfinished")
        self._inputs = inputs

    def save(self, tensors: dict[str, torch.Tensor], progress: Progress) -> None:
        """Replaces the file in one go."""
        planned = [
            PlannedTensor(name, "F32", tuple(t.shape), lambda t=t: t.float().cpu().numpy())
            for name, t in tensors.items()
        ]
        metadata = {"inputs": json.dumps(self._inputs), "progress": json.dumps(vars(progress))}
        partial = self.path.with_name(f".{self.path.name}.partial")
        write_safetensors(partial, planned, None, metadata)
        os.replace(partial, self.path)

    def load(self) -> tuple[dict[str, torch.Tensor], Progress] | None:
        """The last state that was saved, or None. Raises ConvertError for one of other inputs."""
        if not self.path.exists():
            return None
        metadata = read_metadata(self.path)
        try:
            inputs = json.loads(metadata["inputs"])
            progress = Progress(**json.loads(metadata["progress"]))
        except (KeyError, ValueError, TypeError) as error:
            raise ConvertError(f"{self.path} is no unfinished training. Remove it.") from error
        changed = [key for key, value in self._inputs.items() if inputs.get(key) != value]
        if changed:
            told = ", ".join(
                f"{key} was {inputs.get(key)!r} and is {self._inputs[key]!r}" for key in changed
            )
            raise ConvertError(
                f"{self.path} belongs to another training: {told}. Give the same again, or remove "
                "the file to begin anew."
            )
        tensors = {
            name: torch.from_numpy(decode(tensor.load(), tensor.dtype).copy())
            for name, tensor in read_safetensors(self.path).items()
        }
        return tensors, progress

    def remove(self) -> None:
        """The training is done."""
        self.path.unlink(missing_ok=True)
