"""A whole fine-tuning: from a checkpoint folder and texts to an adapter and its record."""

import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from tqdm import tqdm

from affine_convert.adapter import Adapter, write_adapter
from affine_convert.errors import ConvertError
from affine_convert.fingerprint import base_sha256
from affine_convert.output_folder import write_json
from affine_convert.safetensors_reader import read_folder
from affine_convert.training.alpha_statistics import AlphaStatistics
from affine_convert.training.decoder import Decoder
from affine_convert.training.decoder_config import DecoderConfig
from affine_convert.training.decoder_weights import affinized, load_weights
from affine_convert.training.held_out import HeldOut
from affine_convert.training.text_files import TokenWindows
from affine_convert.training.texts import Texts
from affine_convert.training.trainer import Trainer, TrainingPlan, is_trained
from affine_convert.training.unfinished_run import Progress, UnfinishedRun


@dataclass(frozen=True)
class Place:
    """Where and how often, on which the result does not depend."""

    device: str
    checkpoint_every: int  # steps; 0: never


def _prepared(
    weights: dict[str, torch.Tensor], train: str | None, dtype: torch.dtype, device: str
) -> dict[str, torch.Tensor]:
    """Trained tensors as float32 leaves, frozen matrices in the type that computes."""
    made = {}
    for name, tensor in weights.items():
        if is_trained(name, train):
            made[name] = tensor.to(device, torch.float32, copy=True).requires_grad_(True)
        elif tensor.ndim == 2:
            made[name] = tensor.to(device, dtype)
        else:
            made[name] = tensor.to(device, copy=True)
    return made


class Finetuning:
    """Trains, evaluates, saves on the way, and writes the adapter."""

    def __init__(self, folder: Path, out: Path, plan: TrainingPlan, place: Place):
        """Raises ConvertError where `out` exists."""
        if out.exists():
            raise ConvertError(f"{out} exists already. Remove it or name another adapter.")
        self._folder, self._out, self._plan, self._place = folder, out, plan, place

    def run(self, texts: Texts, held_out: Texts, activation: str, normalizer: str | int) -> None:
        """`activation` and `normalizer` are for a checkpoint that is not affine yet."""
        plan = self._plan
        self._out.parent.mkdir(parents=True, exist_ok=True)
        plain, plain_weights = load_weights(self._folder)
        config, weights = plain, plain_weights
        if not plain.attention.affine:
            made = affinized(self._folder, plain, plain_weights, activation, normalizer)
            config, weights = made
        if plan.length > config.most_tokens:
            raise ConvertError(
                f"--length is {plan.length}; the model takes {config.most_tokens} tokens. "
                "Give less."
            )
        student = self._decoder(config, weights, plan.train)
        teacher = self._decoder(plain, plain_weights, None) if plan.distill else None
        files = [texts.tokens[kind] for kind in sorted(texts.tokens)]
        windows = TokenWindows(files, plan.length, plan.batch, plan.seed)
        trainer = Trainer(plan, student, teacher, windows)
        sha256 = base_sha256(read_folder(self._folder), plain.attention.affine)
        inputs = {
            "base_sha256": sha256,
            "attention": config.attention.to_json(),
            "texts": texts.sha256,
            "held_out": held_out.sha256,
        }
        unfinished = UnfinishedRun(self._out, inputs | asdict(plan))
        examined = HeldOut(held_out.tokens, plan.length, plan.batch)
        progress = self._resume(trainer, unfinished)
        if not progress.before:
            progress.before = examined.losses(student, "held out, before", self._place.device)
        self._train(trainer, unfinished, progress)
        alpha = AlphaStatistics()
        after = examined.losses(student, "held out, after", self._place.device, alpha.observe)
        self._write(trainer, config, sha256)
        record = self._record(config, sha256, texts, progress)
        record["held_out"] = {
            kind: {"tokens": count, "before": progress.before[kind], "after": after[kind]}
            for kind, count in examined.tokens.items()
        }
        record["held_out_alpha_by_layer"] = alpha.by_layer()
        write_json(self._out.with_suffix(".json"), record)
        unfinished.remove()

    def _decoder(self, config: DecoderConfig, weights: dict, train: str | None) -> Decoder:
        dtype = getattr(torch, self._plan.dtype)
        made = _prepared(weights, train, dtype, self._place.device)
        return Decoder(config, made, dtype, self._plan.length)

    def _resume(self, trainer: Trainer, unfinished: UnfinishedRun) -> Progress:
        saved = unfinished.load()
        if saved is None:
            return Progress()
        tensors, progress = saved
        if progress.done:
            trainer.restore(tensors, progress.done)
        print(f"goes on after step {progress.done} of {self._plan.steps}")
        return progress

    def _train(self, trainer: Trainer, unfinished: UnfinishedRun, progress: Progress) -> None:
        plan, every = self._plan, self._place.checkpoint_every
        tokens = plan.batch * plan.length
        with tqdm(total=plan.steps, initial=progress.done, desc="steps", unit="step") as bar:
            for index in range(progress.done, plan.steps):
                begin = time.monotonic()
                loss = trainer.step(index)
                seconds = time.monotonic() - begin
                progress.losses.append(loss)
                progress.seconds += seconds
                progress.done = index + 1
                bar.set_postfix_str(
                    f"loss {loss:.3f}, {tokens / seconds:.0f} tokens/s", refresh=False
                )
                bar.update()
                if every and progress.done % every == 0 and progress.done < plan.steps:
                    unfinished.save(trainer.state(), progress)

    def _write(self, trainer: Trainer, config: DecoderConfig, sha256: str) -> None:
        plan = self._plan
        tensors = {name: t.float().cpu().numpy() for name, t in trainer.result().items()}
        adapter = Adapter(
            tensors,
            self._folder.resolve().name,
            sha256,
            config.attention.to_json(),
            plan.rho,
            plan.steps,
            plan.train,
        )
        write_adapter(self._out, adapter)

    def _record(self, config: DecoderConfig, sha256: str, texts: Texts, progress: Progress) -> dict:
        plan = self._plan
        return {
            "base_model": self._folder.resolve().name,
            "base_sha256": sha256,
            "attention": config.attention.to_json(),
            "plan": asdict(plan),
            "texts": {
                kind: {"tokens": len(texts.tokens[kind]), "sha256": texts.sha256[kind]}
                for kind in sorted(texts.tokens)
            },
            "torch": torch.__version__,
            "device": self._place.device,
            "threads": torch.get_num_threads(),
            "seconds": round(progress.seconds, 1),
            "tokens_per_second": round(
                plan.steps * plan.batch * plan.length / max(progress.seconds, 1e-9), 1
            ),
            "losses": [round(loss, 4) for loss in progress.losses],
        }
