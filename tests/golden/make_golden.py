"""Writes data/CASE.json for every golden case, from the reference in float64.

    python make_golden.py [CASE ...]

Each file: `fingerprint` of the checkpoint's tensors, `prompt` ids, `logprobs` of prompt[1:], the
five most likely tokens after each position (`top_ids`, `top_logprobs`), and a greedy continuation
(`greedy_ids`, `greedy_logprobs`) that ends early before a near-tie. Numbers are float32.
"""

import argparse
import tempfile

import numpy as np
import torch

import reference
import tiny_checkpoint
from cases import GREEDY_TOKENS, all_cases, case_named
from golden_record import DATA, write_record

TOP = 5
LEAST_MARGIN = 0.01  # nats between the best two tokens; below it rounding could choose


def golden(case, folder):
    """The golden record of `case`, whose checkpoint is written to `folder`."""
    tiny_checkpoint.write(case, folder)
    model = reference.load_model(folder, torch.float64)
    prompt = tiny_checkpoint.prompt(case)
    rows = reference.log_probs(model, prompt)
    top = torch.topk(rows, TOP, dim=-1)
    following = rows[:-1].gather(1, torch.tensor(prompt[1:]).unsqueeze(1)).squeeze(1)
    drawn = []
    for token in reference.greedy(model, prompt, GREEDY_TOKENS):
        if token[2] < LEAST_MARGIN:
            break
        drawn.append(token)
    return {
        "case": case.name,
        "fingerprint": tiny_checkpoint.fingerprint(folder),
        "prompt": prompt,
        "logprobs": as_float32(following),
        "top_ids": top.indices.tolist(),
        "top_logprobs": [as_float32(row) for row in top.values],
        "greedy_ids": [token for token, _, _ in drawn],
        "greedy_logprobs": as_float32(torch.tensor([value for _, value, _ in drawn])),
    }


def as_float32(values):
    """A list of floats that print with just the digits that float32 needs."""
    return [float(str(value)) for value in values.numpy().astype(np.float32)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help="names; all when left out")
    names = parser.parse_args().cases or [case.name for case in all_cases()]
    torch.set_num_threads(1)  # far faster than two for matrices this small
    DATA.mkdir(exist_ok=True)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            record = golden(case_named(name), folder)
        write_record(record, DATA / f"{name}.json")
        print(f"{name}: {len(record['prompt'])} + {len(record['greedy_ids'])} tokens", flush=True)


if __name__ == "__main__":
    main()
