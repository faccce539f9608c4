"""Several answers to one prompt: as the server says them whole, and joined from their pieces."""

from __future__ import annotations

import pytest
from affine_client import AffineError, Chunk, Usage, join
from affine_client._proto import completion_pb2 as pb
from affine_client.wire import chunk_of, completion_of

LENGTH, STOP = pb.FINISH_REASON_LENGTH, pb.FINISH_REASON_STOP


def pieces() -> list[Chunk]:
    """Of two answers that take turns: "ab" and "xyz"."""
    messages = [
        pb.CompleteChunk(index=1, text="x", token_ids=[7], model="m", request_id="r"),
        pb.CompleteChunk(index=0, text="a", token_ids=[1]),
        pb.CompleteChunk(index=1, text="y", token_ids=[8]),
        pb.CompleteChunk(index=0, text="b", token_ids=[2], finish_reason=STOP),
        pb.CompleteChunk(
            index=1,
            text="z",
            token_ids=[9],
            finish_reason=LENGTH,
            usage=pb.Usage(prompt_tokens=4, output_tokens=5),
        ),
    ]
    return [chunk_of(message) for message in messages]


def test_the_pieces_of_several_answers_join_to_each_of_them() -> None:
    whole = completion_of(
        pb.CompleteResponse(
            request_id="r",
            model="m",
            text="ab",
            token_ids=[1, 2],
            finish_reason=STOP,
            usage=pb.Usage(prompt_tokens=4, output_tokens=5),
            other_answers=[pb.Answer(text="xyz", token_ids=[7, 8, 9], finish_reason=LENGTH)],
        )
    )
    assert join(pieces()) == whole
    assert [answer.text for answer in whole.answers] == ["ab", "xyz"]
    assert [answer.finish_reason for answer in whole.answers] == ["stop", "length"]
    assert whole.usage == Usage(prompt_tokens=4, cached_tokens=0, output_tokens=5)


def test_joining_names_the_answer_whose_end_is_missing() -> None:
    without_end = [piece for piece in pieces() if piece.text != "b"]
    with pytest.raises(AffineError, match="answer 0"):
        join(without_end)
