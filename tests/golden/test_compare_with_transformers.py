"""The comparison with transformers, on made-up answers: no difference may go unnoticed."""

import copy
import json

import pytest

import compare_with_transformers as script
from cases import case_named
from comparison import compare, mean_difference, table
from tiny_checkpoint import fingerprint, write, write_identity_affine

STORED = {
    "kind": "counting",
    "ids": [4, 5, 6],
    "logprobs": [-1.0, -2.0],
    "tokens": [7, 8, 2, 9],
    "token_logprobs": [-0.5, -0.5, -0.5, -0.5],
    "margins": [0.4, 0.3, 0.2, 0.1],
}
ANSWER = {"prompt_logprobs": [-1.0, -2.0], "tokens": [7, 8, 2, 9], "logprobs": [-0.5] * 4}


def test_equal_answers_are_equal():
    outcome = compare(STORED, ANSWER, {2})
    assert outcome.equal(0.0)
    assert outcome.margin is None


def test_the_first_different_token_is_reported_with_its_margin():
    outcome = compare(STORED, ANSWER | {"tokens": [7, 3, 2, 9]}, {2})
    assert not outcome.equal(1.0)
    assert (outcome.agreed, outcome.asked, outcome.margin) == (1, 4, 0.3)


def test_stopping_at_an_end_of_text_is_no_difference_but_stopping_elsewhere_is():
    assert compare(STORED, ANSWER | {"tokens": [7, 8, 2]}, {2}).equal(0.0)
    assert not compare(STORED, ANSWER | {"tokens": [7, 8]}, {2}).equal(0.0)


def test_log_probabilities_beyond_the_tolerance_are_a_difference():
    outcome = compare(STORED, ANSWER | {"prompt_logprobs": [-1.0, -2.002]}, {2})
    assert outcome.equal(0.01)
    assert not outcome.equal(0.001)
    assert outcome.mean == pytest.approx(0.001)


def test_the_mean_is_over_tokens_not_over_prompts():
    one = [
        {"prompt_logprobs": [0.0]},
        {"prompt_logprobs": [0.0, 0.0, 0.0]},
        {"prompt_logprobs": []},
    ]
    other = copy.deepcopy(one)
    other[0]["prompt_logprobs"][0] = -0.4
    assert mean_difference(one, other) == pytest.approx(0.1)


def test_the_table_has_a_line_for_each_prompt():
    lines = list(table([compare(STORED, ANSWER, {2})]))
    assert len(lines) == 2
    assert lines[1].split() == ["counting", "3", "4/4", "0.00e+00", "0.00e+00"]


@pytest.fixture
def world(tmp_path):
    """A tiny plain checkpoint with its twin, stored answers, and a program that prints a file."""
    case = case_named("llama-softmax-unscaled-none")
    write(case, tmp_path / "tiny")
    write_identity_affine(case, tmp_path / "tiny-identity")
    stored = {
        "transformers": "0",
        "fingerprint": fingerprint(tmp_path / "tiny"),
        "eos": [2],
        "answers": [STORED],
    }
    (tmp_path / "stored.json").write_text(json.dumps(stored))
    program = tmp_path / "affine_score"
    program.write_text(
        "#!/bin/sh\ncat > /dev/null\n"
        f'case "$*" in *bfloat16*) cat {tmp_path}/bfloat16;; *) cat {tmp_path}/float32;; esac\n'
    )
    program.chmod(0o755)
    short = ANSWER | {"tokens": [7], "logprobs": [-0.5]}
    (tmp_path / "float32").write_text(json.dumps(ANSWER))
    (tmp_path / "bfloat16").write_text(json.dumps(short | {"prompt_logprobs": [-1.02, -2.0]}))
    return tmp_path


def run(world):
    return script.main(
        [
            f"--checkpoint={world / 'tiny'}",
            f"--stored={world / 'stored.json'}",
            f"--program={world / 'affine_score'}",
        ]
    )


def test_the_script_passes_when_all_is_equal(world, capsys):
    assert run(world) == 0
    said = capsys.readouterr().out
    assert "tiny-identity, bfloat16 against its own float32: mean difference 0.0100" in said
    assert said.endswith("all equal\n")


def test_the_script_fails_on_another_token(world, capsys):
    (world / "float32").write_text(json.dumps(ANSWER | {"tokens": [7, 3, 2, 9]}))
    assert run(world) == 1
    assert "'counting' has 1 of 4 tokens equal" in capsys.readouterr().err


def test_the_script_fails_when_bfloat16_is_far(world, capsys):
    answer = ANSWER | {"tokens": [7], "logprobs": [-0.5], "prompt_logprobs": [-1.2, -2.0]}
    (world / "bfloat16").write_text(json.dumps(answer))
    assert run(world) == 1
    assert "bfloat16 is 0.1000 nats away (allowed 0.05)" in capsys.readouterr().err


def test_the_script_refuses_answers_of_another_checkpoint(world, capsys):
    write(case_named("llama-rope-llama3"), world / "tiny")
    assert run(world) == 1
    assert "was made from other weights" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("gone", "remedy"),
    [
        ("stored.json", "--regenerate"),
        ("affine_score", "build the target"),
        ("tiny-identity", "tests/run.sh"),
    ],
)
def test_the_script_names_what_is_missing(world, capsys, gone, remedy):
    (world / gone).rename(world / "elsewhere")
    assert run(world) == 1
    assert remedy in capsys.readouterr().err


def test_regenerating_notices_that_the_stored_answers_changed():
    record = {"fingerprint": "a", "answers": [STORED]}
    changed = copy.deepcopy(record)
    changed["answers"][0]["logprobs"][1] -= 0.01
    script.check_same(record, record)
    assert script.comparable(record, changed)
    with pytest.raises(script.ComparisonError, match="up to 1.0e-02 apart"):
        script.check_same(record, changed)
    assert not script.comparable(record, changed | {"fingerprint": "b"})
