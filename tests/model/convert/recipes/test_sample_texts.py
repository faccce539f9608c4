"""The prompts that samples are drawn from."""

import pytest
import sample_texts


def test_prompts_are_different_repeatable_and_end_where_the_assistant_begins():
    prompts = sample_texts.conversation_prompts(600, 1)
    assert prompts == sample_texts.conversation_prompts(600, 1)
    assert prompts != sample_texts.conversation_prompts(600, 2)
    assert len(set(prompts)) == 600
    assert all(prompt.endswith("<|im_start|>assistant\n") for prompt in prompts)


def test_more_prompts_than_there_are_is_refused_with_the_number():
    with pytest.raises(ValueError, match="there are 624 prompts"):
        sample_texts.conversation_prompts(10_000, 1)
