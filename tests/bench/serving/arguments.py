"""The command line of `python tests/bench/serving`."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from serving.rows import ROW_NAMES

ROOT = Path(__file__).resolve().parents[3]
_MODELS = ROOT / "models"
_MOST_REPEATS = 100

_DESCRIPTION = """\
Measures affine_server beside llama-server and vLLM, one server at a time, on the same model,
prompts and machine, and prints a table of ratios. What each row is, and how to install the peers:
tests/bench/README.md."""


@dataclass(frozen=True)
class Arguments:
    affine_server: Path
    model: Path
    plain_model: Path
    peers: Path | None
    out: Path
    rows: tuple[str, ...]
    repeats: int
    quick: bool

    def vocab_size(self) -> int:
        return int(json.loads((self.model / "config.json").read_text())["vocab_size"])


def parse(words: Sequence[str] | None = None) -> Arguments:
    """Exits with 2 and one line that names the argument, its value and what is allowed."""
    parser = _parser()
    given = parser.parse_args(words)
    if not os.access(given.affine_server, os.X_OK) or given.affine_server.is_dir():
        parser.error(
            f"--affine_server is {given.affine_server}, which is no program; "
            "build the target affine_server"
        )
    if not (given.model / "config.json").is_file():
        parser.error(
            f"--model is {given.model}, which holds no config.json; "
            "make the default model with deploy/serve.sh"
        )
    if given.peers is not None and not given.peers.is_dir():
        parser.error(f"--peers is {given.peers}, which is no folder; see tests/bench/README.md")
    if given.out.exists() and not given.out.is_dir():
        parser.error(f"--out is {given.out}, which is no folder")
    repeats = given.repeats if given.repeats is not None else 1 if given.quick else 5
    return Arguments(
        affine_server=given.affine_server,
        model=given.model,
        plain_model=given.plain_model,
        peers=given.peers,
        out=given.out,
        rows=given.rows,
        repeats=repeats,
        quick=given.quick,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python tests/bench/serving",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, default, text in (
        ("affine_server", ROOT / "build/server/app/affine_server", "the program to measure"),
        ("model", _MODELS / "smollm2-135m-instruct-affine", "its checkpoint folder"),
        ("plain_model", _MODELS / "smollm2-135m-instruct", "the plain one, for the row softmax"),
    ):
        parser.add_argument(
            f"--{name}", type=Path, default=default, metavar="PATH", help=f"{text} (%(default)s)"
        )
    parser.add_argument(
        "--peers", type=Path, metavar="DIR", help="where the peers are; without it, none is run"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="for serving.json, serving.md, logs"
    )
    parser.add_argument(
        "--rows",
        type=_rows,
        default=ROW_NAMES,
        metavar="NAME,...",
        help=f"those of the table, out of {','.join(ROW_NAMES)} (all)",
    )
    parser.add_argument(
        "--repeats", type=_repeats, metavar="N", help="starts of each server (5; 1 with --quick)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="one wave of requests: shows that all of it works"
    )
    return parser


def _rows(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in ROW_NAMES:
            raise argparse.ArgumentTypeError(
                f"{name!r} is no row; there are {', '.join(ROW_NAMES)}"
            )
    return tuple(name for name in ROW_NAMES if name in names)


def _repeats(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_REPEATS:
        raise argparse.ArgumentTypeError(f"{text} is not in [1, {_MOST_REPEATS}]")
    return int(text)
