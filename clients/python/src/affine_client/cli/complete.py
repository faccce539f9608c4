"""`affine complete`: one completion, streamed to the terminal."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, cast

from affine_client.answers import Chunk, TokenLogProb
from affine_client.cli.stability_tables import show_layers, show_summary
from affine_client.cli.terminal import Terminal
from affine_client.client import Client
from affine_client.joining import join
from affine_client.parameters import CompletionParams
from affine_client.stability import StabilitySummary

_EXAMPLES = """examples:
  affine complete "The capital of France is"
  affine complete "Once upon a time" --max-tokens 64 --temperature 0.8 --seed 7
  affine complete "1, 2, 3," --temperature 0 --logprobs 3 --no-stream
  affine complete "Name a colour:" --stop . --json
  affine complete "Once upon a time" --stability
  cat prompt.txt | affine complete - --max-tokens 200
"""

_NUMBERS = (
    (
        "--max-tokens",
        int,
        "most tokens to make; 0 computes the prompt alone (server's default: 16)",
    ),
    ("--temperature", float, "0 takes the most likely token; range [0, 100]"),
    ("--top-k", int, "keep the k most likely tokens; 0 keeps all"),
    ("--top-p", float, "keep the smallest set of this probability; range (0, 1]"),
    ("--seed", int, "makes the draw repeatable"),
    ("--logprobs", int, "log-probabilities, with the N best alternatives; range [0, 20]"),
    ("--prompt-logprobs", int, "the same for the prompt's tokens; range [0, 20]"),
    ("--priority", int, "lower runs first (default: 0)"),
    ("--timeout-ms", int, "end the request after this many milliseconds"),
)

_SWITCHES = ("echo", "ignore_eos", "stability", "stability_heads")


def add_parser(commands: Any, connection: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "complete",
        parents=[connection],
        help="continue a text",
        description="Continues a text and streams the answer as it is made.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "prompt", nargs="?", default="-", metavar="PROMPT", help="the text; - or none reads stdin"
    )
    parser.add_argument("--model", help="a served name (default: the first)")
    for flag, kind, text in _NUMBERS:
        parser.add_argument(flag, type=kind, metavar="N" if kind is int else "X", help=text)
    parser.add_argument(
        "--stop", action="append", metavar="TEXT", help="end before this text; may be repeated"
    )
    parser.add_argument("--echo", action="store_true", help="print the prompt before the answer")
    parser.add_argument(
        "--stability",
        action="store_true",
        help="measure the attention at every position, and print a summary after the answer",
    )
    parser.add_argument(
        "--stability-heads",
        action="store_true",
        help="the same, and a table by layer; with --json by layer and head",
    )
    parser.add_argument("--ignore-eos", action="store_true", help="go on past the end of text")
    parser.add_argument(
        "--stream",
        action=argparse.BooleanOptionalAction,
        help="print pieces as they come (default: yes, but with --json no)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON: one object, or with --stream one a line"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    prompt = terminal.text_of(arguments.prompt, "prompt")
    params = _params(arguments)
    with Client(arguments.address, api_key=arguments.api_key) as client:
        stream = arguments.stream if arguments.stream is not None else not arguments.json
        if not stream:
            answer = client.complete(prompt, **params)
            if arguments.json:
                terminal.json(asdict(answer))
                _note_lack(arguments, terminal, answer.stability)
                return 0
        else:
            chunks = client.stream(prompt, **params)
            if arguments.json:
                for chunk in chunks:
                    terminal.json(asdict(chunk), indent=None)
                    if chunk.usage is not None:
                        _note_lack(arguments, terminal, chunk.stability)
                return 0
            answer = join(_shown(chunks, terminal))
    terminal.line("" if stream else answer.text)
    _show_logprobs(terminal, "prompt", answer.prompt_logprobs)
    _show_logprobs(terminal, "answer", answer.logprobs)
    if answer.stability is not None:
        _show_stability(terminal, answer.stability)
    _note_lack(arguments, terminal, answer.stability)
    usage = answer.usage
    terminal.note(
        f"[{usage.prompt_tokens} prompt tokens ({usage.cached_tokens} cached), "
        f"{usage.output_tokens} output tokens, ended by {answer.finish_reason}]"
    )
    return 0


def _params(arguments: argparse.Namespace) -> CompletionParams:
    """The parameters that were given; the others stay unset, which zero is not."""
    names = [flag[2:].replace("-", "_") for flag, _, _ in _NUMBERS] + ["model", "stop"]
    given = {name: getattr(arguments, name) for name in names}
    params = {name: value for name, value in given.items() if value is not None}
    switches = {name: True for name in _SWITCHES if getattr(arguments, name)}
    if arguments.stability_heads:
        switches["stability"] = True
    return cast(CompletionParams, params | switches)


def _shown(chunks: Iterator[Chunk], terminal: Terminal) -> Iterator[Chunk]:
    for chunk in chunks:
        terminal.write(chunk.text)
        yield chunk


def _show_stability(terminal: Terminal, summary: StabilitySummary) -> None:
    terminal.line()
    show_summary(terminal, summary)
    if summary.heads is not None:
        terminal.line()
        show_layers(terminal, summary.heads)


def _note_lack(
    arguments: argparse.Namespace, terminal: Terminal, summary: StabilitySummary | None
) -> None:
    """A server from before --stability passes over the wish in silence."""
    if summary is None and (arguments.stability or arguments.stability_heads):
        terminal.note(
            "[no stability in the answer: the server is older than this command; build and start "
            "it anew with deploy/serve.sh]"
        )


def _show_logprobs(terminal: Terminal, of: str, tokens: tuple[TokenLogProb, ...]) -> None:
    if not tokens:
        return
    rows = []
    for token in tokens:
        best = "  ".join(f"{other.text!r} {other.logprob:.3f}" for other in token.top)
        rows.append(
            (str(token.id), repr(token.text), f"{token.logprob:.4f}", str(token.rank), best)
        )
    terminal.line()
    terminal.table((f"{of} id", "token", "logprob", "rank", "most likely"), rows)
