"""`affine metrics`: the key figures of /metrics, with what they mean."""

from __future__ import annotations

import argparse
from typing import Any

from affine_client.cli.terminal import Terminal
from affine_client.errors import AffineError
from affine_client.exposition import Exposition
from affine_client.http_get import fetch_page

_FINISHED = ("affine_requests_finished_total", "vllm:request_success_total")

_REASONS = {
    "stop": "requests that ended by a stop string or token",
    "length": "requests that reached max_tokens or the model's length",
    "unstable": "requests whose attention passed a limit of the server's",
    "abort": "requests cancelled by the caller or past their deadline",
    "error": "requests that the server failed",
}

_HISTOGRAMS = (
    ("first token", "time_to_first_token_seconds", "from a request's arrival to its first token"),
    ("between tokens", "inter_token_latency_seconds", "gap between two tokens of a stream"),
    ("in queue", "request_queue_time_seconds", "wait before a request starts to run"),
    ("whole request", "e2e_request_latency_seconds", "from arrival to the last token"),
)


def add_parser(commands: Any, connection: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "metrics",
        parents=[connection],
        help="show key figures of a running server",
        description="Shows the key figures of the server's /metrics page since it started.",
        epilog="examples:\n  affine metrics\n  affine metrics --raw | grep cache",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--raw", action="store_true", help="print the page as Prometheus reads it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    page = fetch_page(arguments.address, "/metrics", arguments.api_key)
    if arguments.raw:
        terminal.write(page)
        return 0
    rows = _rows(Exposition(page))
    if not rows:
        raise AffineError(
            f"http://{arguments.address}/metrics has none of the known figures; see --raw"
        )
    terminal.table(("figure", "value", "meaning"), rows)
    return 0


def _names(stem: str) -> tuple[str, str]:
    return f"affine_{stem}", f"vllm:{stem}"


def _rows(page: Exposition) -> list[tuple[str, str, str]]:
    """Figures that the page has, in a fixed order."""
    rows: list[tuple[str, str, str]] = []

    def add(figure: str, value: str | None, meaning: str) -> None:
        if value is not None:
            rows.append((figure, value, meaning))

    add("running", _count(page, "num_requests_running"), "requests being computed now")
    add("waiting", _count(page, "num_requests_waiting"), "requests in the queue now")
    usage = page.total("affine_kv_cache_usage_ratio", "vllm:kv_cache_usage_perc")
    add("cache in use", _percent(usage, 1.0), "share of cache blocks that requests hold now")
    finished = page.by_label("finished_reason", *_FINISHED)
    for reason, number in sorted(finished.items()):
        add(f"finished: {reason}", f"{number:,.0f}", _REASONS.get(reason, "requests that ended so"))
    refused = page.total("affine_requests_refused_total")
    add("refused", None if refused is None else f"{refused:,.0f}", "calls answered with an error")
    add("prompt tokens", _count(page, "prompt_tokens_total"), "read since start")
    add("output tokens", _count(page, "generation_tokens_total"), "made since start")
    hits = page.total(*_names("prefix_cache_hits_total"))
    queries = page.total(*_names("prefix_cache_queries_total"))
    add("prefix hits", _percent(hits, queries), "share of prompt tokens found in the cache")
    add("preemptions", _count(page, "num_preemptions_total"), "times a request gave up its blocks")
    for figure, stem, meaning in _HISTOGRAMS:
        add(figure, _latencies(page, stem), f"p50 / p90 / p99: {meaning}")
    return rows


def _count(page: Exposition, stem: str) -> str | None:
    value = page.total(*_names(stem))
    return None if value is None else f"{value:,.0f}"


def _percent(part: float | None, whole: float | None) -> str | None:
    if part is None or whole is None:
        return None
    return f"{100.0 * part / whole:.1f} %" if whole else "none yet"


def _latencies(page: Exposition, stem: str) -> str | None:
    quantiles = [page.quantile(share, *_names(stem)) for share in (0.5, 0.9, 0.99)]
    if any(value is None for value in quantiles):
        return None
    return " / ".join(_seconds(value) for value in quantiles if value is not None)


def _seconds(value: float) -> str:
    return f"{value * 1e3:.1f} ms" if value < 1.0 else f"{value:.2f} s"
