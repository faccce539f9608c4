"""Requests of all lengths and kinds, sent over HTTP alone or in company, and what of their answers must
not depend on it."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from http_api import HttpApi

LONGEST = 240  # tokens of a prompt and its answer
_LONGEST_PROMPT, _LONGEST_ANSWER = 200, 24
# Talkers answer at length, and need blocks that nobody set aside for them: others must make way.
_TALKERS, _TALKER_PROMPT = 1 / 6, 40
_FAMILIES, _LONGEST_PREFIX = 5, 150
_FIRST_ID = 20  # those below are special
_SHAPES: tuple[dict[str, Any], ...] = (
    {"repetition_penalty": 1.3},
    {"frequency_penalty": 0.8, "presence_penalty": -0.3},
    {"logit_bias": {"30": 3.0, "31": -100}, "typical_p": 0.8},
    {"allowed_token_ids": list(range(20, 120))},
)


@dataclass(frozen=True)
class Asked:
    fields: dict[str, Any]
    hang_up_after: int | None = None  # tokens; None: wait for the end


@dataclass(frozen=True)
class Answer:
    """Numbers are compared as JSON has them, so to the last bit. `finish` is None of a caller who
    hung up: then the tokens are those that came until then."""

    token_ids: list[int]
    log_probs: list[float]
    tops: list[Any]
    prompt_log_probs: Any
    finish: str | None

    def begins(self, whole: Answer) -> bool:
        """Whether this is what `whole` gives to a caller who hangs up somewhere."""
        count = len(self.token_ids)
        mine = (self.token_ids, self.log_probs, self.tops)
        return mine == (whole.token_ids[:count], whole.log_probs[:count], whole.tops[:count])


def mixed_requests(count: int, vocab_size: int, seed: int) -> list[Asked]:
    """Greedy and seeded in turn; two in five begin like others, one in six is a talker, and one in six
    is hung up on."""
    draw = random.Random(seed)
    families = [_ids(draw, _LONGEST_PREFIX, vocab_size) for _ in range(_FAMILIES)]
    return [_request(draw, number, families, vocab_size) for number in range(count)]


def _request(
    draw: random.Random, number: int, families: Sequence[list[int]], vocab_size: int
) -> Asked:
    talks = draw.random() < _TALKERS
    shared: list[int] = []
    if not talks and draw.random() < 0.4:
        shared = draw.choice(families)[: draw.randint(16, _LONGEST_PREFIX)]
    longest = _TALKER_PROMPT if talks else _LONGEST_PROMPT
    own = _ids(draw, draw.randint(1, longest - len(shared)), vocab_size)
    answer = (100, LONGEST - _TALKER_PROMPT) if talks else (1, _LONGEST_ANSWER)
    fields: dict[str, Any] = {
        "prompt": shared + own,
        "max_tokens": draw.randint(*answer),
        "ignore_eos": talks or draw.random() < 0.5,
        "logprobs": draw.choice((0, 0, 3)),
        "return_token_ids": True,
        "temperature": 0,
    }
    if draw.random() < 0.1:
        fields["prompt_logprobs"] = 1
    if number % 2:
        fields |= {"temperature": draw.uniform(0.3, 1.5), "seed": draw.getrandbits(64)}
        fields |= draw.choice(({}, {"top_k": 40}, {"top_p": 0.9}, {"min_p": 0.05}))
    if number % 3 == 0:
        fields |= draw.choice(_SHAPES)
    hang_up_after = draw.randrange(fields["max_tokens"]) if draw.random() < 1 / 6 else None
    return Asked(fields, hang_up_after)


def _ids(draw: random.Random, count: int, vocab_size: int) -> list[int]:
    return [draw.randrange(_FIRST_ID, vocab_size) for _ in range(count)]


def alone(api: HttpApi, requests: Sequence[Asked]) -> list[Answer]:
    """Each whole, one after the other, and kept from blocks that another left in the cache."""
    return [
        _whole(api, {**asked.fields, "cache_salt": f"alone {number}"})
        for number, asked in enumerate(requests)
    ]


def in_company(
    api: HttpApi, requests: Sequence[Asked], concurrency: int, seed: int
) -> list[Answer]:
    """In random order, always `concurrency` at once; in the order of `requests`."""
    order = list(range(len(requests)))
    random.Random(seed).shuffle(order)
    answers: dict[int, Answer] = {}
    lock = threading.Lock()

    def ask(number: int) -> None:
        asked = requests[number]
        answer = (
            _whole(api, asked.fields)
            if asked.hang_up_after is None
            else _beginning(api, asked.fields, asked.hang_up_after)
        )
        with lock:
            answers[number] = answer

    with ThreadPoolExecutor(concurrency) as pool:
        for asking in [pool.submit(ask, number) for number in order]:
            asking.result()
    return [answers[number] for number in range(len(requests))]


def _whole(api: HttpApi, fields: dict[str, Any]) -> Answer:
    choice = api.complete(**fields)["choices"][0]
    return Answer(
        choice["token_ids"],
        choice["logprobs"]["token_logprobs"],
        choice["logprobs"]["top_logprobs"],
        choice.get("prompt_logprobs"),
        choice["finish_reason"],
    )


def _beginning(api: HttpApi, fields: dict[str, Any], tokens: int) -> Answer:
    """Hangs up once at least that many tokens have come."""
    answer = Answer([], [], [], None, None)
    stream = api.stream(**fields)
    try:
        if tokens > 0:
            for event in stream:
                choice = event["choices"][0]
                answer.token_ids.extend(choice["token_ids"])
                answer.log_probs.extend(choice["logprobs"]["token_logprobs"])
                answer.tops.extend(choice["logprobs"]["top_logprobs"])
                if len(answer.token_ids) >= tokens:
                    break
    finally:
        stream.close()
    return answer
