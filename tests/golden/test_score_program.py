"""The driver of affine_score, with stand-ins for the program: no fault may pass for an answer."""

import json
import stat

import pytest

from score_program import ScoreProgram, ScoreProgramError, expected_tokens

REQUEST = {"prompt": [3, 4, 5], "max_tokens": 2, "temperature": 0.0, "seed": 0}
ANSWER = {"prompt_logprobs": [-1.0, -2.0], "tokens": [7, 8], "logprobs": [-0.5, -0.25]}


@pytest.fixture
def program_that_prints(tmp_path):
    def make(text, exit_code=0):
        path = tmp_path / "affine_score"
        path.write_text(
            f"#!/bin/sh\ncat > /dev/null\necho '{text}'\necho why >&2\nexit {exit_code}\n"
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return ScoreProgram(path)

    return make


def test_a_right_answer_is_handed_on(program_that_prints):
    program = program_that_prints(json.dumps(ANSWER))
    assert program.answer("model", [REQUEST]) == [ANSWER]


def test_flags_are_spelt_as_the_contract_says(tmp_path):
    path = tmp_path / "affine_score"
    path.write_text(f'#!/bin/sh\ncat > /dev/null\necho "$@" > {tmp_path}/flags\n')
    path.chmod(0o755)
    ScoreProgram(path).answer("dir", [], dtype="bfloat16", chunk=7, block_size=32, threads=2)
    flags = (tmp_path / "flags").read_text().split()
    assert flags == [
        "--model=dir",
        "--dtype=bfloat16",
        "--threads=2",
        "--chunk=7",
        "--block_size=32",
    ]


def test_a_missing_program_names_the_remedy(tmp_path):
    with pytest.raises(ScoreProgramError, match="build the target affine_score"):
        ScoreProgram(tmp_path / "nothing")


def test_the_environment_names_the_program(monkeypatch, tmp_path):
    monkeypatch.setenv("AFFINE_SCORE", str(tmp_path / "elsewhere"))
    with pytest.raises(ScoreProgramError, match="elsewhere"):
        ScoreProgram()


def test_a_failing_program_is_quoted(program_that_prints):
    with pytest.raises(ScoreProgramError, match="ended with 3:\nwhy"):
        program_that_prints(json.dumps(ANSWER), exit_code=3).answer("model", [REQUEST])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt_logprobs": [-1.0]}, "3 tokens got 1 log-probabilities"),
        ({"tokens": [7]}, "1 tokens with 2 log-probabilities"),
        ({"tokens": [7, 8, 9], "logprobs": [-1.0] * 3}, "max_tokens 2 got 3 tokens"),
        ({"logprobs": [-0.5, float("nan")]}, "1 log-probabilities are not finite"),
    ],
)
def test_an_answer_against_the_contract_is_refused(program_that_prints, change, message):
    program = program_that_prints(json.dumps(ANSWER | change))
    with pytest.raises(ScoreProgramError, match=message):
        program.answer("model", [REQUEST])


def test_a_lost_answer_is_noticed(program_that_prints):
    with pytest.raises(ScoreProgramError, match="2 requests, 1 answers"):
        program_that_prints(json.dumps(ANSWER)).answer("model", [REQUEST, REQUEST])


def test_tokens_may_end_early_only_after_an_end_of_text():
    assert expected_tokens([5, 2, 6], [5, 2], {2}) == [5, 2]
    assert expected_tokens([5, 2, 6], [5], {2}) == [5, 2, 6]
    assert expected_tokens([5, 2, 6], [5, 2, 6], {2}) == [5, 2, 6]
    assert expected_tokens([5, 2, 6], [9, 9, 9], {2}) == [5, 2, 6]
    assert expected_tokens([5, 2, 6], [], {2}) == [5, 2, 6]
