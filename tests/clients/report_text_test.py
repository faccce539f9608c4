"""From a text file to the prompts of a report."""

from __future__ import annotations

from pathlib import Path

import pytest
from affine_client import AffineError, Client, InvalidArgument
from affine_client.report.text_file import parts, read_text
from affine_client.report.token_chunks import token_chunks
from fake_service import FakeService


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"GIF89a\0\1", "byte 6 is zero"),
        (b"caf\xe9 noir", "not UTF-8: invalid continuation byte at byte 3"),
    ],
)
def test_what_is_no_text_is_named(tmp_path: Path, content: bytes, named: str) -> None:
    file = tmp_path / "text"
    file.write_bytes(content)
    with pytest.raises(AffineError, match=named):
        read_text(file)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(AffineError, match="no such file"):
        read_text(tmp_path / "absent")
    with pytest.raises(AffineError, match="is a folder"):
        read_text(tmp_path)


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert read_text(file) == "a\r\nb"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\ntwo three", ["one\n", "two", " three"]),  # a line's end before a space
        ("abcdefghij", ["abcdefg", "hij"]),
        (" bcdefghij", [" bcdefg", "hij"]),
        ("short", ["short"]),
    ],
)
def test_parts_are_cut_where_words_end(text: str, expected: list[str]) -> None:
    assert list(parts(text, length=7)) == expected
    assert "".join(parts(text, length=7)) == text


def test_prompts_have_the_size_and_the_last_one_the_rest(client: Client) -> None:
    chunks = token_chunks(client, "fake", "a b c d e f g", size=3, limit=9)
    assert chunks.prompts == [[0, 1, 2], [3, 4, 5], [6]]
    assert (chunks.special_tokens, chunks.whole_text) == (0, True)


def test_each_prompt_begins_with_the_special_tokens(client: Client, service: FakeService) -> None:
    service.special_ids = [900, 901]
    chunks = token_chunks(client, "fake", "a b c", size=4, limit=9)
    assert chunks.prompts == [[900, 901, 0, 1], [900, 901, 2]]
    assert chunks.special_tokens == 2


def test_special_tokens_must_leave_room(client: Client, service: FakeService) -> None:
    service.special_ids = [900, 901]
    with pytest.raises(InvalidArgument, match="it must be at least 3"):
        token_chunks(client, "fake", "a b c", size=2, limit=9)


def test_text_beyond_the_limit_is_neither_sent_nor_tokenized(
    client: Client, service: FakeService
) -> None:
    text = "word " * 200_000  # four parts
    chunks = token_chunks(client, "fake", text, size=10, limit=2)
    assert [len(prompt) for prompt in chunks.prompts] == [10, 10]
    assert not chunks.whole_text
    assert len(service.requests) == 3  # twice for the special tokens, once for the first part


def test_a_text_that_fills_the_limit_exactly_is_whole(client: Client) -> None:
    assert token_chunks(client, "fake", "a b c d", size=2, limit=2).whole_text
