"""From records to figures, and from repeats to medians."""

from __future__ import annotations

import pytest
from affine_client.bench.record import Record
from serving.figures import (
    RunFailed,
    StepTimes,
    load_figures,
    medians,
    overhead_figures,
    values_of,
)


def record(*pieces: tuple[float, int], prompt: int = 10) -> Record:
    made = Record(0.0, prompt_tokens=prompt)
    for arrived, tokens in pieces:
        made.note(arrived, tokens)
    made.output_tokens = sum(made.counts)
    return made


def test_throughput_and_latencies_of_a_load() -> None:
    records = [record((0.1, 1), (0.2, 1), (0.5, 1)), record((0.3, 1), (0.5, 1))]
    figures = load_figures(records, duration_s=0.5)
    assert figures["output_tokens_per_s"] == pytest.approx(10)
    assert figures["all_tokens_per_s"] == pytest.approx(50)
    assert figures["first_token_p50_ms"] == pytest.approx(200)
    assert figures["first_token_p99_ms"] == pytest.approx(298)
    assert figures["between_tokens_p50_ms"] == pytest.approx(200)
    assert figures["between_tokens_p99_ms"] == pytest.approx(298)
    assert figures["uncounted_tokens"] == 0


def test_several_tokens_in_an_event_share_the_pause_before_it() -> None:
    figures = load_figures([record((0.1, 2), (0.4, 3))], duration_s=1.0)
    assert figures["between_tokens_p50_ms"] == pytest.approx(100)
    assert figures["between_tokens_p99_ms"] == pytest.approx(100)


def test_an_answer_in_one_event_has_no_gaps() -> None:
    assert "between_tokens_p50_ms" not in load_figures([record((0.1, 4))], duration_s=1.0)


def test_output_tokens_are_the_servers_count() -> None:
    short = record((0.1, 1), (0.2, 1))
    short.output_tokens = 5
    figures = load_figures([short], duration_s=1.0)
    assert (figures["output_tokens_per_s"], figures["uncounted_tokens"]) == (5, 3)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (Record(0.0, error="503 draining"), "request 2 of 2 failed: 503 draining"),
        (Record(0.0), "the answer to request 2 held no usage or no token"),
    ],
)
def test_a_load_with_a_failed_request_has_no_figures(broken: Record, said: str) -> None:
    with pytest.raises(RunFailed, match=said):
        load_figures([record((0.1, 1)), broken], duration_s=1.0)


def test_overhead_is_what_wall_and_step_have_above_the_model() -> None:
    figures = overhead_figures(StepTimes(1.0, 0.5), StepTimes(10.0, 8.5), wall_s=10.0)
    assert (figures["step_s"], figures["model_s"]) == (9.0, 8.0)
    assert (figures["wall_over_model"], figures["step_over_model"]) == (1.25, 1.125)


def test_overhead_of_no_step_is_none() -> None:
    with pytest.raises(RunFailed, match="counted no time of the model"):
        overhead_figures(StepTimes(1.0, 0.5), StepTimes(1.0, 0.5), wall_s=1.0)


def test_medians_are_of_the_runs_that_have_the_figure() -> None:
    runs = [{"a": 3.0}, {"a": 1.0, "b": 4.0}, {"a": 2.0}]
    assert medians(runs) == {"a": 2.0, "b": 4.0}
    assert medians([]) == {}
    assert values_of(runs, "a") == [3.0, 1.0, 2.0]
