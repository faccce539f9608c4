"""`affine report`: what a text does to the attention of one or two served models."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from affine_client.address import server_address
from affine_client.answers import Model
from affine_client.cli.output_file import check_folder
from affine_client.cli.terminal import Terminal
from affine_client.client import Client
from affine_client.errors import AffineError
from affine_client.report.measurement import Measurement, measure
from affine_client.report.numbers import numbers
from affine_client.report.page import page
from affine_client.report.subject import Subject, subjects_of
from affine_client.report.text_file import read_text

_MOST_TOKENS = 2048  # of a request, unless --tokens says so: time grows with the square
_PAGE = Path("report.html")

_DESCRIPTION = """\
Sends a text to a served model, measures every head's attention at every position, and draws it on
one HTML page: scores, weight sums, first-token weight, head utilization, entropy and alpha.

The text is cut into prompts by tokens, each with the special tokens that the model's prompts begin
with; a last, shorter prompt is kept. The model makes no token. Statistics are added up exactly,
weighted with queries. Two models, of one server or two, are drawn on the same axes."""

_EXAMPLES = """examples:
  affine report article.txt --out report.html
  affine report article.txt --model A --compare B --out both.html
  affine report article.txt --compare-server 127.0.0.1:8001 --json numbers.json

The page is drawn with matplotlib: pip install 'affine-client[report]' (or clients/python[report] in
a checkout). With --json and no --out there is no page, and nothing more is needed."""


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is below 1")
    return value


def add_parser(commands: Any, connection: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "report",
        parents=[connection],
        help="draw what a text does to the attention, of one model or two",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("text_file", type=Path, metavar="TEXT_FILE", help="a text in UTF-8")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help=f"where the page goes (default: {_PAGE}, but with --json none)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here")
    parser.add_argument("--model", default="", help="a served name (default: the first)")
    parser.add_argument("--compare", metavar="MODEL", help="a second model (default: none)")
    parser.add_argument(
        "--compare-server",
        "--compare-address",
        metavar="HOST:PORT",
        help="where the second model is served (default: the same server); without --compare, the "
        "first model there",
    )
    parser.add_argument(
        "--compare-api-key",
        metavar="KEY",
        help="for --compare-server, if that needs one; --api-key is never sent there",
    )
    parser.add_argument(
        "--tokens",
        type=_positive,
        metavar="N",
        help="most tokens in a request, special ones included (default: what the models take, at "
        f"most {_MOST_TOKENS})",
    )
    parser.add_argument(
        "--requests",
        type=_positive,
        default=32,
        metavar="N",
        help="most requests to each model; text beyond them is left out (default: 32)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    text = read_text(arguments.text_file)
    target = arguments.out or (None if arguments.json else _PAGE)
    for file in (target, arguments.json):
        check_folder(file)
    if target and find_spec("matplotlib") is None:
        raise AffineError(
            "the page is drawn with matplotlib, which is not installed: "
            "pip install 'affine-client[report]'; or take the numbers alone with --json FILE"
        )
    subjects = subjects_of(_measurements(arguments, text, terminal))
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    if arguments.json:
        content = json.dumps(numbers(subjects, arguments.text_file.name, made)) + "\n"
        arguments.json.write_text(content, encoding="utf-8")
        terminal.line(f"{arguments.json}: the numbers")
    if target:
        # Matplotlib takes half a second to load, which no other command should wait for.
        from affine_client.report.analyses import pictures_of

        pictures = pictures_of(subjects)
        content = page(subjects, pictures, arguments.text_file.name, made)
        target.write_text(content, encoding="utf-8")
        terminal.line(f"{target}: the page, with {len(pictures)} analyses")
    _show_remarks(subjects, terminal)
    return 0


def _measurements(
    arguments: argparse.Namespace, text: str, terminal: Terminal
) -> list[Measurement]:
    """Of the model and, if asked for, of the second one, with requests of the same length."""
    asked = [(arguments.address, arguments.api_key, arguments.model)]
    if arguments.compare_server is not None:
        second = _address(arguments.compare_server)
        asked.append((second, arguments.compare_api_key, arguments.compare or ""))
    elif arguments.compare is not None:
        asked.append((arguments.address, arguments.api_key, arguments.compare))
    models: list[Model] = []
    for address, key, name in asked:
        arguments.address = address  # the server that a failure is reported of
        with Client(address, api_key=key) as client:
            models.append(client.model(name))
    tokens = arguments.tokens or min(_MOST_TOKENS, *(model.max_model_len for model in models))
    measurements = []
    for (address, key, _), model in zip(asked, models, strict=True):
        arguments.address = address

        def progress(done: int, total: int, name: str = model.name) -> None:
            terminal.progress(done, total, f"requests, {name}")

        with Client(address, api_key=key) as client:
            try:
                done = measure(client, model, text, tokens, arguments.requests, progress)
            except AffineError:
                terminal.end_line()  # of the bar
                raise
        measurements.append(done)
    return measurements


def _address(text: str) -> str:
    try:
        return server_address(text)
    except ValueError as problem:
        raise AffineError(f"--compare-server: {problem}") from None


def _show_remarks(subjects: tuple[Subject, ...], terminal: Terminal) -> None:
    for subject in subjects:
        one = subject.measurement
        rest = "" if one.whole_text else "; the text's rest was left out, see --requests"
        ended = f"; {one.unstable_requests} ended as unstable" if one.unstable_requests else ""
        terminal.note(
            f"[{subject.name}: {one.requests} requests, {one.tokens:,} tokens, "
            f"{one.positions:,} positions measured{ended}{rest}]"
        )
