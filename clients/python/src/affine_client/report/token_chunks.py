"""Cuts a text into prompts of token ids."""

from __future__ import annotations

from dataclasses import dataclass

from affine_client.client import Client
from affine_client.errors import InvalidArgument
from affine_client.report.text_file import parts

# Any text that is not empty shows which special tokens stand before a prompt.
_PROBE = "a"


@dataclass(frozen=True)
class TokenChunks:
    """`prompts` [requests][at most size] ids; the last one may be shorter."""

    prompts: list[list[int]]
    special_tokens: int  # at the start of each prompt
    whole_text: bool  # nothing was left out


def token_chunks(client: Client, model: str, text: str, size: int, limit: int) -> TokenChunks:
    """The first `limit` prompts of at most `size` tokens that `text` makes, as `model` reads it.

    Each begins with the special tokens that the model's tokenizer puts before a prompt. A last,
    shorter prompt is kept. Raises InvalidArgument when `size` leaves no room for text.
    """
    special = _special_tokens(client, model)
    room = size - len(special)
    if room < 1:
        raise InvalidArgument(
            f"--tokens is {size}; each request begins with {len(special)} special tokens of "
            f"{model}, so it must be at least {len(special) + 1}"
        )
    ids: list[int] = []
    for part in parts(text):
        ids += client.tokenize(part, model=model, add_special_tokens=False).ids
        if len(ids) > room * limit:
            break
    used = ids[: room * limit]
    prompts = [special + used[begin : begin + room] for begin in range(0, len(used), room)]
    return TokenChunks(prompts, len(special), whole_text=len(used) == len(ids))


def _special_tokens(client: Client, model: str) -> list[int]:
    """The ids before a prompt's own; those after it, where a tokenizer has such, are left out."""
    plain = client.tokenize(_PROBE, model=model, add_special_tokens=False).ids
    full = client.tokenize(_PROBE, model=model, add_special_tokens=True).ids
    for begin in range(len(full) - len(plain) + 1):
        if full[begin : begin + len(plain)] == plain:
            return list(full[:begin])
    return []
