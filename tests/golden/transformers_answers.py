"""What transformers answers to the twenty prompts on a real checkpoint, in float32.

Needs torch and transformers. The plain checkpoint runs on unmodified transformers, the affine twin
on the reference.
"""

import pathlib

import tokenizers
import torch
import transformers

import reference
from smollm2_prompts import PROMPTS
from tiny_checkpoint import fingerprint

NEW_TOKENS = 64


def compute(folder, say=print):
    """The record that compare_with_transformers stores, for the plain checkpoint in `folder`.

    Log-probabilities and margins (nats to the runner-up) are rounded to 1e-5. The continuation is
    the most likely token 64 times; an end-of-text token doesn't end it.
    """
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    tokenizer = tokenizers.Tokenizer.from_file(str(pathlib.Path(folder) / "tokenizer.json"))
    answers = []
    for kind, text in PROMPTS:
        ids = tokenizer.encode(text).ids
        answers.append({"kind": kind, "ids": ids, **_answer(model, ids)})
        say(f"{kind}: {len(ids)} tokens, least margin {min(answers[-1]['margins']):.5f}")
    return {
        "transformers": transformers.__version__,
        "fingerprint": fingerprint(folder),
        "eos": _end_ids(model),
        "answers": answers,
    }


def _end_ids(model):
    ids = model.generation_config.eos_token_id
    return ids if isinstance(ids, list) else [ids]


@torch.no_grad()
def _answer(model, ids):
    output = model(torch.tensor([ids]), use_cache=True)
    rows = torch.log_softmax(output.logits[0], dim=-1)
    scored = _following(rows, ids)
    tokens, values, margins = [], [], []
    while True:
        best = torch.topk(torch.log_softmax(output.logits[0, -1], dim=-1), 2)
        first, second = best.values.tolist()
        tokens.append(best.indices[0].item())
        values.append(first)
        margins.append(first - second)
        if len(tokens) == NEW_TOKENS:
            break
        output = model(
            torch.tensor([tokens[-1:]]), past_key_values=output.past_key_values, use_cache=True
        )
    return {
        "logprobs": _rounded(scored),
        "tokens": tokens,
        "token_logprobs": _rounded(values),
        "margins": _rounded(margins),
    }


def _following(rows, ids):
    return rows[:-1].gather(1, torch.tensor(ids[1:], dtype=torch.long).unsqueeze(1))[:, 0].tolist()


def _rounded(values):
    return [round(value, 5) for value in values]


def affine_difference(folder, record):
    """Largest difference between the reference on the affine twin and `record`, in nats.

    Over the log-probabilities of all prompts and continuations.
    """
    model = reference.load_model(folder, torch.float32)
    largest = 0.0
    for answer in record["answers"]:
        ids = answer["ids"] + answer["tokens"]
        values = _following(reference.log_probs(model, ids), ids)
        stored = answer["logprobs"] + answer["token_logprobs"]
        pairs = zip(values, stored, strict=True)
        largest = max(largest, *(abs(value - other) for value, other in pairs))
    return largest
