"""The flags of `affine bench`."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from affine_client.bench.goal import MEANINGS, parse_goal
from affine_client.bench.lengths import FORMS, parse_lengths

T = TypeVar("T")

SWEEP = (1, 2, 4, 8, 16, 32, 64)

DESCRIPTION = """\
Measures a server under load. Prompts are random token ids, the same for the same --seed, and answers
have their full length unless --stop-at-eos is given.

  affine bench         one load
  affine bench sweep   one load after another, and where the server is saturated

A closed loop (--concurrency) has a fixed number of callers, each of which sends its next request when
its last one is answered. An open loop (--rate) and a trace (--trace) send each request at its own
time, whatever became of those before; its latencies count from that time, not from the send, so that
a server that stands still is not spared the requests that it keeps waiting."""

EPILOG = (
    """\
lengths (DIST): """
    + FORMS.replace(", or choice", ",\n  or choice")
    + """
figures: TTFT first token; TPOT time per output token after the first piece; ITL between tokens;
  E2EL the whole answer; Queueing between the time of an open loop's request and its send.

examples:
  affine bench --concurrency 8 --requests 64
  affine bench --rate 2 --requests 100 --goal ttft:500,tpot:50
  affine bench --rate 4 --burst 8 --prompt-tokens lognormal:128,0.8,16-1024 --output-tokens 16-128
  affine bench --trace arrivals.jsonl --trace-speed 2
  affine bench --shared-prefix-tokens 512 --turns 1-4 --cancel-share 0.1
  affine bench --api http --endpoint chat --json result.json
  affine bench sweep --html sweep.html
  affine bench sweep --rate 1,2,4,8 --duration 30 --goal ttft:300,tpot:60"""
)


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "mode", nargs="?", choices=("run", "sweep"), default="run", help="(default: run)"
    )
    _add_load(parser.add_argument_group("load"))
    _add_content(parser.add_argument_group("requests"))
    _add_target(parser.add_argument_group("server"))
    _add_results(parser.add_argument_group("results"))


def _add_load(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--concurrency",
        type=_several(_positive),
        metavar="N[,N...]",
        help="closed loop: requests in flight (default: 8; for a sweep "
        + ",".join(map(str, SWEEP))
        + ")",
    )
    group.add_argument(
        "--rate",
        type=_several(_rate),
        metavar="X[,X...]",
        help="open loop: requests a second; inf sends all at once",
    )
    group.add_argument(
        "--burstiness",
        type=_rate,
        default=1.0,
        metavar="X",
        help="shape of the gamma distribution of --rate's gaps: 1 Poisson, below 1 more uneven, "
        "above 1 more even, inf all alike (default: 1)",
    )
    group.add_argument(
        "--burst",
        type=_positive,
        default=1,
        metavar="N",
        help="so many come at once, at the same --rate (default: 1)",
    )
    group.add_argument(
        "--trace", type=Path, metavar="FILE", help="times and lengths from FILE, JSON lines"
    )
    group.add_argument(
        "--trace-speed",
        type=_above_zero,
        default=1.0,
        metavar="X",
        help="replay the trace so many times as fast (default: 1)",
    )
    group.add_argument(
        "--max-in-flight",
        type=_positive,
        metavar="N",
        help="of --rate and --trace: requests beyond it wait here, and their waiting counts "
        "(default: no limit)",
    )
    group.add_argument(
        "--requests",
        type=_positive,
        metavar="N",
        help="conversations in all (default: 32, of a trace all; in a sweep at each load at least 8 "
        "and four for each caller, or ten seconds' worth of --rate)",
    )
    group.add_argument(
        "--duration",
        type=_above_zero,
        metavar="S",
        help="begin none after so many seconds, at each load; without --requests no other limit",
    )


def _add_content(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--prompt-tokens",
        type=_checked(parse_lengths),
        default=parse_lengths("128"),
        metavar="DIST",
        help="length of each prompt, or of what each turn adds (default: 128)",
    )
    group.add_argument(
        "--output-tokens",
        type=_checked(parse_lengths),
        default=parse_lengths("64"),
        metavar="DIST",
        help="length of each answer (default: 64)",
    )
    group.add_argument(
        "--shared-prefix-tokens",
        type=_natural,
        default=0,
        metavar="N",
        help="put a beginning of N tokens that others share before each prompt (default: 0)",
    )
    group.add_argument(
        "--shared-prefixes",
        type=_positive,
        default=1,
        metavar="N",
        help="how many different ones there are (default: 1)",
    )
    group.add_argument(
        "--turns",
        type=_checked(parse_lengths),
        default=parse_lengths("1"),
        metavar="DIST",
        help="turns of a conversation; each sends all before it again (default: 1)",
    )
    group.add_argument(
        "--think-time",
        type=_not_negative,
        default=0.0,
        metavar="S",
        help="seconds between an answer and the next turn (default: 0)",
    )
    group.add_argument(
        "--cancel-share",
        type=_share,
        default=0.0,
        metavar="X",
        help="share of requests that are hung up on within their answers (default: 0)",
    )
    group.add_argument("--seed", type=int, default=0, metavar="N", help="(default: 0)")
    group.add_argument(
        "--temperature",
        type=_not_negative,
        default=0.0,
        metavar="X",
        help="0 takes the most likely token; else draws are seeded with --seed (default: 0)",
    )
    group.add_argument(
        "--stop-at-eos", action="store_true", help="let the model end its answers itself"
    )


def _add_target(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--api", choices=("grpc", "http"), default="grpc", help="(default: grpc)")
    group.add_argument(
        "--endpoint",
        choices=("completions", "chat"),
        default="completions",
        help="of --api http: chat sends the same tokens as text to /v1/chat/completions (default: "
        "completions)",
    )
    group.add_argument("--model", help="a served name (default: the first)")
    group.add_argument(
        "--vocab-size",
        type=_positive,
        metavar="N",
        help="prompts' ids lie below it (default: asked of the server over gRPC)",
    )
    group.add_argument(
        "--warm-up",
        type=_natural,
        default=1,
        metavar="N",
        help="requests before the measurement, not counted (default: 1)",
    )


def _add_results(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--goal",
        "--goodput",
        type=_checked(parse_goal),
        metavar="FIGURE:MS,...",
        help=f"count the requests that keep all of these bounds: {MEANINGS}",
    )
    group.add_argument(
        "--goal-share",
        type=_share,
        default=0.9,
        metavar="X",
        help="of a sweep with --goal: the share that must keep it (default: 0.9)",
    )
    group.add_argument("--json", type=Path, metavar="FILE", help="also write all figures here")
    group.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help="also draw a page; needs pip install 'affine-client[report]'",
    )
    group.add_argument(
        "--server-metrics",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="show the server's own figures of the same requests beside these, from its /metrics "
        "(default: yes, where it has them)",
    )
    group.add_argument(
        "--require-agreement",
        action="store_true",
        help="fail when the server's figures differ by more than --tolerance, or there are none",
    )
    group.add_argument(
        "--tolerance",
        type=_not_negative,
        default=0.1,
        metavar="X",
        help="share of a time by which the two may differ, beside 10 ms (default: 0.1)",
    )


def _number_within(least: float, most: float, *, above: bool = False) -> Callable[[str], float]:
    def number(text: str) -> float:
        value = float(text)
        if not least <= value <= most or (above and value == least):
            raise argparse.ArgumentTypeError(
                f"{text} is not {'above' if above else 'from'} {least:g}"
                + ("" if math.isinf(most) else f" to {most:g}")
            )
        return value

    return number


_rate = _number_within(0.0, math.inf, above=True)
_above_zero = _number_within(0.0, 1e9, above=True)
_not_negative = _number_within(0.0, 1e9)
_share = _number_within(0.0, 1.0)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is below 1")
    return value


def _natural(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{value} is below 0")
    return value


def _several(one: Callable[[str], T]) -> Callable[[str], list[T]]:
    return lambda text: [one(part) for part in text.split(",")]


def _checked(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Argparse hides what a ValueError says; this shows it."""

    def parsed(text: str) -> T:
        try:
            return parse(text)
        except ValueError as problem:
            raise argparse.ArgumentTypeError(str(problem)) from None

    return parsed
