"""Compares the tokenizer with the `tokenizers` package, id for id.

    python compare_with_hf.py --program BUILD/tests/model/tokenizer/tokenize_lines
        [--lines 100000] [--seed 1] [--speed FILE] [CHECKPOINT ...]

Needs the package tokenizers. Trains small vocabularies in the configuration of Llama-3, Qwen2.5 and
SmolLM2, and one whose added tokens use every flag; takes the real tokenizer.json of each CHECKPOINT
folder besides. For each record of mixed text (mixed_text.py) the ids with and without special
tokens and both decodings must be equal. Prints a table and exits 1 on any mismatch. --speed
measures both, single-threaded, on a file of ordinary text.
"""

import argparse
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")

import tokenizers  # noqa: E402
from mixed_text import MixedText, training_lines  # noqa: E402

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": True,
}
PLAIN_BYTE_LEVEL = dict(BYTE_LEVEL, use_regex=False)


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def added(content, special=True, **flags):
    return {
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": special,
        **flags,
    }


def begin_with(token, token_id):
    return {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": token, "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {token: {"id": token, "ids": [token_id], "tokens": [token]}},
    }


CHAT = [added("<|endoftext|>"), added("<|im_start|>"), added("<|im_end|>")]
FAMILIES = {
    "llama3": dict(
        vocabulary=8000,
        normalizer=None,
        pre_tokenizer=sequence(split(LLAMA3), PLAIN_BYTE_LEVEL),
        added=[
            added("<|begin_of_text|>"),
            added("<|end_of_text|>"),
            added("<|eot_id|>"),
            *(added(f"<|reserved_special_token_{i}|>") for i in range(20)),
        ],
        ignore_merges=True,
        bos="<|begin_of_text|>",
    ),
    "qwen2.5": dict(
        vocabulary=6000,
        normalizer={"type": "NFC"},
        pre_tokenizer=sequence(split(QWEN2), PLAIN_BYTE_LEVEL),
        added=CHAT
        + [
            added(t, special=False)
            for t in ("<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_pad|>")
        ],
    ),
    "smollm2": dict(
        vocabulary=4000,
        normalizer=None,
        pre_tokenizer=sequence({"type": "Digits", "individual_digits": True}, BYTE_LEVEL),
        added=CHAT,
    ),
    "added-token flags": dict(
        vocabulary=2000,
        normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}]},
        pre_tokenizer=sequence(
            {"type": "Digits", "individual_digits": False},
            {
                "type": "Split",
                "pattern": {"String": "="},
                "behavior": "MergedWithNext",
                "invert": False,
            },
            dict(BYTE_LEVEL, add_prefix_space=True),
        ),
        added=CHAT
        + [
            added("<l>", lstrip=True),
            added("<r>", rstrip=True),
            added("<b>", special=False, lstrip=True, rstrip=True),
            added("the", special=False, single_word=True),
            added("e\u0301", special=False, normalized=True),
            added("\u212b", special=False, normalized=True),
            added("<|im_start|>!", special=False, normalized=True),
            added("n\u0303", special=False),
            added("는", special=False, normalized=True, single_word=True),
        ],
    ),
}


def train(family, lines):
    """A tokenizer.json of `family` with a vocabulary trained on `lines`."""
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": family["normalizer"],
        "pre_tokenizer": family["pre_tokenizer"],
        "post_processor": None,
        "decoder": dict(BYTE_LEVEL, add_prefix_space=True),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {},
            "merges": [],
        },
    }
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(document))
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=family["vocabulary"],
        show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(lines, trainer)
    document["model"] = json.loads(tokenizer.to_str())["model"]
    vocabulary = document["model"]["vocab"]
    if family.get("ignore_merges"):
        document["model"]["ignore_merges"] = True
        for word in (
            "Ġthatit",
            "naÃ¯ve",
            "Ð¼Ð¾ÑģÐºÐ²Ð°",
            "SCREAMING",
            "ĠÐ¹Ð¾Ð´",
        ):  # out of reach of the merges
            vocabulary.setdefault(word, len(vocabulary))
    next_id = len(vocabulary)
    for token in family["added"]:
        known = vocabulary.get(token["content"])
        document["added_tokens"].append({"id": next_id if known is None else known, **token})
        next_id += known is None
    if "bos" in family:
        bos = next(t["id"] for t in document["added_tokens"] if t["content"] == family["bos"])
        document["post_processor"] = {
            "type": "Sequence",
            "processors": [BYTE_LEVEL, begin_with(family["bos"], bos)],
        }
    return document


def pack(records):
    return b"".join(struct.pack("<I", len(r)) + r for r in records)


def drive(program, folder, records, *flags):
    return subprocess.run(
        [program, folder, *flags], input=pack(records), capture_output=True, check=True
    )


def reference_lines(tokenizer, records):
    """What tokenize_lines prints, from the tokenizers package."""
    texts = [r.decode(errors="replace") for r in records]
    bare = [e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=False)]
    full = bare
    if tokenizer.num_special_tokens_to_add(is_pair=False) > 0:
        full = [e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=True)]
    whole = tokenizer.decode_batch(full, skip_special_tokens=False)
    short = tokenizer.decode_batch(full, skip_special_tokens=True)
    for b, f, w, s in zip(bare, full, whole, short):
        ids = [" ".join(map(str, [*numbers, ""])) for numbers in (b, f)]
        yield "|".join([*ids, w.encode().hex(), s.encode().hex()])


def compare(name, folder, program, count, seed):
    """Compares one tokenizer.json; prints its row and returns the number of mismatches."""
    path = folder / "tokenizer.json"
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokens = [t["content"] for t in json.loads(path.read_text())["added_tokens"]]
    text = MixedText(seed, tokens or ["<none>"])
    start = time.monotonic()
    mismatches = lines = tokens_seen = 0
    while lines < count:
        records = [text.record() for _ in range(min(20000, count - lines))]
        actual = drive(program, folder, records).stdout.decode().splitlines()
        if len(actual) != len(records):
            raise SystemExit(f"{name}: {len(actual)} answers to {len(records)} records")
        for record, mine, theirs in zip(records, actual, reference_lines(tokenizer, records)):
            tokens_seen += theirs.count(" ", 0, theirs.index("|"))
            if mine != theirs:
                mismatches += 1
                if mismatches <= 3:
                    print(
                        f"{name}: {record!r}\n  ours   {mine}\n  theirs {theirs}", file=sys.stderr
                    )
        lines += len(records)
    print(
        f"{name:20} {lines:8} {tokens_seen:10} {mismatches:10} {time.monotonic() - start:8.1f}",
        flush=True,
    )
    return mismatches


def measure(name, folder, program, text_path):
    """Prints the MB per processor second of both, single-threaded, on 4 KB pieces of one text."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    data = pathlib.Path(text_path).read_bytes()
    pieces = [data[i : i + 4096] for i in range(0, len(data), 4096)]
    size, _, ours = drive(program, folder, pieces, "--time").stderr.split()
    texts = [piece.decode(errors="replace") for piece in pieces]
    start = time.process_time()
    for text in texts:
        tokenizer.encode(text, add_special_tokens=False)
    theirs = time.process_time() - start
    megabytes = int(size) / 1e6
    print(
        f"{name:20} {megabytes / float(ours):8.1f} MB/s,"
        f" tokenizers {megabytes / theirs:8.1f} MB/s",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", required=True)
    parser.add_argument("--lines", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--speed", metavar="FILE")
    parser.add_argument("checkpoints", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folders = {}
        lines = training_lines(arguments.seed)
        documents = {name: train(family, lines) for name, family in FAMILIES.items()}
        for i, (name, document) in enumerate(documents.items()):
            folders[name] = pathlib.Path(temporary) / str(i)
            folders[name].mkdir()
            (folders[name] / "tokenizer.json").write_text(
                json.dumps(document, ensure_ascii=i % 2 == 0)
            )
        for folder in arguments.checkpoints:
            folders[folder.name] = folder
        print(f"{'family':20} {'lines':>8} {'tokens':>10} {'mismatches':>10} {'seconds':>8}")
        mismatches = sum(
            compare(name, folder, arguments.program, arguments.lines, arguments.seed)
            for name, folder in folders.items()
        )
        if arguments.speed:
            for name, folder in folders.items():
                measure(name, folder, arguments.program, arguments.speed)
    return 1 if mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
