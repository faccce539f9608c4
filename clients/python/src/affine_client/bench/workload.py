"""What the load test sends: conversations of random token ids, so that tokenizers play no part."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from affine_client.bench.arrivals import Arrivals
from affine_client.bench.lengths import Lengths, fixed
from affine_client.bench.plan import Conversation, Turn

# Low ids are special tokens in most vocabularies.
_FIRST_PLAIN_ID = 100


@dataclass(frozen=True)
class Workload:
    """The same for the same seed, and each conversation for itself: the first n are the same
    whatever comes after them.

    `prefix_tokens` of each first prompt are one of `prefixes` beginnings that conversations share;
    `prompt_tokens` come after them, and are what each turn adds.
    """

    vocab_size: int
    prompt_tokens: Lengths
    output_tokens: Lengths
    seed: str
    prefix_tokens: int = 0
    prefixes: int = 1
    turns: Lengths = fixed(1)
    pause_s: float = 0.0  # between an answer and the next turn
    cancel_share: float = 0.0  # of requests that are hung up on, anywhere in their answers

    def conversations(self, arrivals: Arrivals | None = None) -> Iterator[Conversation]:
        """Without end; with `at` where there are arrivals."""
        times = arrivals.times(random.Random(f"{self.seed} arrivals")) if arrivals else None
        number = 0
        while True:
            yield self._conversation(number, next(times) if times else None)
            number += 1

    def warm_up(self, number: int) -> Conversation:
        """One that is none of conversations(), so that no prefix of theirs is cached."""
        source = random.Random(f"{self.seed} warm-up {number}")
        ids = self._ids(source, self.prefix_tokens + self.prompt_tokens.draw(source))
        return Conversation((Turn(ids, self.output_tokens.draw(source)),))

    def _conversation(self, number: int, at: float | None) -> Conversation:
        source = random.Random(f"{self.seed} {number}")
        turns = []
        for place in range(self.turns.draw(source)):
            shared = self._prefix(source.randrange(self.prefixes)) if place == 0 else ()
            ids = shared + self._ids(source, self.prompt_tokens.draw(source))
            output = self.output_tokens.draw(source)
            hangs_up = source.random() < self.cancel_share and output > 1
            turns.append(
                Turn(
                    ids,
                    output,
                    cancel_after=source.randrange(1, output) if hangs_up else None,
                    pause_s=self.pause_s if place else 0.0,
                )
            )
        return Conversation(tuple(turns), at)

    def _prefix(self, number: int) -> tuple[int, ...]:
        if self.prefix_tokens == 0:
            return ()
        return self._ids(random.Random(f"{self.seed} prefix {number}"), self.prefix_tokens)

    def _ids(self, source: random.Random, count: int) -> tuple[int, ...]:
        return random_ids(source, count, self.vocab_size)


def random_ids(source: random.Random, count: int, vocab_size: int) -> tuple[int, ...]:
    """Uniform over the plain part of the vocabulary."""
    first = _FIRST_PLAIN_ID if vocab_size > 2 * _FIRST_PLAIN_ID else 0
    span = vocab_size - first
    return tuple(first + int(source.random() * span) for _ in range(count))
