"""`affine top`: figures since the last view, and how they are shown."""

from __future__ import annotations

import argparse
import io
import json

import pytest
from affine_client import Unavailable
from affine_client.cli.terminal import Terminal
from affine_client.cli.top import watch
from affine_client.exposition import Exposition
from affine_client.top.figures import Sample, figures_of
from affine_client.top.view import bars, view
from command_line import CommandLine, TerminalText
from fake_http import FakeHttp

ARGUMENTS = argparse.Namespace(
    address="host:1", model=None, interval=2.0, count=2, layers=False, json=False
)


def page(output: int = 0, slow: int = 0, **gauges: float) -> Exposition:
    """Of model "m" with three layers, and of "other", of which nothing may be counted for "m"."""
    lines = ["process_start_time_seconds 900"]
    for model, count in (("m", output), ("other", 10 * output)):
        label = f'model_name="{model}"'
        lines += [
            f"affine_num_requests_running{{{label}}} {gauges.get('running', 2)}",
            f"affine_num_requests_waiting{{{label}}} 1",
            f"affine_kv_cache_usage_ratio{{{label}}} 0.25",
            f"affine_kv_cache_blocks{{{label}}} 4000",
            f"affine_generation_tokens_total{{{label}}} {count}",
            f"affine_prefix_cache_queries_total{{{label}}} {count}",
            f"affine_prefix_cache_hits_total{{{label}}} {count / 4}",
            f'affine_time_to_first_token_seconds_bucket{{le="0.1",{label}}} {count}',
            f'affine_time_to_first_token_seconds_bucket{{le="2",{label}}} {count + slow}',
            f'affine_time_to_first_token_seconds_bucket{{le="+Inf",{label}}} {count + slow}',
            f'affine_attention_unstable_requests_total{{limit="entropy",{label}}} 3',
        ]
    for layer, entropy in ((10, 1.0), (0, 2.0), (2, 5.0)):
        lines.append(f'affine_attention_entropy_nats{{layer="{layer}",model_name="m"}} {entropy}')
    return Exposition("\n".join(lines))


def test_rates_and_latencies_are_of_the_time_between_two_pages() -> None:
    one = figures_of("m", Sample(14.0, page(140, slow=1000)), Sample(10.0, page(100, slow=1000)))
    assert (one.output_tokens_per_s, one.seconds) == (10.0, 4.0)
    assert (one.running, one.cache_usage, one.prefix_hits) == (2, 0.25, 0.25)
    assert one.latencies["first token"] == pytest.approx([0.05, 0.09, 0.099])  # none of the slow
    assert one.latencies["whole request"] == [None] * 3
    assert one.attention == {"entropy, nats": [2.0, 5.0, 1.0]}  # layers 0, 2, 10


def test_without_a_page_before_they_are_since_the_servers_start() -> None:
    one = figures_of("m", Sample(1000.0, page(500)), None)
    assert (one.seconds, one.output_tokens_per_s) == (100.0, 5.0)


def test_the_view_names_the_lowest_and_highest_layer() -> None:
    one = figures_of("m", Sample(14.0, page(140)), Sample(10.0, page(140)))
    text = "\n".join(view(one))
    assert "running 2   waiting 1   cache 25.0 % of 4,000 blocks" in text
    assert "output 0.0 tok/s" in text and "prefix hits –" in text
    assert "1.000 layer 2" in text and "5.000 layer 1" in text and "▂█▁" in text
    assert "unstable since the start: 3 past entropy" in text
    assert len(view(one, every_layer=True)) == len(view(one)) + 4


def test_bars_span_from_the_least_to_the_greatest() -> None:
    assert bars([0.0, 1.0, 0.5]) == "▁█▄"
    assert bars([3.0, 3.0]) == "▁▁"
    assert bars([float("nan"), 1.0, float("inf"), 2.0]) == "?▁?█"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_views_follow_each_other_and_replace_the_last_on_a_terminal(is_terminal: bool) -> None:
    out, now, pages = TerminalText(is_terminal), [100.0], iter((page(0), page(20), page(60)))

    def sleep(seconds: float) -> None:
        now[0] += seconds

    watch(ARGUMENTS, Terminal(out, io.StringIO()), lambda: next(pages), lambda: now[0], sleep)
    first, second = out.getvalue().split("host:1, over the last 2.0 s")[1:]
    assert "output 10.0 tok/s" in first and "output 20.0 tok/s" in second
    assert out.getvalue().count("\x1b[H\x1b[J") == (2 if is_terminal else 0)
    assert ("\x1b" in out.getvalue()) == is_terminal


def test_a_server_that_goes_away_is_waited_for() -> None:
    out, came = io.StringIO(), iter((page(0), None, page(40)))

    def read() -> Exposition:
        found = next(came)
        if found is None:
            raise Unavailable("connection refused")
        return found

    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    watch(ARGUMENTS, Terminal(out, io.StringIO()), read, lambda: now[0], sleep)
    assert "host:1: connection refused; waiting for it" in out.getvalue()
    assert "over the last 4.0 s" in out.getvalue() and "output 10.0 tok/s" in out.getvalue()


def test_once_prints_one_view_or_json(http: FakeHttp) -> None:
    affine = CommandLine()
    assert affine("top", "--once", "--address", http.address) == 0
    assert affine.out.startswith(f"{http.address}, since its start\nm\n  running 3   waiting 1")
    assert "first token       100.0 ms  200.0 ms    1.82 s" in affine.out
    assert affine("top", "--once", "--json", "--address", http.address) == 0
    one = json.loads(affine.out)
    assert (one["model"], one["running"], one["cache_usage"]) == ("m", 3, 0.25)


def test_an_unknown_model_or_page_is_named(http: FakeHttp, closed_address: str) -> None:
    affine = CommandLine()
    assert affine("top", "--once", "--model", "x", "--address", http.address) == 1
    assert "no model x; served: m" in affine.err
    http.pages["/metrics"] = "process_cpu_seconds_total 1\n"
    assert affine("top", "--once", "--address", http.address) == 1
    assert "none of the known figures" in affine.err
    assert affine("top", "--address", closed_address) == 69
