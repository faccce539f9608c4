"""affinize: affine attention that leaves every output as it was.

With W_a = 0 both activations give alpha = 0.5; with an alpha_ma of 0.5 that makes beta = 0.
Attention then gives half of what it gave, and doubled output projections make up for it.
Doubling is exact.
"""

import argparse
from pathlib import Path

import numpy as np

from affine_convert.errors import ConvertError
from affine_convert.floats import STORAGE, doubled, encode
from affine_convert.output_folder import copy_companions, output_folder, read_json, write_json
from affine_convert.safetensors_reader import StoredTensor, read_folder
from affine_convert.safetensors_writer import PlannedTensor, write_safetensors

SUMMARY = "turn a Llama or Qwen2 checkpoint affine without changing an output"
DESCRIPTION = (
    "Adds alpha_proj.weight = 0 and alpha_ma = 0.5 to every layer, doubles o_proj.weight and sets "
    "the attention key of config.json. The outputs stay what they were; it is the start of fine-tuning."
)
_ARCHITECTURES = ("LlamaForCausalLM", "Qwen2ForCausalLM")


def normalizer(text: str) -> str | int:
    """The value of --normalizer."""
    if text == "visible":
        return text
    if text.isdecimal() and 1 <= int(text) <= 1 << 27:
        return int(text)
    raise argparse.ArgumentTypeError(
        f"{text!r} is neither visible nor a number from 1 to {1 << 27}"
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what affinize takes."""
    parser.add_argument("source", metavar="SRC", type=Path, help="checkpoint folder to read")
    parser.add_argument("out", metavar="OUT", type=Path, help="folder to make; must not exist")
    add_affine_arguments(parser)


def add_affine_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what chooses the kind of affine attention."""
    parser.add_argument(
        "--activation",
        choices=("linear_clipping", "sigmoid"),
        default="linear_clipping",
        help="phi in alpha = phi(W_a x)",
    )
    parser.add_argument(
        "--normalizer",
        metavar="visible|N",
        type=normalizer,
        default="visible",
        help="N in beta = (alpha_ma - alpha) / N: the number of visible keys, or a fixed number of "
        "tokens, which then caps the model's length",
    )


def affine_config(config: dict, activation: str, normalizer: str | int) -> dict:
    """config.json with affine attention; denominator and gate stay. Raises ConvertError."""
    architectures = config.get("architectures")
    if not isinstance(architectures, list) or architectures[:1] not in [
        [a] for a in _ARCHITECTURES
    ]:
        raise ConvertError(
            f"architectures is {architectures}. Allowed is one of {', '.join(_ARCHITECTURES)}."
        )
    attention = config.get("attention") or {}
    if attention.get("affine"):
        raise ConvertError("The checkpoint is affine already. Use it as it is.")
    affine = {"alpha_activation": activation, "normalizer": normalizer}
    whole = {"denominator": "softmax", "gate": "none", **attention, "affine": affine}
    return {**config, "attention": whole}


def _plan_layer(prefix: str, heads: int, output: StoredTensor) -> list[PlannedTensor]:
    """The three tensors of one layer's attention: W_o doubled, W_a = 0, alpha_ma = 0.5."""
    name, dtype, hidden = f"{prefix}o_proj.weight", output.dtype, output.shape[0]
    return [
        PlannedTensor(name, dtype, output.shape, lambda: doubled(output.load(), dtype, name)),
        PlannedTensor(
            f"{prefix}alpha_proj.weight",
            dtype,
            (heads, hidden),
            lambda: np.zeros((heads, hidden), STORAGE[dtype]),
        ),
        # Kept in float32: it is a running mean of alpha, which is float32 in serving too.
        PlannedTensor(
            f"{prefix}alpha_ma",
            "F32",
            (heads,),
            lambda: encode(np.full(heads, 0.5, np.float32), "F32"),
        ),
    ]


def plan_weights(config: dict, tensors: dict[str, StoredTensor]) -> list[PlannedTensor]:
    """All tensors of the affine checkpoint."""
    layers, heads = config.get("num_hidden_layers"), config.get("num_attention_heads")
    if type(layers) is not int or type(heads) is not int or layers < 1 or heads < 1:
        raise ConvertError("config.json lacks num_hidden_layers or num_attention_heads.")
    changed: dict[str, PlannedTensor] = {}
    for layer in range(layers):
        prefix = f"model.layers.{layer}.self_attn."
        output = tensors.get(f"{prefix}o_proj.weight")
        if output is None or len(output.shape) != 2:
            raise ConvertError(f"{prefix}o_proj.weight is missing. Take a whole checkpoint.")
        changed |= {tensor.name: tensor for tensor in _plan_layer(prefix, heads, output)}
    clash = sorted((changed.keys() & tensors.keys()) - {n for n in changed if "o_proj" in n})
    if clash:
        raise ConvertError(f"{clash[0]} is there already, though config.json isn't affine.")
    kept = [
        # Opened when its turn to be written comes: each open view holds a file descriptor.
        PlannedTensor(name, tensor.dtype, tensor.shape, tensor.load)
        for name, tensor in tensors.items()
        if name not in changed
    ]
    return kept + list(changed.values())


def convert(source: Path, out: Path, activation: str, normalizer: str | int) -> None:
    """Writes folder `out`: `source` with the identity of affine attention."""
    config = read_json(source / "config.json")
    tensors = read_folder(source)
    weights = plan_weights(config, tensors)
    with output_folder(out) as folder:
        write_json(folder / "config.json", affine_config(config, activation, normalizer))
        copy_companions(source, folder)
        write_safetensors(folder / "model.safetensors", weights, f"{out.name}: weights")


def run(arguments: argparse.Namespace) -> None:
    """Runs the subcommand."""
    convert(arguments.source, arguments.out, arguments.activation, arguments.normalizer)
    print(f"wrote {arguments.out}")
