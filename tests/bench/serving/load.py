"""What is sent: prompts of random token ids, the same for every server and seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

# Low ids are special tokens in most vocabularies.
_FIRST_PLAIN_ID = 100


@dataclass(frozen=True)
class Load:
    """A closed loop: `concurrency` callers, each sending its next request after an answer."""

    concurrency: int
    requests: int
    prompt_tokens: int  # beside the shared prefix
    output_tokens: int  # of each answer, exactly

    def shortened(self, waves: int) -> Load:
        """At most `waves` requests for each caller."""
        requests = min(self.requests, waves * self.concurrency)
        return Load(self.concurrency, requests, self.prompt_tokens, self.output_tokens)


@dataclass(frozen=True)
class Prompts:
    """A load's prompts for one seed."""

    load: Load
    vocab_size: int
    seed: str
    prefix: tuple[int, ...] = ()

    @property
    def output_tokens(self) -> int:
        return self.load.output_tokens

    def prompts(self) -> list[list[int]]:
        """[requests][prefix + prompt_tokens]"""
        draw = random.Random(self.seed)
        return [
            [*self.prefix, *random_ids(draw, self.load.prompt_tokens, self.vocab_size)]
            for _ in range(self.load.requests)
        ]


def random_ids(draw: random.Random, count: int, vocab_size: int) -> list[int]:
    return [draw.randrange(_FIRST_PLAIN_ID, vocab_size) for _ in range(count)]
