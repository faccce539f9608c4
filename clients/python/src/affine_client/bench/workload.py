"""What the load test sends."""

from __future__ import annotations

import random
from dataclasses import dataclass

# Low ids are special tokens in most vocabularies.
_FIRST_PLAIN_ID = 100


@dataclass(frozen=True)
class Workload:
    """Prompts of token ids, so that tokenizers play no part; the same for the same seed."""

    model: str
    vocab_size: int
    requests: int
    prompt_tokens: int
    output_tokens: int
    seed: int

    def prompts(self) -> list[list[int]]:
        """[requests][prompt_tokens] ids, uniform over the plain part of the vocabulary."""
        first = _FIRST_PLAIN_ID if self.vocab_size > 2 * _FIRST_PLAIN_ID else 0
        draw = random.Random(self.seed)
        return [
            [draw.randrange(first, self.vocab_size) for _ in range(self.prompt_tokens)]
            for _ in range(self.requests)
        ]

    def warm_up_prompt(self) -> list[int]:
        """A prompt that is none of prompts(), so that no prefix of theirs is cached."""
        draw = random.Random(f"warm-up {self.seed}")
        return [draw.randrange(self.vocab_size) for _ in range(self.prompt_tokens)]
