"""`affine complete`: one completion, streamed to the terminal."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from affine_client.answers import Chunk, Completion, TokenLogProb
from affine_client.cli.stability_tables import show_layers, show_summary
from affine_client.cli.terminal import Terminal
from affine_client.client import Client
from affine_client.errors import InvalidArgument
from affine_client.joining import join
from affine_client.parameters import CompletionParams
from affine_client.report.text_file import read_text
from affine_client.stability import StabilitySummary

_EXAMPLES = """examples:
  affine complete "The capital of France is"
  affine complete "Once upon a time" --max-tokens 64 --temperature 0.8 --seed 7
  affine complete "1, 2, 3," --temperature 0 --logprobs 3 --no-stream
  affine complete "Name a colour:" --stop . --json
  affine complete "Name a colour:" --n 3 --temperature 1 --max-tokens 4
  affine complete "A date:" --regex "[0-9]{4}-[0-9]{2}-[0-9]{2}"
  affine complete "A person:" --json-schema person.json --max-tokens 100
  affine complete "Once upon a time" --stability
  cat prompt.txt | affine complete - --max-tokens 200
"""

_NUMBERS = (
    (
        "--max-tokens",
        int,
        "most tokens to make; 0 computes the prompt alone (server's default: 16)",
    ),
    ("--min-tokens", int, "no end before so many tokens"),
    ("--temperature", float, "0 takes the most likely token; range [0, 100]"),
    ("--top-k", int, "keep the k most likely tokens; 0 keeps all"),
    ("--top-p", float, "keep the smallest set of this probability; range (0, 1]"),
    ("--min-p", float, "keep what is this fraction of the most likely; range [0, 1]"),
    ("--typical-p", float, "keep the most typical set of this probability; range (0, 1]"),
    ("--repetition-penalty", float, "above 1 avoids what was there, prompt too; range (0, 100]"),
    ("--frequency-penalty", float, "for each time a token was made; range [-2, 2]"),
    ("--presence-penalty", float, "for a token that was made; range [-2, 2]"),
    ("--seed", int, "makes the draw repeatable"),
    ("--n", int, "make N answers, each with a draw of its own; range [1, 128]"),
    ("--best-of", int, "make so many and give the n likeliest; not in a stream"),
    ("--logprobs", int, "log-probabilities, with the N best alternatives; range [0, 20]"),
    ("--prompt-logprobs", int, "the same for the prompt's tokens; range [0, 20]"),
    ("--truncate-prompt-tokens", int, "use the prompt's last N tokens; -1: what fits"),
    ("--priority", int, "lower runs first (default: 0)"),
    ("--timeout-ms", int, "end the request after this many milliseconds"),
    ("--max-ttft-ms", int, "refuse if the first token is expected later than this"),
    ("--max-time-per-token-ms", float, "refuse if a token is expected to take longer"),
)

_LISTS = (
    ("--stop", str, "TEXT", "end before this text; may be repeated"),
    ("--bad-word", str, "TEXT", "never make this text; may be repeated"),
    ("--allowed-token-id", int, "ID", "make only this token, or others so allowed"),
    ("--logprob-token-id", int, "ID", "its log-probability too, with --logprobs"),
    ("--logit-bias", str, "ID=X", "add X to this token's logit; range [-100, 100]"),
)

_SWITCHES = (
    "echo",
    "ignore_eos",
    "include_stop_str_in_output",
    "stability",
    "stability_heads",
)


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
    for flag, item, metavar, text in _LISTS:
        parser.add_argument(flag, action="append", type=item, metavar=metavar, help=text)
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--choice", action="append", metavar="TEXT", help="one of these texts")
    forms.add_argument("--regex", metavar="TEXT", help="what this regular expression matches")
    forms.add_argument("--json-schema", metavar="FILE", help="JSON that this schema allows")
    forms.add_argument("--json-object", action="store_true", help="any JSON object")
    forms.add_argument("--grammar", metavar="FILE", help="what this EBNF's rule root derives")
    parser.add_argument(
        "--include-stop-str-in-output",
        action="store_true",
        help="print the stop text that ended the answer as well",
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
        help="print pieces as they come (default: yes, but not with --json or several answers)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON: one object, or with --stream one a line"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    prompt = terminal.text_of(arguments.prompt, "prompt")
    params = _params(arguments)
    form = _form(arguments)
    if form is not None:
        params["structured_output"] = form
    with Client(arguments.address, api_key=arguments.api_key) as client:
        whole = arguments.json or (arguments.n or 1) > 1 or arguments.best_of is not None
        stream = arguments.stream if arguments.stream is not None else not whole
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
    _show_answers(terminal, answer, streamed=stream)
    _note_lack(arguments, terminal, answer.stability)
    usage = answer.usage
    ends = ", ".join(each.finish_reason for each in answer.answers)
    terminal.note(
        f"[{usage.prompt_tokens} prompt tokens ({usage.cached_tokens} cached), "
        f"{usage.output_tokens} output tokens, ended by {ends}]"
    )
    return 0


def _form(arguments: argparse.Namespace) -> dict[str, Any] | None:
    """The form that the output must have, if one was asked for."""
    if arguments.choice is not None:
        return {"choice": {"choices": arguments.choice}}
    if arguments.regex is not None:
        return {"regex": arguments.regex}
    if arguments.json_object:
        return {"json_object": True}
    for name in ("json_schema", "grammar"):
        path = getattr(arguments, name)
        if path is not None:
            return {name: read_text(Path(path))}
    return None


def _params(arguments: argparse.Namespace) -> CompletionParams:
    """The parameters that were given; the others stay unset, which zero is not."""
    names = [flag[2:].replace("-", "_") for flag, _, _ in _NUMBERS] + ["model", "stop"]
    given = {name: getattr(arguments, name) for name in names}
    given["bad_words"] = arguments.bad_word
    given["allowed_token_ids"] = arguments.allowed_token_id
    given["logprob_token_ids"] = arguments.logprob_token_id
    given["logit_bias"] = _bias(arguments.logit_bias)
    params = {name: value for name, value in given.items() if value is not None}
    switches = {name: True for name in _SWITCHES if getattr(arguments, name)}
    if arguments.stability_heads:
        switches["stability"] = True
    return cast(CompletionParams, params | switches)


def _bias(pairs: list[str] | None) -> dict[int, float] | None:
    if pairs is None:
        return None
    bias = {}
    for pair in pairs:
        id, _, added = pair.partition("=")
        try:
            bias[int(id)] = float(added)
        except ValueError:
            raise InvalidArgument(
                f"--logit-bias is {pair!r:.80}; it must be a token id, = and a number, as 5=-100"
            ) from None
    return bias


def _show_answers(terminal: Terminal, answer: Completion, *, streamed: bool) -> None:
    """Texts, but the first only if no stream has shown it, and what belongs to each of them."""
    several = len(answer.answers) > 1
    for index, each in enumerate(answer.answers):
        shown = streamed and index == 0
        if several and not shown:
            terminal.line(f"answer {index}:" if index == 0 else f"\nanswer {index}:")
        terminal.line("" if shown else each.text)
        if index == 0:
            _show_logprobs(terminal, "prompt", answer.prompt_logprobs)
        _show_logprobs(terminal, "answer", each.logprobs)
        if each.stability is not None:
            _show_stability(terminal, each.stability)


def _shown(chunks: Iterator[Chunk], terminal: Terminal) -> Iterator[Chunk]:
    """Of several answers the first is shown as it comes."""
    for chunk in chunks:
        if chunk.index == 0:
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
        others = (*token.top, *token.chosen)
        best = "  ".join(f"{other.text!r} {other.logprob:.3f}" for other in others)
        rows.append(
            (str(token.id), repr(token.text), f"{token.logprob:.4f}", str(token.rank), best)
        )
    terminal.line()
    terminal.table((f"{of} id", "token", "logprob", "rank", "most likely"), rows)
