"""What is to be sent, and when: conversations of one or more turns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Turn:
    """One request. Its prompt is all turns and answers before it, and then `ids`."""

    ids: tuple[int, ...]
    output_tokens: int
    cancel_after: int | None = None  # hang up once so many tokens have come
    pause_s: float = 0.0  # between the answer before and this turn
    text: str = ""  # the same as `ids`, for chat, which takes no ids


@dataclass(frozen=True)
class Conversation:
    """`at`: seconds after the start of the run; None: as soon as a caller is free."""

    turns: tuple[Turn, ...]
    at: float | None = None


@dataclass(frozen=True)
class Ask:
    """A request as a caller sends it."""

    prompt: list[int]
    output_tokens: int
    cancel_after: int | None = None
    messages: tuple[tuple[str, str], ...] = ()  # role and text, for chat
