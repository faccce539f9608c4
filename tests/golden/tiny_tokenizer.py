"""A byte-level BPE tokenizer.json in the configuration of SmolLM2's, small enough for a test."""

SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
BOS_ID, _, EOS_ID = range(len(SPECIAL_TOKENS))

# Longer pieces grow from shorter ones; each side is a byte or an earlier result.
_MERGES = (
    "Ġ t|Ġ a|h e|i n|r e|Ġt he|o n|e r|Ġ s|a t|Ġ w|Ġ o|e n|Ġ c|i t|i s|a n|o r|e s|Ġ b|"
    "e d|Ġ f|in g|Ġ p|o u|Ġa n|a l|a r|Ġt o|Ġ m|Ġo f|Ġ in|Ġ d|Ġ h|Ġan d|i c|a s|l e|Ġt h|i on"
)


def _byte_letters():
    """GPT-2's printable letter for each byte value, 256 of them."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {byte: chr(byte) for byte in printable}
    spare = (byte for byte in range(256) if byte not in letters)
    letters.update({byte: chr(256 + index) for index, byte in enumerate(spare)})
    return [letters[byte] for byte in range(256)]


def tokenizer_json(vocab_size):
    """tokenizer.json as a dict: special tokens, 256 bytes, merges, then unused fillers.

    `vocab_size` is at least 299 (3 + 256 + 40); ids below it all have a token.
    """
    merges = _MERGES.split("|")
    names = [*SPECIAL_TOKENS, *_byte_letters(), *(merge.replace(" ", "") for merge in merges)]
    if vocab_size < len(names):
        raise ValueError(f"vocab_size is {vocab_size}, but the tokenizer needs {len(names)} ids")
    names += [f"<|unused_{index}|>" for index in range(vocab_size - len(names))]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added_token(id, name) for id, name in enumerate(SPECIAL_TOKENS)],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Digits", "individual_digits": True},
                _byte_level(add_prefix_space=False),
            ],
        },
        "post_processor": None,
        "decoder": _byte_level(add_prefix_space=True),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {name: id for id, name in enumerate(names)},
            "merges": merges,
        },
    }


def _byte_level(add_prefix_space):
    return {
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": True,
        "use_regex": True,
    }


def _added_token(id, content):
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": id, "content": content, **flags, "special": True}
