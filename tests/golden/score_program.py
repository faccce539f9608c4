"""Runs `affine_score`, the program through which the golden tests reach the C++ model.

    affine_score --model=DIR --dtype=float32 [--chunk=N] [--block_size=N] [--threads=N]

reads lines {"prompt": [ids], "max_tokens": n, "temperature": t, "seed": s} and answers each with a
line {"prompt_logprobs": [one for each of prompt[1:]], "tokens": [ids], "logprobs": [floats]}. The
drawn tokens may end early after one that ends a text.
"""

import json
import math
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFAULT_PROGRAM = ROOT / "build" / "tests" / "golden" / "affine_score"


class ScoreProgramError(Exception):
    """The program is not there, failed, or answered something else than its contract says."""


class ScoreProgram:
    """affine_score at a path: AFFINE_SCORE, or where the default build puts it."""

    def __init__(self, path=None):
        self._path = pathlib.Path(path or os.environ.get("AFFINE_SCORE") or DEFAULT_PROGRAM)
        if not os.access(self._path, os.X_OK):
            raise ScoreProgramError(
                f"no program at {self._path}; build the target affine_score "
                "(cmake --build build --target affine_score) or set AFFINE_SCORE to its path"
            )

    def answer(self, folder, requests, *, dtype="float32", chunk=None, block_size=None, threads=1):
        """Answers to `requests` (dicts of the contract), in order.

        chunk: tokens of a prompt computed in one step; None takes the whole prompt.
        Raises ScoreProgramError with the end of the program's stderr.
        """
        command = [str(self._path), f"--model={folder}", f"--dtype={dtype}", f"--threads={threads}"]
        command += [f"--chunk={chunk}"] if chunk else []
        command += [f"--block_size={block_size}"] if block_size else []
        lines = "".join(json.dumps(request) + "\n" for request in requests)
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ScoreProgramError(
                f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}"
            )
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        if len(answers) != len(requests):
            raise ScoreProgramError(f"{len(requests)} requests, {len(answers)} answers")
        for request, answer in zip(requests, answers, strict=True):
            _check(request, answer)
        return answers


def _check(request, answer):
    scored, drawn = answer["prompt_logprobs"], answer["tokens"]
    if len(scored) != len(request["prompt"]) - 1:
        raise ScoreProgramError(
            f"a prompt of {len(request['prompt'])} tokens got {len(scored)} log-probabilities"
        )
    if len(drawn) != len(answer["logprobs"]) or len(drawn) > request["max_tokens"]:
        raise ScoreProgramError(
            f"max_tokens {request['max_tokens']} got {len(drawn)} tokens with "
            f"{len(answer['logprobs'])} log-probabilities"
        )
    wrong = [value for value in scored + answer["logprobs"] if not math.isfinite(value)]
    if wrong:
        raise ScoreProgramError(f"{len(wrong)} log-probabilities are not finite")


def expected_tokens(full, got, end_ids):
    """What `got` should be: `full`, or its start up to an end-of-text token where `got` stops."""
    ended = 0 < len(got) < len(full) and full[len(got) - 1] in end_ids
    return full[: len(got)] if ended else full
