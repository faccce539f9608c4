"""inspect: what a checkpoint folder holds."""

import argparse
import re
from math import prod
from pathlib import Path

from affine_convert.output_folder import read_json
from affine_convert.safetensors_reader import StoredTensor, read_folder

SUMMARY = "show config, attention, tensors and sizes of a checkpoint folder"
DESCRIPTION = (
    "Prints a table of what a checkpoint folder holds, from headers alone. Tensors that differ by "
    "layer number only share a line."
)
_CONFIG_KEYS = (
    "architectures",
    "torch_dtype",
    "dtype",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
    "max_position_embeddings",
    "rms_norm_eps",
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "tie_word_embeddings",
    "attention_bias",
    "mlp_bias",
    "bos_token_id",
    "eos_token_id",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what inspect takes."""
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="checkpoint folder to read")


def _attention_rows(config: dict) -> list[tuple[str, str]]:
    attention = config.get("attention") or {}
    affine = attention.get("affine") or {}
    return [
        ("denominator", str(attention.get("denominator", "softmax"))),
        ("alpha activation", str(affine.get("alpha_activation", "not affine"))),
        ("normalizer", str(affine.get("normalizer", "not affine"))),
        ("gate", str(attention.get("gate", "none"))),
    ]


def _mebibytes(num_bytes: int) -> str:
    return f"{num_bytes / 2**20:.2f} MiB"


def _tensor_rows(tensors: dict[str, StoredTensor]) -> list[tuple[str, ...]]:
    """Name, dtype, shape, count and size of each group of layers' tensors."""
    groups: dict[tuple[str, str, str], list[StoredTensor]] = {}
    for name, tensor in tensors.items():
        group = re.sub(r"\.layers\.\d+\.", ".layers.*.", name)
        groups.setdefault((group, tensor.dtype, str(list(tensor.shape))), []).append(tensor)
    return [
        (*group, f"x{len(members)}", _mebibytes(sum(member.num_bytes for member in members)))
        for group, members in sorted(groups.items())
    ]


def _format(title: str, rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    return [title, *("  " + line.rstrip() for line in lines), ""]


def describe(folder: Path) -> str:
    """The whole table as text."""
    config = read_json(folder / "config.json")
    tensors = read_folder(folder)
    settings = [(key, str(config[key])) for key in _CONFIG_KEYS if key in config]
    parameters = sum(prod(tensor.shape) for tensor in tensors.values())
    total = sum(tensor.num_bytes for tensor in tensors.values())
    lines = _format("config", settings or [("empty", "")])
    lines += _format("attention", _attention_rows(config))
    lines += _format("tensors", _tensor_rows(tensors))
    lines.append(f"{len(tensors)} tensors, {parameters:,} parameters, {_mebibytes(total)}")
    return "\n".join(lines)


def run(arguments: argparse.Namespace) -> None:
    """Runs the subcommand."""
    print(describe(arguments.folder))
