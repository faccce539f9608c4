"""Sends a text to a model and keeps what its attention did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from affine_client.answers import Model
from affine_client.client import Client
from affine_client.errors import InvalidArgument, Unsupported
from affine_client.report.head_sums import HeadSums
from affine_client.report.token_chunks import token_chunks
from affine_client.stability import AttentionHeads

Progress = Callable[[int, int], None]  # requests done, requests in all


@dataclass(frozen=True)
class Measurement:
    """What `text` did to one model; `heads` is over all requests."""

    model: Model
    requests: int
    unstable_requests: int  # ended by a stability limit of the server's
    tokens: int  # of all prompts
    special_tokens: int  # of these, at the start of each prompt
    chunk_tokens: int  # most in a request
    positions: int  # measured, each by all layers and heads
    whole_text: bool  # else the text's rest was left out
    heads: AttentionHeads


def measure(
    client: Client, model: Model, text: str, chunk_tokens: int, limit: int, progress: Progress
) -> Measurement:
    """Sends `text` in at most `limit` requests of at most `chunk_tokens` tokens each, one after
    another, and makes no token. Raises Unsupported where the server measures no request."""
    if chunk_tokens > model.max_model_len:
        raise InvalidArgument(
            f"--tokens is {chunk_tokens}; {model.name} takes at most {model.max_model_len}"
        )
    chunks = token_chunks(client, model.name, text, chunk_tokens, limit)
    total = len(chunks.prompts)
    sums: HeadSums | None = None
    positions = unstable = 0
    progress(0, total)
    for done, prompt in enumerate(chunks.prompts, start=1):
        answer = client.complete(
            prompt, model=model.name, max_tokens=0, stability=True, stability_heads=True
        )
        if answer.stability is None or answer.stability.heads is None:
            raise Unsupported("the answer carries no statistics of the attention")
        positions += answer.stability.queries
        unstable += answer.finish_reason == "unstable"
        if sums is None:
            sums = HeadSums(answer.stability.heads)
        else:
            sums.add(answer.stability.heads)
        progress(done, total)
    if sums is None:
        raise InvalidArgument(f"{model.name} makes no token of the text; give another")
    return Measurement(
        model=model,
        requests=total,
        unstable_requests=unstable,
        tokens=sum(map(len, chunks.prompts)),
        special_tokens=chunks.special_tokens,
        chunk_tokens=chunk_tokens,
        positions=positions,
        whole_text=chunks.whole_text,
        heads=sums.heads(),
    )
