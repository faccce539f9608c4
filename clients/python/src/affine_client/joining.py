"""From the pieces of a streamed answer to the whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from affine_client.answers import Answer, Chunk, Completion
from affine_client.errors import AffineError


def join(chunks: Iterable[Chunk]) -> Completion:
    """The answers that `chunks` are the pieces of, whatever turns they took. Raises AffineError if
    the last piece of one is missing."""
    pieces = list(chunks)
    usage = pieces[-1].usage if pieces else None
    if usage is None:
        raise AffineError("the stream ended without its last piece")
    by_index = groupby(sorted(pieces, key=lambda piece: piece.index), lambda piece: piece.index)
    first, *others = [_joined(list(group)) for _, group in by_index]
    return Completion(
        text=first.text,
        token_ids=first.token_ids,
        finish_reason=first.finish_reason,
        usage=usage,
        model=pieces[0].model,
        request_id=pieces[0].request_id,
        logprobs=first.logprobs,
        prompt_logprobs=next((p.prompt_logprobs for p in pieces if p.prompt_logprobs), ()),
        prompt_token_ids=pieces[0].prompt_token_ids,
        stability=first.stability,
        other_answers=tuple(others),
    )


def _joined(pieces: Sequence[Chunk]) -> Answer:
    """One answer, of its pieces in order."""
    last = pieces[-1]
    if last.finish_reason is None:
        raise AffineError(f"the stream ended without the last piece of answer {last.index}")
    return Answer(
        text="".join(piece.text for piece in pieces),
        token_ids=tuple(id for piece in pieces for id in piece.token_ids),
        finish_reason=last.finish_reason,
        logprobs=tuple(token for piece in pieces for token in piece.logprobs),
        stability=last.stability,
    )
