"""A real checkpoint served by the C++ model against what transformers gives for it.

    python compare_with_transformers.py               # needs affine_score; no torch
    python compare_with_transformers.py --regenerate  # needs torch and transformers too

Twenty prompts: in float32 the 64 most likely tokens are equal one by one and the prompt's
log-probabilities within 1e-3 nats, for the plain checkpoint and for its affine twin; in bfloat16
the log-probabilities are on average within 0.05 nats of the same model's in float32. Transformers'
answers are stored in data/smollm2_greedy.json; --regenerate computes them anew, fails if they
disagree with those stored for the same checkpoint and prompts, and stores them otherwise.
"""

import argparse
import json
import pathlib
import sys

from comparison import compare, mean_difference, table
from golden_record import DATA, write_record
from score_program import ROOT, ScoreProgram, ScoreProgramError
from tiny_checkpoint import fingerprint

TOLERANCE = 1e-3  # nats, float32 against transformers
BFLOAT16_TOLERANCE = 0.05  # nats, mean over all prompt tokens
STORED = DATA / "smollm2_greedy.json"


class ComparisonError(Exception):
    """The comparison can't be made; the message says what to do."""


def read_stored(path, checkpoint):
    """Transformers' answers in `path`, made from the very `checkpoint`."""
    if not path.exists():
        raise ComparisonError(f"{path} is missing; make it with --regenerate")
    record = json.loads(path.read_text())
    if record["fingerprint"] != fingerprint(checkpoint):
        raise ComparisonError(
            f"{path} was made from other weights than {checkpoint} holds; convert the checkpoint "
            "again, or if the change is meant, delete the file and --regenerate"
        )
    return record


def requests_for(record):
    return [
        {
            "prompt": answer["ids"],
            "max_tokens": len(answer["tokens"]),
            "temperature": 0.0,
            "seed": 0,
        }
        for answer in record["answers"]
    ]


def check_checkpoint(program, folder, record, threads):
    """Prints what `folder` gives; returns what is wrong, a list of sentences."""
    requests = requests_for(record)
    answers = program.answer(folder, requests, threads=threads)
    comparisons = [
        compare(stored, answer, record["eos"])
        for stored, answer in zip(record["answers"], answers, strict=True)
    ]
    print(f"\n{folder.name}, float32 against transformers {record['transformers']}")
    print("\n".join(table(comparisons)))
    wrong = [
        f"{folder.name}: {one.kind!r} has {one.agreed} of {one.asked} tokens equal and "
        f"log-probabilities up to {one.largest:.2e} apart (allowed {TOLERANCE})"
        for one in comparisons
        if not one.equal(TOLERANCE)
    ]
    scored = [request | {"max_tokens": 1} for request in requests]
    rounded = program.answer(folder, scored, dtype="bfloat16", threads=threads)
    mean = mean_difference(rounded, answers)
    print(f"{folder.name}, bfloat16 against its own float32: mean difference {mean:.4f} nats")
    if mean > BFLOAT16_TOLERANCE:
        wrong.append(
            f"{folder.name}: bfloat16 is {mean:.4f} nats away (allowed {BFLOAT16_TOLERANCE})"
        )
    return wrong


def regenerate(path, checkpoint, affine):
    """Computes transformers' answers anew and stores them; ComparisonError if they changed."""
    import transformers_answers  # here, so that a comparison needs no torch

    made = transformers_answers.compute(checkpoint)
    largest = transformers_answers.affine_difference(affine, made)
    print(f"the reference on {affine.name} is within {largest:.1e} nats of transformers")
    if largest > TOLERANCE:
        raise ComparisonError(f"{affine} is not an affine twin of {checkpoint}")
    if path.exists():
        stored = json.loads(path.read_text())
        if comparable(stored, made):
            check_same(stored, made)
            print(f"{path.name} holds the same answers; left as it is")
            return
    write_record(made, path)
    print(f"stored in {path}")


def comparable(stored, made):
    """Made from the same weights and the same prompts."""
    ids = [[answer["ids"] for answer in record["answers"]] for record in (stored, made)]
    return stored["fingerprint"] == made["fingerprint"] and ids[0] == ids[1]


def check_same(stored, made):
    """ComparisonError unless tokens are equal and numbers within a tenth of the tolerance."""
    for one, other in zip(stored["answers"], made["answers"], strict=True):
        values = [answer["logprobs"] + answer["token_logprobs"] for answer in (one, other)]
        apart = max(abs(a - b) for a, b in zip(*values, strict=True))
        if one["tokens"] != other["tokens"] or apart > TOLERANCE / 10:
            raise ComparisonError(
                f"{one['kind']!r}: transformers no longer gives what is stored (log-probabilities "
                f"up to {apart:.1e} apart); if that is meant, delete {STORED.name} first"
            )


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    models = ROOT / "models"
    default = models / "smollm2-135m-instruct"
    parser.add_argument("--checkpoint", type=pathlib.Path, default=default)
    parser.add_argument("--affine_checkpoint", type=pathlib.Path, help="default: CHECKPOINT-identity")
    parser.add_argument("--stored", type=pathlib.Path, default=STORED)
    parser.add_argument("--program", help="default: AFFINE_SCORE, or the default build's")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--regenerate", action="store_true")
    options = parser.parse_args(arguments)
    if options.affine_checkpoint is None:
        plain = options.checkpoint
        options.affine_checkpoint = plain.with_name(plain.name + "-identity")
    return options


def run(options):
    for folder in (options.checkpoint, options.affine_checkpoint):
        if not (folder / "config.json").exists():
            raise ComparisonError(
                f"no checkpoint in {folder}; tests/run.sh makes both"
            )
    if options.regenerate:
        return regenerate(options.stored, options.checkpoint, options.affine_checkpoint)
    program = ScoreProgram(options.program)
    record = read_stored(options.stored, options.checkpoint)
    wrong = []
    for folder in (options.checkpoint, options.affine_checkpoint):
        wrong += check_checkpoint(program, folder, record, options.threads)
    if wrong:
        raise ComparisonError("\n".join(wrong))
    print("\nall equal")


def main(arguments=None):
    """Exit status: 0 when all is equal, 1 otherwise."""
    try:
        run(parse(arguments))
    except (ComparisonError, ScoreProgramError) as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
