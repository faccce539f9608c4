"""finetune: trains the scale of affine attention on texts, and writes an adapter."""

import argparse
from pathlib import Path

from affine_convert.affinize import add_affine_arguments
from affine_convert.errors import ConvertError
from affine_convert.optional_torch import require_torch

SUMMARY = "train the scales of affine attention on texts; needs torch"
DESCRIPTION = (
    "Trains W_a (alpha_proj.weight) by gradient and alpha_ma as a running mean, and writes both "
    "as an adapter for merge, with a JSON record beside it. A plain checkpoint is made affine in "
    "memory first, so that training begins at unchanged outputs. After an interruption the same "
    "command goes on from the last saving, to the same result."
)


def _number(least: float, most: float, kind: type = int):
    def read(text: str):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from {least:g} to {most:g}")
        return value

    return read


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what finetune takes."""
    parser.add_argument(
        "model", metavar="MODEL_DIR", type=Path, help="Llama or Qwen2 checkpoint folder"
    )
    parser.add_argument(
        "out", metavar="OUT_ADAPTER", type=Path, help=".safetensors file to make; must not exist"
    )
    _add_texts(parser)
    parser.add_argument(
        "--train",
        choices=("alpha", "attention", "all"),
        default="alpha",
        help="what gradients change: W_a, all of attention, or every tensor; alpha_ma always moves",
    )
    parser.add_argument(
        "--objective",
        choices=("next-token", "distill", "mixed"),
        default="next-token",
        help="the text's next token, the original model's distribution (KL), or both",
    )
    parser.add_argument(
        "--distill-weight",
        metavar="X",
        type=_number(0, 1, float),
        default=0.5,
        help="share of distillation in --objective=mixed, 0 to 1",
    )
    add_affine_arguments(parser)
    _add_optimisation(parser)
    _add_machine(parser)


def _add_texts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--text", metavar="FILE", type=Path, nargs="+", default=[], help="UTF-8 texts to train on"
    )
    parser.add_argument(
        "--text-dir", metavar="DIR", type=Path, help="folder whose *.txt files are trained on too"
    )
    parser.add_argument(
        "--held-out",
        metavar="FILE",
        type=Path,
        nargs="+",
        default=[],
        help="texts to evaluate before and after; a file's name without its ending is its kind",
    )


def _add_optimisation(parser: argparse.ArgumentParser) -> None:
    add, whole, real = parser.add_argument, _number(1, 1 << 30), _number(0, 1e6, float)
    add("--steps", metavar="N", type=whole, default=300, help="steps in all")
    add("--batch", metavar="N", type=whole, default=4, help="windows of text a step")
    add("--length", metavar="N", type=whole, default=512, help="tokens of a window")
    add("--learning-rate", metavar="X", type=real, default=2e-3, help="of W_a, at its highest")
    add(
        "--other-learning-rate",
        metavar="X",
        type=real,
        default=2e-5,
        help="of all else that --train names, at its highest",
    )
    add(
        "--warmup",
        metavar="N",
        type=_number(0, 1 << 30),
        default=20,
        help="steps up to the full rate",
    )
    add("--weight-decay", metavar="X", type=real, default=0.0, help="of AdamW")
    add("--clip", metavar="X", type=real, default=1.0, help="largest norm of the gradient")
    add(
        "--rho",
        metavar="X",
        type=_number(0, 1, float),
        default=0.9,
        help="of the running mean alpha_ma",
    )
    add(
        "--seed", metavar="N", type=_number(0, 1 << 62), default=1, help="of the order of the texts"
    )


def _add_machine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dtype",
        choices=("bfloat16", "float32"),
        default="bfloat16",
        help="of linear layers; alpha, norms and sums are float32 always",
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where to compute")
    parser.add_argument(
        "--threads",
        metavar="N",
        type=_number(0, 1024),
        default=0,
        help="of torch; 0: as many as cores",
    )
    parser.add_argument(
        "--checkpoint-every",
        metavar="N",
        type=_number(0, 1 << 30),
        default=50,
        help="steps between savings of OUT_ADAPTER.unfinished; 0: never",
    )


def text_files(arguments: argparse.Namespace) -> list[Path]:
    """The files of --text and --text-dir. Raises ConvertError where there is none."""
    files = list(arguments.text)
    if arguments.text_dir:
        files += sorted(arguments.text_dir.glob("*.txt"))
    if not files:
        raise ConvertError("No text to train on. Give --text FILE or --text-dir with *.txt files.")
    return files


def run(arguments: argparse.Namespace) -> None:
    """Runs the subcommand."""
    if arguments.out.suffix != ".safetensors":
        raise ConvertError(f"OUT_ADAPTER is {arguments.out}. Its name must end in .safetensors.")
    files = text_files(arguments)
    require_torch()
    from affine_convert.training.compute import prepare_device
    from affine_convert.training.finetuning import Finetuning, Place
    from affine_convert.training.texts import Texts
    from affine_convert.training.trainer import TrainingPlan

    prepare_device(arguments.device, arguments.threads)
    shares = {"next-token": 0.0, "distill": 1.0, "mixed": arguments.distill_weight}
    plan = TrainingPlan(
        train=arguments.train,
        distill=shares[arguments.objective],
        steps=arguments.steps,
        batch=arguments.batch,
        length=arguments.length,
        seed=arguments.seed,
        dtype=arguments.dtype,
        learning_rate=arguments.learning_rate,
        other_learning_rate=arguments.other_learning_rate,
        warmup=arguments.warmup,
        weight_decay=arguments.weight_decay,
        clip=arguments.clip,
        rho=arguments.rho,
    )
    place = Place(arguments.device, arguments.checkpoint_every)
    tuning = Finetuning(arguments.model, arguments.out, plan, place)
    tuning.run(
        Texts.read(arguments.model, files),
        Texts.read(arguments.model, arguments.held_out),
        arguments.activation,
        arguments.normalizer,
    )
    print(f"wrote {arguments.out} and {arguments.out.with_suffix('.json')}")
