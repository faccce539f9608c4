"""`affine info`: what is served, as a table."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from affine_client.answers import Model
from affine_client.cli.terminal import Terminal
from affine_client.client import Client

_MIB = 1 << 20


def add_parser(commands: Any, connection: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "info",
        parents=[connection],
        help="show the served models",
        description="Shows what the server serves and whether it is ready.",
        epilog="example:\n  affine info --address 127.0.0.1:8000",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    with Client(arguments.address, api_key=arguments.api_key) as client:
        status = client.health()
        models = client.models()
    if arguments.json:
        terminal.json({"status": status, "models": [asdict(model) for model in models]})
        return 0
    terminal.table((), [("address", arguments.address), ("status", status)])
    for model in models:
        terminal.line()
        terminal.table((), _rows(model))
    return 0


def _rows(model: Model) -> list[tuple[str, str]]:
    cache_tokens = model.num_blocks * model.block_size
    cache_mib = model.num_blocks * model.block_bytes / _MIB
    return [
        ("model", model.name),
        ("architecture", model.architecture),
        ("attention", model.attention.description),
        ("parameters", f"{model.num_parameters / 1e6:.1f} million"),
        ("weights", f"{model.weight_bytes / _MIB:.0f} MiB, {model.precision} on {model.device}"),
        ("length", f"{model.max_model_len} tokens, prompt and output together"),
        ("vocabulary", f"{model.vocab_size} tokens"),
        ("layers", f"{model.num_layers}, hidden size {model.hidden_size}"),
        (
            "heads",
            f"{model.num_heads} of {model.head_dim}, {model.num_kv_heads} for keys and values",
        ),
        (
            "cache",
            f"{model.num_blocks} blocks of {model.block_size}: {cache_tokens} tokens, "
            f"{cache_mib:.0f} MiB",
        ),
        ("end of text", ", ".join(map(str, model.eos_token_ids)) or "none"),
        ("begin of text", "none" if model.bos_token_id is None else str(model.bos_token_id)),
        ("server", model.server_version),
    ]
