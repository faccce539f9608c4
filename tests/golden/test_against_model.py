"""The C++ model against the golden data: every case, block size and chunk size.

Needs numpy, pytest and the program affine_score (see score_program.py). The checkpoints are made
anew from their seeds.
"""

import concurrent.futures
import itertools
import os

import numpy as np
import pytest

import tiny_checkpoint
from cases import all_cases
from golden_record import read_record
from score_program import ScoreProgram, expected_tokens
from tiny_tokenizer import EOS_ID

TOLERANCE = 1e-4  # nats
BLOCK_SIZES = (16, 32, 64)
CHUNKS = (1, 7, 16, 64, None)
CASES = all_cases()
PLAIN = [case for case in CASES if case.attention() is None]
BEGINNING = 16  # tokens of the shorter prompt: exactly one block of the usual size


def named(cases):
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


@pytest.fixture(scope="session")
def program():
    return ScoreProgram()


def requests_for(record):
    """The golden request, the same drawn at random, and two beginnings of its prompt."""
    prompt, count = record["prompt"], len(record["greedy_ids"])
    golden = {"prompt": prompt, "max_tokens": count, "temperature": 0.0, "seed": 0}
    return [
        golden,
        golden | {"max_tokens": 12, "temperature": 0.9, "seed": 12345},
        golden | {"prompt": prompt[:BEGINNING], "max_tokens": 1},
        golden | {"prompt": prompt[:1], "max_tokens": 1},
    ]


@pytest.fixture(scope="session")
def whole_answers(program, tiny_checkpoints):
    """case -> its answers with the prompt in one piece and blocks of 16; each computed once."""
    known = {}

    def answers(case):
        if case.name not in known:
            folder = tiny_checkpoints.folder(case)
            known[case.name] = program.answer(
                folder, requests_for(read_record(case)), block_size=BLOCK_SIZES[0]
            )
        return known[case.name]

    return answers


@named(CASES)
def test_the_checkpoint_is_the_one_the_golden_data_was_made_from(case, tiny_checkpoints):
    folder = tiny_checkpoints.folder(case)
    assert tiny_checkpoint.fingerprint(folder) == read_record(case)["fingerprint"]
    assert tiny_checkpoint.prompt(case) == read_record(case)["prompt"]


@named(CASES)
def test_log_probabilities_and_greedy_tokens_are_the_references(case, whole_answers):
    record, answer = read_record(case), whole_answers(case)[0]
    np.testing.assert_allclose(
        answer["prompt_logprobs"], record["logprobs"], rtol=0, atol=TOLERANCE
    )
    expected = expected_tokens(record["greedy_ids"], answer["tokens"], {EOS_ID})
    assert answer["tokens"] == expected
    np.testing.assert_allclose(
        answer["logprobs"], record["greedy_logprobs"][: len(expected)], rtol=0, atol=TOLERANCE
    )


@named(CASES)
def test_a_prompts_beginning_scores_the_same_bits_as_within_the_whole(case, whole_answers):
    whole, _, beginning, first = whole_answers(case)
    assert beginning["prompt_logprobs"] == whole["prompt_logprobs"][: BEGINNING - 1]
    assert first["prompt_logprobs"] == []
    record = read_record(case)
    for answer, position in ((beginning, BEGINNING - 1), (first, 0)):
        best, value = record["top_ids"][position][0], record["top_logprobs"][position][0]
        runner_up = record["top_logprobs"][position][1]
        assert abs(answer["logprobs"][0] - value) < TOLERANCE
        assert answer["tokens"] == [best] or value - runner_up < TOLERANCE


@pytest.mark.slow
@named(CASES)
def test_answers_are_the_same_bits_at_any_chunk_and_block_size(
    case, program, whole_answers, tiny_checkpoints
):
    folder, requests = tiny_checkpoints.folder(case), requests_for(read_record(case))

    def run(sizes):
        block_size, chunk = sizes
        return program.answer(folder, requests, block_size=block_size, chunk=chunk)

    every = list(itertools.product(BLOCK_SIZES, CHUNKS))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for sizes, answers in zip(every, pool.map(run, every), strict=True):
            assert answers == whole_answers(case), f"block size and chunk are {sizes}"


@named(PLAIN)
def test_the_identity_affine_checkpoint_answers_as_the_plain_one(
    case, program, whole_answers, tmp_path
):
    tiny_checkpoint.write_identity_affine(case, tmp_path)
    affine = program.answer(tmp_path, requests_for(read_record(case)))
    for one, other in zip(affine, whole_answers(case), strict=True):
        assert one["tokens"] == other["tokens"]
        for field in ("prompt_logprobs", "logprobs"):
            np.testing.assert_allclose(one[field], other[field], rtol=0, atol=TOLERANCE)
