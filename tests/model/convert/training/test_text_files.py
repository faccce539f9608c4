"""Windows of text, and their order."""

import numpy as np
import pytest
from affine_convert.errors import ConvertError
from affine_convert.training.text_files import (
    TokenWindows,
    load_tokenizer,
    read_tokens,
    windows_of,
)


def test_windows_follow_each_other_and_overlap_by_the_target_of_the_last():
    assert windows_of(np.arange(8), 3).tolist() == [[0, 1, 2, 3], [3, 4, 5, 6]]
    assert windows_of(np.arange(3), 3).shape == (0, 4)


def batches(seed, steps, batch=2):
    files = [np.arange(0, 41), np.arange(100, 121)]
    windows = TokenWindows(files, 10, batch, seed)
    assert len(windows) == 6
    return [windows.batch(step).tolist() for step in steps]


def test_the_batch_of_a_step_depends_on_seed_and_step_alone():
    assert batches(1, range(9)) == batches(1, range(9))
    assert batches(1, [7]) == batches(1, range(9))[7:8]
    assert batches(1, range(9)) != batches(2, range(9))


def test_an_epoch_sees_each_window_once_and_the_next_in_another_order():
    starts = [[window[0] for batch in batches(1, steps) for window in batch]
              for steps in (range(3), range(3, 6))]  # fmt: skip
    assert sorted(starts[0]) == sorted(starts[1]) == [0, 10, 20, 30, 100, 110]
    assert starts[0] != starts[1]


def test_a_batch_may_span_two_epochs():
    (first, second) = batches(1, [0, 1], batch=4)
    assert len(first) == len(second) == 4


def test_texts_shorter_than_a_window_are_refused():
    with pytest.raises(ConvertError, match="fewer than --length = 10 tokens"):
        TokenWindows([np.arange(10)], 10, 1, 0)


def test_special_tokens_in_a_text_count_as_such(plain, tmp_path):
    (tmp_path / "a.txt").write_text("a<|endoftext|>b")
    found = read_tokens(load_tokenizer(plain), tmp_path / "a.txt")
    assert found.tolist()[1] == 0 and len(found) == 3


def test_files_that_cannot_be_read_are_named(plain, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"ab\xff")
    with pytest.raises(ConvertError, match="bad.txt is not UTF-8 at byte 2"):
        read_tokens(load_tokenizer(plain), tmp_path / "bad.txt")
    with pytest.raises(ConvertError, match="tokenizer.json is missing"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ConvertError, match="no readable tokenizer"):
        load_tokenizer(tmp_path)
