"""`affine attention`: how stable a model's attention is, by layer."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from affine_client.cli.stability_tables import LEGEND, show_layers
from affine_client.cli.terminal import Terminal
from affine_client.client import Client


def add_parser(commands: Any, connection: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "attention",
        parents=[connection],
        help="show how stable the attention is, by layer",
        description="Shows what a model's attention did in the latest steps that the server "
        "observed (its flag --stability_sample_every): a row for each layer, with the worst head "
        "of each figure.",
        epilog="columns: "
        + LEGEND
        + ".\nfirst token: softmax weight of the first token. score: q k / sqrt(head size).\n"
        "weight sum: of a query's weights before the gate; 1 with plain softmax.\n"
        "at 0, at 1: share of queries with alpha exactly there. drift: |alpha - the mean that "
        "training left|.\n\n"
        "examples:\n  affine attention\n  affine attention --model NAME --json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", default="", help="a served name (default: the first)")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print JSON, on one line: every statistic by layer and head",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    with Client(arguments.address, api_key=arguments.api_key) as client:
        window = client.attention(arguments.model)
    if arguments.json:
        terminal.json(asdict(window), indent=None)
        return 0
    if window.observed_steps == 0:
        terminal.note(
            f"[{window.model}: no step observed yet; send some requests, or start the server with "
            "--stability_sample_every above 0]"
        )
        return 0
    show_layers(terminal, window.heads)
    terminal.note(f"[{window.model}, {window.observed_steps} observed steps; {LEGEND}]")
    return 0
