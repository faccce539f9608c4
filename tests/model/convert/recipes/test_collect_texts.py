"""How texts are cut, split and read."""

import collect_texts
import pytest

BOOK = "".join(f"Paragraph {number}: {'word ' * 150}\n\n" for number in range(400))


def test_blocks_lose_nothing_and_end_with_a_paragraph():
    blocks = list(collect_texts.blocks(BOOK))
    assert "".join(blocks) == BOOK
    assert all(block.endswith("\n\n") for block in blocks)
    assert all(len(block) >= 6000 for block in blocks[:-1])
    assert list(collect_texts.blocks("short")) == ["short"]


@pytest.mark.parametrize("documents", [[BOOK], [BOOK[:9000], BOOK[9000:15000]] * 40])
def test_nothing_is_both_trained_on_and_held_out(documents):
    parts = collect_texts.split("novel", documents)
    assert parts == collect_texts.split("novel", documents)
    pieces = {part: set(text.split("<|endoftext|>")) - {""} for part, text in parts.items()}
    assert pieces["train"] and pieces["held-out"]
    if len(documents) == 1:
        assert not pieces["train"] & pieces["held-out"]
        assert sum(map(len, pieces["train"])) > 3 * sum(map(len, pieces["held-out"]))


def test_a_kind_with_too_much_text_is_thinned_evenly():
    documents = [f"{number:05d} {'x' * 5000}" for number in range(1000)]
    train = collect_texts.split("code", documents)["train"]
    assert 700_000 < len(train) <= 800_000
    numbers = [int(piece[:5]) for piece in train.split("<|endoftext|>") if piece]
    assert numbers[0] < 20 and numbers[-1] > 800


def test_a_page_gives_its_words_without_markup():
    page = collect_texts.HtmlText()
    page.feed(
        "<html><head><title>no</title></head><body><h1>Title</h1>\n\n\n"
        "<p>One &amp; <b>two</b>.</p><script>no()</script><ul><li>a</li><li>b</li></ul></body>"
    )
    assert page.text() == "Title\n\nOne & two.\n\na\n\nb\n"
