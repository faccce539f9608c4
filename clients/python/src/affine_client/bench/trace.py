"""Reads a trace: a file that says when requests come and how long they are.

Three formats, told apart by their fields; README.md describes them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from affine_client.bench.plan import Conversation, Turn
from affine_client.bench.workload import random_ids
from affine_client.errors import AffineError

_MOONCAKE_BLOCK = 512  # tokens that one of hash_ids stands for
_MOST_TOKENS = 1 << 20

Tokenize = Callable[[str], Sequence[int]]


@dataclass(frozen=True)
class TraceReader:
    """`speed` divides all times. Ids that the trace leaves open are drawn by `seed`."""

    vocab_size: int
    seed: str
    tokenize: Tokenize
    speed: float = 1.0
    output_tokens: int = 64  # where the trace does not say

    def read(self, path: Path) -> list[Conversation]:
        """In the order of their times; those without one come in the order of the file, and then
        none may have one. Raises AffineError that names file, line and field."""
        conversations: list[Conversation] = []
        talks: dict[str, tuple[int, float | None, list[Turn]]] = {}
        for number, entry in enumerate(_entries(path), start=1):
            place = f"{path}, entry {number}"
            if "conversations" in entry:
                asked = self._share_gpt(entry["conversations"], place)
                if asked:
                    conversations.append(Conversation(asked))
                continue
            turn, at = self._turn(entry, place)
            talk = entry.get("conversation")
            if talk is not None and str(talk) in talks:
                talks[str(talk)][2].append(turn)
                continue
            conversations.append(Conversation((turn,), at))
            if talk is not None:
                talks[str(talk)] = (len(conversations) - 1, at, [turn])
        for index, at, turns in talks.values():
            conversations[index] = Conversation(tuple(turns), at)
        return _ordered(conversations, path)

    def _turn(self, entry: dict[str, Any], place: str) -> tuple[Turn, float | None]:
        """Ours, or Mooncake's where its names stand."""
        if "input_length" in entry:
            ids = self._mooncake_ids(entry, place)
            at = _number(entry, "timestamp", place, 1e-3)
            output = _length(entry, "output_length", place, self.output_tokens)
        else:
            ids = self._own_ids(entry, place)
            at = _number(entry, "at", place, 1.0)
            output = _length(entry, "output_tokens", place, self.output_tokens)
        cancel = _length(entry, "cancel_after", place, 0) or None
        pause = _number(entry, "pause", place, 1.0) or 0.0
        text = entry.get("prompt", "")
        return (
            Turn(
                ids,
                output,
                cancel if cancel is not None and cancel < output else None,
                pause / self.speed,
                text if isinstance(text, str) else "",
            ),
            None if at is None else at / self.speed,
        )

    def _own_ids(self, entry: dict[str, Any], place: str) -> tuple[int, ...]:
        prompt = entry.get("prompt")
        if isinstance(prompt, str):
            return tuple(self.tokenize(prompt))
        if isinstance(prompt, list):
            if not prompt or not all(isinstance(id, int) and id >= 0 for id in prompt):
                raise AffineError(f"{place}: prompt must be a text or token ids")
            return tuple(prompt)
        count = _length(entry, "prompt_tokens", place)
        shared = min(count, _length(entry, "prefix_tokens", place, 0))
        prefix = random.Random(f"{self.seed} prefix {entry.get('prefix', '')}")
        own = random.Random(f"{self.seed} {place}")
        return random_ids(prefix, shared, self.vocab_size) + random_ids(
            own, count - shared, self.vocab_size
        )

    def _mooncake_ids(self, entry: dict[str, Any], place: str) -> tuple[int, ...]:
        """Equal hash_ids become equal blocks of 512 tokens; what they do not cover is drawn."""
        count = _length(entry, "input_length", place)
        ids: tuple[int, ...] = ()
        for block in entry.get("hash_ids") or ():
            if len(ids) >= count:
                break
            ids += random_ids(
                random.Random(f"{self.seed} block {block}"),
                min(_MOONCAKE_BLOCK, count - len(ids)),
                self.vocab_size,
            )
        own = random.Random(f"{self.seed} {place}")
        return ids + random_ids(own, count - len(ids), self.vocab_size)

    def _share_gpt(self, messages: Any, place: str) -> tuple[Turn, ...]:
        """A turn for each question with an answer; that answer's length is the turn's."""
        if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
            raise AffineError(f"{place}: conversations must be a list of messages")
        turns = []
        question = ""
        for message in messages:
            role = message.get("from", message.get("role"))
            text = str(message.get("value", message.get("content", "")))
            if role in ("human", "user"):
                question = text
            elif role in ("gpt", "assistant") and question.strip() and text.strip():
                ids = tuple(self.tokenize(question))
                turns.append(Turn(ids, len(self.tokenize(text)), text=question))
                question = ""
        return tuple(turns)


def _entries(path: Path) -> list[dict[str, Any]]:
    """Of a JSON list, or of JSON lines."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise AffineError(f"the trace {path} cannot be read: {problem}") from None
    try:
        if text.lstrip().startswith("["):
            entries: list[Any] = json.loads(text)
        else:
            entries = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as problem:
        raise AffineError(f"the trace {path} is no JSON: {problem}") from None
    if not entries or not all(isinstance(entry, dict) for entry in entries):
        raise AffineError(f"the trace {path} must hold at least one object, one on each line")
    return entries


def _length(entry: dict[str, Any], field: str, place: str, default: int | None = None) -> int:
    value = entry.get(field, default)
    if value is None:
        raise AffineError(f"{place} has no {field}")
    least = 0 if default == 0 else 1
    if not isinstance(value, int) or not least <= value <= _MOST_TOKENS:
        raise AffineError(
            f"{place}: {field} is {value!r:.40}; it must be a whole number from {least} to "
            f"{_MOST_TOKENS}"
        )
    return value


def _number(entry: dict[str, Any], field: str, place: str, unit: float) -> float | None:
    value = entry.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e12:
        raise AffineError(f"{place}: {field} is {value!r:.40}; it must be a number of at least 0")
    return float(value) * unit


def _ordered(conversations: list[Conversation], path: Path) -> list[Conversation]:
    times = [conversation.at for conversation in conversations if conversation.at is not None]
    if not conversations:
        raise AffineError(f"the trace {path} holds no question with an answer")
    if times and len(times) < len(conversations):
        raise AffineError(f"the trace {path} has a time for some requests and none for others")
    return sorted(conversations, key=lambda conversation: conversation.at or 0.0)
