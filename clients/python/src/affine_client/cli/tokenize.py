"""`affine tokenize`: ids and pieces of a text."""

from __future__ import annotations

import argparse
from typing import Any

from affine_client.cli.terminal import Terminal
from affine_client.client import Client


def add_parser(commands: Any, connection: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "tokenize",
        parents=[connection],
        help="show a text's tokens",
        description="Shows the token ids of a text and the piece of text that each stands for.",
        epilog='examples:\n  affine tokenize "Hello, world"\n  affine tokenize - --json < text.txt',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "text", nargs="?", default="-", metavar="TEXT", help="the text; - or none reads stdin"
    )
    parser.add_argument("--model", default="", help="a served name (default: the first)")
    parser.add_argument(
        "--special-tokens",
        action=argparse.BooleanOptionalAction,
        help="add the model's special tokens, as for a prompt (default: yes)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    text = terminal.text_of(arguments.text, "text")
    with Client(arguments.address, api_key=arguments.api_key) as client:
        tokens = client.tokenize(
            text, model=arguments.model, add_special_tokens=arguments.special_tokens
        )
    if arguments.json:
        terminal.json({"ids": tokens.ids, "pieces": tokens.pieces, "count": len(tokens.ids)})
        return 0
    rows = [
        (str(place), str(id), repr(piece))
        for place, (id, piece) in enumerate(zip(tokens.ids, tokens.pieces, strict=True))
    ]
    terminal.table(("position", "id", "piece"), rows)
    terminal.note(f"[{len(tokens.ids)} tokens of at most {tokens.max_model_len}]")
    return 0
