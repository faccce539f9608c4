"""`affine bench`: a first load test."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from affine_client.bench.callers import Caller, GrpcCaller, HttpCaller, first_http_model
from affine_client.bench.closed_loop import run_closed_loop
from affine_client.bench.record import Record
from affine_client.bench.report import Report
from affine_client.bench.workload import Workload
from affine_client.cli.terminal import Terminal
from affine_client.client import Client
from affine_client.errors import AffineError
from affine_client.retry import NO_RETRIES

_NUMBERS = (
    ("--concurrency", 8, "requests in flight"),
    ("--requests", 32, "requests in all"),
    ("--prompt-tokens", 128, "length of each prompt"),
    ("--output-tokens", 64, "length of each answer"),
)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is below 1")
    return value


def add_parser(commands: Any, connection: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "bench",
        parents=[connection],
        help="measure speed under load",
        description="Closed loop: each of --concurrency callers sends its next request when its "
        "last one is answered. Prompts are random token ids; every answer has its full length.",
        epilog="examples:\n  affine bench --concurrency 8 --requests 64\n"
        "  affine bench --api http --json result.json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for flag, default, text in _NUMBERS:
        parser.add_argument(
            flag, type=_positive, default=default, metavar="N", help=f"{text} (default: {default})"
        )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of the prompts (default: 0)"
    )
    parser.add_argument("--api", choices=("grpc", "http"), default="grpc", help="(default: grpc)")
    parser.add_argument("--model", help="a served name (default: the first)")
    parser.add_argument(
        "--vocab-size",
        type=_positive,
        metavar="N",
        help="prompts' ids lie below it (default: asked of the server over gRPC)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures here")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    with Client(arguments.address, api_key=arguments.api_key, retry=NO_RETRIES) as client:
        workload = _workload(arguments, client)
        caller: Caller = GrpcCaller(client, workload.model)
        if arguments.api == "http":
            caller = HttpCaller(
                arguments.address, workload.model, arguments.api_key, {"return_token_ids": True}
            )
        _warm_up(workload, caller)

        def progress(done: int, records: list[Record]) -> None:
            failed = sum(record.error is not None for record in records)
            terminal.progress(done, len(records), f"requests, {failed} failed")

        report = Report(*run_closed_loop(workload, arguments.concurrency, caller, progress))
    terminal.line(report.block())
    if arguments.json:
        setting = {name: getattr(arguments, name) for name in ("api", "concurrency", "seed")}
        arguments.json.write_text(json.dumps({**setting, **report.json()}) + "\n")
        terminal.note(f"[all figures are in {arguments.json}]")
    if report.errors:
        raise AffineError(f"{len(report.errors)} requests failed; the first: {report.errors[0]}")
    return 0


def _workload(arguments: argparse.Namespace, client: Client) -> Workload:
    name, vocab_size = arguments.model, arguments.vocab_size
    if vocab_size is None:
        model = client.model(name or "")
        name, vocab_size = model.name, model.vocab_size
    elif name is None:
        name = (
            client.model().name
            if arguments.api == "grpc"
            else first_http_model(arguments.address, arguments.api_key)
        )
    return Workload(
        model=name,
        vocab_size=vocab_size,
        requests=arguments.requests,
        prompt_tokens=arguments.prompt_tokens,
        output_tokens=arguments.output_tokens,
        seed=arguments.seed,
    )


def _warm_up(workload: Workload, caller: Caller) -> None:
    record = Record(started=0.0)
    caller(workload.warm_up_prompt(), workload.output_tokens, record)
    if record.error is not None:
        raise AffineError(f"the warm-up request failed: {record.error}")
