"""Samples conversations and free text from a running affine_server.

usage: sample_texts.py OUT_FILE --url http://127.0.0.1:8000 [--model NAME] [--conversations N] ...

Every request has a seed of its own, so the same server, model and arguments give the same file.
Temperature is 1: what is drawn then follows the model's own distribution, and next-token training
on it asks the tuned model to stay near the original. Prompts are made here from lists below.
"""

import argparse
import itertools
import json
import random
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
_REQUESTS = (
    "Explain {} in two sentences.",
    "Give me three facts about {}.",
    "Write a short story in which {} matters.",
    "What should a beginner know about {}?",
    "Write a friendly letter to a neighbour about {}.",
    "List the steps of a small experiment about {}.",
    "Why do people care about {}?",
    "Write a Python function that has to do with {} and say how it works.",
    "Make up a dialogue of two people who disagree about {}.",
    "Summarise the history of {} for a child.",
    "Which mistakes are common with {}, and how are they avoided?",
    "Write a poem of eight lines about {}.",
)
_SUBJECTS = (
    "bridges", "sorting a list", "bread", "the tides", "prime numbers", "bicycles", "volcanoes",
    "learning to swim", "maps", "honey bees", "the printing press", "temperature", "chess",
    "recycling paper", "clouds", "a lost key", "unit tests", "rivers", "old letters", "gravity",
    "gardening in a small yard", "password safety", "trains", "the alphabet", "dreams",
    "a village market", "fractions", "the heart", "lighthouses", "patience", "soup", "databases",
    "migrating birds", "glass", "playing the piano", "moonlight", "coal mines", "magnets",
    "a broken clock", "public libraries", "winter", "spelling", "compilers", "wool", "deserts",
    "saving money", "dinosaurs", "tea", "echoes", "democracy", "leap years", "shadows",
)  # fmt: skip
_BEGINNINGS = (
    "Once upon a time", "The results of the study show", "def ", "In the early morning,",
    "# Introduction\n\n", "Dear editor,", "The city council", "import numpy as np\n", "Chapter 1",
    "Scientists have found", "Question:", "To make this dish, you will need", "The history of",
    "She opened the door and", "1. First,", "According to the report,", "<html>\n", "Abstract:",
    "It is often said that", "The theorem states",
)  # fmt: skip


def conversation_prompts(count: int, seed: int) -> list[str]:
    """`count` different chat prompts that end where the assistant begins."""
    pairs = list(itertools.product(_REQUESTS, _SUBJECTS))
    random.Random(seed).shuffle(pairs)
    if count > len(pairs):
        raise ValueError(
            f"--conversations is {count}; there are {len(pairs)} prompts, so at most that"
        )
    return [
        f"<|im_start|>system\n{_SYSTEM}<|im_end|>\n<|im_start|>user\n{request.format(subject)}"
        "<|im_end|>\n<|im_start|>assistant\n"
        for request, subject in pairs[:count]
    ]


def complete(arguments: argparse.Namespace, prompt: str, seed: int) -> str:
    """Prompt and answer of one request, with the end-of-turn token where the model ended there."""
    body = {
        "model": arguments.model,
        "prompt": prompt,
        "max_tokens": arguments.max_tokens,
        "temperature": 1,
        "seed": seed,
        "skip_special_tokens": False,
    }
    request = urllib.request.Request(
        f"{arguments.url}/v1/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        choice = json.load(response)["choices"][0]
    end = "<|im_end|>\n" if choice["finish_reason"] == "stop" and prompt.startswith("<|im") else ""
    return prompt + choice["text"] + end


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The parsed command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, metavar="OUT_FILE", help="text file to write")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="the server")
    parser.add_argument("--model", default="smollm2-135m-instruct", help="its served name")
    parser.add_argument("--conversations", type=int, default=600, help="chat prompts")
    parser.add_argument("--free", type=int, default=200, help="prompts that are mere beginnings")
    parser.add_argument("--max-tokens", type=int, default=256, help="of one answer")
    parser.add_argument("--concurrency", type=int, default=32, help="requests at once")
    parser.add_argument("--seed", type=int, default=1, help="of the prompts' order and the draws")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Writes the file: one document after another, with the model's end-of-text token between."""
    parsed = parse(arguments)
    prompts = conversation_prompts(parsed.conversations, parsed.seed)
    prompts += [_BEGINNINGS[index % len(_BEGINNINGS)] for index in range(parsed.free)]
    random.Random(parsed.seed).shuffle(prompts)
    seeds = range(parsed.seed * 1_000_000, parsed.seed * 1_000_000 + len(prompts))
    documents = []
    with ThreadPoolExecutor(parsed.concurrency) as pool:
        for text in pool.map(complete, itertools.repeat(parsed), prompts, seeds):
            documents.append(text.strip("\n") + "\n")
            print(f"\r{len(documents)} of {len(prompts)} texts", end="", file=sys.stderr)
    print(file=sys.stderr)
    parsed.out.parent.mkdir(parents=True, exist_ok=True)
    parsed.out.write_text("<|endoftext|>".join(documents), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
