"""`affine top`: what the server is doing, shown anew every few seconds."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from affine_client.cli.terminal import Terminal
from affine_client.errors import AffineError, Unavailable
from affine_client.exposition import Exposition
from affine_client.http_get import fetch_page
from affine_client.top.figures import Figures, Sample, figures_of, models_of
from affine_client.top.view import view

_EXAMPLES = """latencies and rates are of the time since the last view; with --once since the server's start.
attention: means over heads, by layer, over the latest steps that the server observed (its flag
--stability_sample_every); the bars run from the lowest layer to the highest.
Ctrl-C ends it.

examples:
  affine top
  affine top --interval 5 --layers
  affine top --once
  affine top --once --json"""


def add_parser(commands: Any, connection: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "top",
        parents=[connection],
        help="watch a running server",
        description="Shows what a server is doing: requests, tokens a second, cache, latencies, and "
        "how stable the attention is, by layer.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", help="a served name (default: every model)")
    parser.add_argument(
        "--interval",
        type=_above_zero,
        default=2.0,
        metavar="S",
        help="seconds between two views (default: 2)",
    )
    parser.add_argument(
        "--count", type=_positive, metavar="N", help="end after so many views (default: never)"
    )
    parser.add_argument("--once", action="store_true", help="one view, at once")
    parser.add_argument("--layers", action="store_true", help="also a row for each layer")
    parser.add_argument(
        "--json", action="store_true", help="print JSON: a line for each model and view"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    def read() -> Exposition:
        return Exposition(fetch_page(arguments.address, "/metrics", arguments.api_key))

    if arguments.once:
        # The start of the process, which rates are taken from, is told in the time of day.
        _show(arguments, Sample(time.time(), read()), None, terminal)
        return 0
    try:
        watch(arguments, terminal, read, time.monotonic, time.sleep)
    except KeyboardInterrupt:
        terminal.end_line()
    return 0


def watch(
    arguments: argparse.Namespace,
    terminal: Terminal,
    read: Callable[[], Exposition],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> None:
    """Views until `--count`. A server that goes away is waited for; the first page must come."""
    before = Sample(clock(), read())
    shown = 0
    while arguments.count is None or shown < arguments.count:
        sleep(arguments.interval)
        try:
            now = Sample(clock(), read())
        except Unavailable as problem:
            terminal.redraw([f"{arguments.address}: {problem}; waiting for it"])
        else:
            _show(arguments, now, before, terminal)
            before = now
        shown += 1


def _show(
    arguments: argparse.Namespace, now: Sample, before: Sample | None, terminal: Terminal
) -> None:
    models = models_of(now.page)
    if not models:
        raise AffineError(
            f"http://{arguments.address}/metrics has none of the known figures; see "
            "affine metrics --raw"
        )
    if arguments.model is not None:
        if arguments.model not in models:
            raise AffineError(f"no model {arguments.model}; served: {', '.join(models)}")
        models = [arguments.model]
    figures = [figures_of(model, now, before) for model in models]
    if arguments.json:
        for one in figures:
            terminal.json(asdict(one), indent=None)
        return
    lines = [_head(arguments.address, figures[0], before)]
    for one in figures:
        lines += view(one, every_layer=arguments.layers)
    terminal.redraw(lines)


def _head(address: str, one: Figures, before: Sample | None) -> str:
    over = "since its start" if before is None else f"over the last {one.seconds:.1f} s"
    return f"{address}, {over}"


def _above_zero(text: str) -> float:
    value = float(text)
    if not 0.0 < value <= 86400.0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0 and at most 86400")
    return value


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is below 1")
    return value
