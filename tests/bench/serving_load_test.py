"""What is sent, and in which order servers get it."""

from __future__ import annotations

from serving.load import Load, Prompts
from serving.plan import Visit, visits
from serving.rows import ROW_NAMES, comparisons, experiments
from serving.server_kinds import AFFINE, LLAMA, LLAMA_LONG, SOFTMAX, VLLM

LOAD = Load(concurrency=2, requests=5, prompt_tokens=6, output_tokens=3)


def test_prompts_depend_on_the_seed_alone() -> None:
    prompts = Prompts(LOAD, 1000, "a").prompts()
    assert prompts == Prompts(LOAD, 1000, "a").prompts()
    assert prompts != Prompts(LOAD, 1000, "b").prompts()
    assert [len(prompt) for prompt in prompts] == [6] * 5
    assert all(100 <= id < 1000 for prompt in prompts for id in prompt)
    assert len({tuple(prompt) for prompt in prompts}) == 5


def test_a_shared_prefix_stands_before_unlike_ends() -> None:
    prompts = Prompts(LOAD, 1000, "a", prefix=(5, 6)).prompts()
    assert all(prompt[:2] == [5, 6] and len(prompt) == 8 for prompt in prompts)


def test_a_shortened_load_has_whole_waves() -> None:
    assert LOAD.shortened(2).requests == 4
    assert LOAD.shortened(9).requests == 5


def test_each_repeat_begins_with_another_server_and_leaves_none_out() -> None:
    lines = [line for line in comparisons() if line.row in ("c1", "c8")]
    both = ("c1", "c8")
    assert visits(lines, repeats=2) == [
        Visit(0, AFFINE, both),
        Visit(0, LLAMA, both),
        Visit(0, VLLM, both),
        Visit(1, LLAMA, both),
        Visit(1, VLLM, both),
        Visit(1, AFFINE, both),
    ]


def test_rows_that_ask_for_the_same_run_share_it() -> None:
    lines = [line for line in comparisons() if line.row in ("c8", "c32", "overhead", "softmax")]
    planned = {visit.server: visit.experiments for visit in visits(lines, repeats=1)}
    assert planned[AFFINE] == ("c8", "c32")
    assert planned[SOFTMAX] == ("c8",)


def test_every_row_has_lines_and_every_line_an_experiment() -> None:
    lines = comparisons()
    assert tuple(dict.fromkeys(line.row for line in lines)) == ROW_NAMES
    for quick in (False, True):
        assert {line.experiment for line in lines} <= experiments(quick).keys()


def test_long_prompts_go_to_the_llama_server_with_long_slots() -> None:
    others = {line.others for line in comparisons() if line.row == "long" and line.others}
    assert others == {(LLAMA_LONG, VLLM)}
