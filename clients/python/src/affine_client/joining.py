"""From the pieces of a streamed answer to the whole."""

from __future__ import annotations

from collections.abc import Iterable

from affine_client.answers import Chunk, Completion
from affine_client.errors import AffineError


def join(chunks: Iterable[Chunk]) -> Completion:
    """The answer that `chunks` are the pieces of. Raises AffineError if the last one is missing."""
    pieces = list(chunks)
    last = pieces[-1] if pieces else None
    if last is None or last.usage is None or last.finish_reason is None:
        raise AffineError("the stream ended without its last piece")
    return Completion(
        text="".join(piece.text for piece in pieces),
        token_ids=tuple(id for piece in pieces for id in piece.token_ids),
        finish_reason=last.finish_reason,
        usage=last.usage,
        model=pieces[0].model,
        request_id=pieces[0].request_id,
        logprobs=tuple(token for piece in pieces for token in piece.logprobs),
        prompt_logprobs=pieces[0].prompt_logprobs,
        prompt_token_ids=pieces[0].prompt_token_ids,
        stability=last.stability,
    )
