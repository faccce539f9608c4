"""verify: how far two checkpoints' logits are apart on a text."""

import argparse
from pathlib import Path

from affine_convert.errors import ConvertError
from affine_convert.optional_torch import require_torch

SUMMARY = "compare the logits of two checkpoints on a text; needs torch"
DESCRIPTION = (
    "Computes both checkpoints on the same text and prints, over all positions: the largest and "
    "mean difference of log-probabilities, KL(A || B), the next-token loss of each, and how often "
    "both hold the same token for the most likely. Both need one vocabulary; A's tokenizer is used."
)
#: Some prose, a list, code and figures, for those who bring no text.
_SAMPLE = (
    "The lighthouse keeper climbed the stairs every evening, and every evening the sea was "
    "a little different. Some nights it lay flat as slate; on others it threw itself at the "
    "rocks.\n\n"
    "Things to bring:\n- a lamp and two spare wicks\n- bread, cheese and 3 apples\n\n"
    "def area(radius):\n    return 3.14159 * radius ** 2\n\n"
    "In 1912 the tower was raised by 4.5 metres, at a cost of 2,300 pounds.\n"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what verify takes."""
    parser.add_argument("first", metavar="A_DIR", type=Path, help="checkpoint folder")
    parser.add_argument("second", metavar="B_DIR", type=Path, help="checkpoint folder")
    parser.add_argument(
        "--text", metavar="FILE", type=Path, help="UTF-8 text; without it, a sample"
    )
    parser.add_argument(
        "--length", metavar="N", type=int, default=512, help="tokens that are computed at once"
    )
    parser.add_argument(
        "--tokens", metavar="N", type=int, default=4096, help="most tokens of the text to read"
    )
    parser.add_argument(
        "--max-difference",
        metavar="X",
        type=float,
        help="ends with exit code 1 where the largest difference is above X, in nats",
    )
    parser.add_argument(
        "--dtype",
        choices=("float32", "bfloat16"),
        default="float32",
        help="of linear layers",
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where to compute")
    parser.add_argument(
        "--threads", metavar="N", type=int, default=0, help="of torch; 0: as many as cores"
    )


def run(arguments: argparse.Namespace) -> None:
    """Runs the subcommand. Raises ConvertError where --max-difference is exceeded."""
    for name in ("length", "tokens"):
        if getattr(arguments, name) < 1:
            raise ConvertError(f"--{name} is {getattr(arguments, name)}. Give 1 or more.")
    require_torch()
    from affine_convert.training.compute import prepare_device
    from affine_convert.training.logits_comparison import compare_folders

    prepare_device(arguments.device, arguments.threads)
    text = arguments.text.read_text(encoding="utf-8") if arguments.text else _SAMPLE
    found = compare_folders(
        arguments.first,
        arguments.second,
        text,
        length=arguments.length,
        most_tokens=arguments.tokens,
        dtype=arguments.dtype,
        device=arguments.device,
    )
    print(found.table(arguments.first.name, arguments.second.name))
    allowed = arguments.max_difference
    if allowed is not None and not found.largest <= allowed:  # NaN is never within
        raise ConvertError(
            f"The largest difference is {found.largest:.3g} nats, --max-difference {allowed:g}. "
            "The checkpoints do not give the same answers."
        )
