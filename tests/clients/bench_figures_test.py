"""From records to figures: latencies, goals, the server's own histograms, saturation."""

from __future__ import annotations

import pytest
from affine_client.bench.agreement import agreement
from affine_client.bench.experiment import Outcome
from affine_client.bench.generator_load import GeneratorLoad
from affine_client.bench.goal import Goal, parse_goal
from affine_client.bench.record import Record
from affine_client.bench.report import Report, percentile
from affine_client.bench.sweep import heaviest_within_goal, saturation, sweep_table
from affine_client.exposition import Exposition

GOOD = Record(0.0, [0.1, 0.2, 0.4], [1, 1, 1], prompt_tokens=10, output_tokens=3)


def test_the_report_adds_up() -> None:
    cut = Record(0.0, [0.1, 0.2], [1, 1], cancelled=True)
    report = Report([GOOD, Record(0.0, error="503"), cut], duration=2.0)
    summary = report.summary()
    assert (summary["completed"], summary["failed"], summary["cancelled"]) == (1, 1, 1)
    assert summary["output_throughput"] == 2.5  # what was hung up on had been made
    assert summary["total_token_throughput"] == 7.5
    assert summary["mean_ttft_ms"] == pytest.approx(100)
    assert summary["mean_tpot_ms"] == pytest.approx(150)
    assert summary["p99_e2el_ms"] == pytest.approx(400)
    assert report.json()["successes"] == [True, False, False]
    assert report.json()["latencies"] == [0.4, None, None]


def test_a_pause_is_shared_by_the_tokens_that_end_it() -> None:
    record = Record(0.0, output_tokens=6)
    for arrived, tokens in ((0.5, 2), (0.6, 1), (0.7, 0), (1.2, 3)):
        record.note(arrived, tokens)
    assert record.pauses == pytest.approx([0.1, 0.6])
    assert record.gaps == pytest.approx([0.1, 0.2, 0.2, 0.2])
    assert record.time_per_token == pytest.approx(0.7 / 4)
    assert record.first_token == 0.5


def test_an_answer_that_came_at_once_has_no_time_per_token() -> None:
    record = Record(0.0, output_tokens=3)
    record.note(0.5, 3)
    assert (record.gaps, record.time_per_token) == ([], None)


def test_percentiles_are_linear_between_neighbours() -> None:
    assert percentile([4, 1, 3, 2], 50) == 2.5
    assert percentile([7], 99) == 7


def test_a_late_send_counts_in_what_the_user_waits_for_but_not_between_tokens() -> None:
    late = Record(3.0, [0.1, 0.2], [1, 1], output_tokens=2, intended=1.0)
    assert (late.first_token, late.latency) == (pytest.approx(2.1), pytest.approx(2.2))
    assert late.time_per_token == pytest.approx(0.1)
    assert Report([late], 4.0).summary()["p99_delay_ms"] == pytest.approx(2000)


def test_a_goal_is_kept_with_all_of_its_bounds() -> None:
    goal = parse_goal("ttft:150,tpot:160,pause:250")
    assert str(goal) == "ttft ≤ 150 ms, tpot ≤ 160 ms, pause ≤ 250 ms"
    assert goal.met(GOOD) and not parse_goal("ttft:150 e2el:399").met(GOOD)
    assert not goal.met(Record(0.0, error="x"))
    summary = Report([GOOD, Record(0.0, error="x")], 4.0, goal).summary()
    assert (summary["request_goodput"], summary["goodput_share"]) == (0.25, 0.5)


@pytest.mark.parametrize("text", ["", "ttfb:3", "ttft", "ttft:x", "ttft:0", "ttft:inf"])
def test_what_is_no_goal_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_goal(text)


def page(requests: int = 1, first: float = 0.09, tokens: int = 3) -> Exposition:
    """What a server counts that saw GOOD, with a first token after `first` seconds."""
    lines = [
        f'affine_requests_finished_total{{finished_reason="length",model_name="m"}} {requests}',
        f"affine_request_prompt_tokens_sum {10 * requests}",
        f"affine_request_generation_tokens_sum {tokens * requests}",
        f"affine_time_to_first_token_seconds_sum {first * requests}",
        f"affine_time_to_first_token_seconds_count {requests}",
    ]
    for edge in ("0.05", "0.2", "+Inf"):
        inside = requests if float(edge) >= first else 0
        lines.append(f'affine_time_to_first_token_seconds_bucket{{le="{edge}"}} {inside}')
    return Exposition("\n".join(lines))


def test_the_servers_figures_stand_beside_ours_and_agree() -> None:
    both = agreement([GOOD], page(3).minus(page(2)), tolerance=0.1)
    rows = {row.name: row for row in both.rows}
    assert rows["first token, mean"].ours == pytest.approx(100)
    assert rows["first token, mean"].servers == pytest.approx(90)
    assert (rows["output tokens"].ours, rows["output tokens"].servers) == (3, 3)
    assert both.disagreements == [] and both.remark is None
    assert rows["first token, p99"].agrees is True
    assert "whole request, mean" not in rows  # this server does not tell


def test_quantiles_of_few_requests_are_those_of_the_histograms_bucket() -> None:
    """Between 0.1 and 9 s a line would give 8.1 s at p90, and the server's bucket holds 9 s alone."""
    server = Exposition(
        'affine_requests_finished_total{finished_reason="length"} 2\n'
        "affine_time_to_first_token_seconds_sum 9.1\n"
        "affine_time_to_first_token_seconds_count 2\n"
        'affine_time_to_first_token_seconds_bucket{le="0.2"} 1\n'
        'affine_time_to_first_token_seconds_bucket{le="8.9"} 1\n'
        'affine_time_to_first_token_seconds_bucket{le="9.1"} 2\n'
        'affine_time_to_first_token_seconds_bucket{le="+Inf"} 2\n'
    )
    two = [Record(0.0, [first], [1], output_tokens=1) for first in (0.1, 9.0)]
    assert agreement(two, server, tolerance=0.0).disagreements == []


def test_a_time_beyond_the_tolerance_disagrees() -> None:
    both = agreement([GOOD], page(first=0.04), tolerance=0.1)
    assert both.disagreements == [f"first token, {name}" for name in ("mean", "p50", "p90", "p99")]
    assert agreement([GOOD], page(first=0.04), tolerance=2.0).disagreements == []


def test_with_requests_of_others_times_are_not_compared() -> None:
    both = agreement([GOOD], page(2, first=9.0), tolerance=0.1)
    assert "requests finished, prompt tokens, output tokens differ" in (both.remark or "")
    assert {row.agrees for row in both.rows if "token, " in row.name} == {None}


def test_a_hang_up_that_came_too_late_for_the_server_is_still_one_request() -> None:
    cut = Record(0.0, [0.1], [1], cancelled=True)
    both = agreement([GOOD, cut], page(2), tolerance=0.1)
    rows = {row.name: row for row in both.rows}
    assert rows["requests finished"].agrees is True and both.remark is None
    assert (rows["of these cancelled"].ours, rows["of these cancelled"].servers) == (1, 0)


def test_counters_of_a_server_that_was_started_anew_count_from_zero() -> None:
    assert page(1).minus(page(2)).total("affine_request_prompt_tokens_sum") == 10


def outcome(x: float, tokens_s: int, late: bool = False) -> Outcome:
    record = Record(0.0, [0.5 if late else 0.1], [1], output_tokens=tokens_s)
    report = Report([record], 1.0, Goal((("ttft", 200.0),)), GeneratorLoad(0.1, 1.0))
    return Outcome(f"{x:g} in flight", x, report, None)


def test_saturation_is_the_lightest_load_near_the_best_throughput() -> None:
    rising = [outcome(1, 100), outcome(2, 190), outcome(4, 300), outcome(8, 298, late=True)]
    knee = saturation([*rising, outcome(16, 310, late=True)])
    assert knee is not None and knee.x == 4
    assert saturation(rising[:3]) is None  # the heaviest still brought more
    assert saturation(rising[:1]) is None
    within = heaviest_within_goal(rising, 0.9)
    assert within is not None and within.x == 4
    assert heaviest_within_goal([outcome(1, 9, late=True)], 0.9) is None


def test_the_sweeps_table_has_a_row_for_each_load() -> None:
    titles, rows = sweep_table([outcome(1, 100), outcome(8, 298, late=True)])
    cells = dict(zip(titles, rows[1], strict=True))
    assert (cells["load"], cells["tok/s"], cells["TTFT p99"]) == ("8 in flight", "298.0", "500.0")
    assert (cells["met"], cells["ITL p50"], cells["client"]) == ("0%", "–", "10%")


def test_a_generator_that_is_the_bottleneck_says_so() -> None:
    assert GeneratorLoad(0.2, 1.0, [0.001] * 99).remark is None
    assert "took 90% of a core" in (GeneratorLoad(0.9, 1.0).remark or "")
    assert "50 ms late" in (GeneratorLoad(0.1, 1.0, [0.05]).remark or "")
