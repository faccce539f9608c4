"""Traces: the three formats, and what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from affine_client import AffineError
from affine_client.bench.plan import Conversation
from affine_client.bench.trace import TraceReader


def read(tmp_path: Path, *entries: object, speed: float = 1.0) -> list[Conversation]:
    file = tmp_path / "trace.jsonl"
    file.write_text("\n".join(json.dumps(entry) for entry in entries))
    tokenize = lambda text: list(range(len(text.split())))  # noqa: E731
    return TraceReader(5000, "7", tokenize, speed).read(file)


def test_our_own_entries_give_times_lengths_and_beginnings(tmp_path: Path) -> None:
    first, second, third = read(
        tmp_path,
        {"at": 3, "prompt_tokens": 40, "output_tokens": 5, "prefix": "a", "prefix_tokens": 30},
        {"at": 1.5, "prompt_tokens": 35, "prefix": "a", "prefix_tokens": 30, "cancel_after": 2},
        {"at": 4, "prompt": [1, 2, 3], "output_tokens": 1},
        speed=2.0,
    )
    assert [one.at for one in (first, second, third)] == [0.75, 1.5, 2.0]  # in order of time
    (early,), (late,) = first.turns, second.turns
    assert (len(early.ids), early.output_tokens, early.cancel_after) == (35, 64, 2)
    assert (len(late.ids), late.output_tokens) == (40, 5)
    assert early.ids[:30] == late.ids[:30] and early.ids[30:] != late.ids[30:35]
    assert third.turns[0].ids == (1, 2, 3)


def test_lines_of_one_conversation_are_its_turns(tmp_path: Path) -> None:
    talk, other = read(
        tmp_path,
        {"conversation": 1, "prompt": "one two", "output_tokens": 3},
        {"prompt_tokens": 4, "output_tokens": 3},
        {"conversation": 1, "prompt": "three", "output_tokens": 2, "pause": 1.5},
    )
    assert [(turn.ids, turn.pause_s) for turn in talk.turns] == [((0, 1), 0.0), ((0,), 1.5)]
    assert (len(other.turns), talk.at, talk.turns[0].text) == (1, None, "one two")


def test_mooncakes_blocks_are_shared_by_their_hash(tmp_path: Path) -> None:
    one, two = read(
        tmp_path,
        {"timestamp": 0, "input_length": 1100, "output_length": 52, "hash_ids": [46, 47, 48]},
        {"timestamp": 10535, "input_length": 600, "output_length": 26, "hash_ids": [46, 49]},
    )
    assert (one.at, two.at) == (0.0, 10.535)
    long, short = one.turns[0], two.turns[0]
    assert (len(long.ids), len(short.ids), short.output_tokens) == (1100, 600, 26)
    assert long.ids[:512] == short.ids[:512] and long.ids[512:600] != short.ids[512:]


def test_share_gpt_gives_a_turn_for_each_answered_question(tmp_path: Path) -> None:
    messages = [
        {"from": "human", "value": "what is it"},
        {"from": "gpt", "value": "a red one"},
        {"from": "human", "value": "why"},
        {"from": "gpt", "value": "because of that"},
        {"from": "human", "value": "unanswered"},
    ]
    file = tmp_path / "share.json"
    file.write_text(json.dumps([{"id": "x", "conversations": messages}]))
    (talk,) = TraceReader(5000, "7", lambda text: text.encode()).read(file)
    assert [(turn.text, turn.output_tokens) for turn in talk.turns] == [
        ("what is it", 9),
        ("why", 15),
    ]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([{"at": 1}], "entry 1 has no prompt_tokens"),
        ([{"prompt_tokens": 0}], "prompt_tokens is 0; it must be a whole number from 1"),
        ([{"prompt_tokens": 2, "at": -1}], "at is -1"),
        ([{"prompt_tokens": 2, "at": "x"}], "at is 'x'"),
        ([{"prompt_tokens": 2}, {"prompt_tokens": 2, "at": 1}], "a time for some requests"),
        ([{"prompt": []}], "prompt must be a text or token ids"),
        ([{"input_length": 5, "output_length": 1.5}], "output_length is 1.5"),
        ([{"conversations": "x"}], "must be a list of messages"),
        ([{"conversations": []}], "no question with an answer"),
        ([3], "at least one object"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, entries: list[object], said: str) -> None:
    with pytest.raises(AffineError, match=said):
        read(tmp_path, *entries)


def test_a_file_that_is_no_trace_is_named(tmp_path: Path) -> None:
    reader = TraceReader(5000, "7", lambda text: [])
    with pytest.raises(AffineError, match=r"absent\.jsonl cannot be read"):
        reader.read(tmp_path / "absent.jsonl")
    for text in ("{", ""):
        (tmp_path / "odd").write_text(text)
        with pytest.raises(AffineError, match=r"odd (is no JSON|must hold)"):
            reader.read(tmp_path / "odd")
