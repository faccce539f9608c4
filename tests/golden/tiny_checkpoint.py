"""Makes the golden cases' checkpoints from their seeds, with numpy alone.

    python tiny_checkpoint.py FOLDER [CASE ...]

writes FOLDER/CASE/{config.json, generation_config.json, model.safetensors, tokenizer.json,
tokenizer_config.json} for the cases named, or for all. Also here: the prompt of a case, and the
identity that turns a plain checkpoint into an affine one with the same outputs.
"""

import argparse
import dataclasses
import hashlib
import json
import math
import pathlib

from cases import MAX_POSITIONS, all_cases, case_named
from normal_stream import NormalStream
from safetensors_file import read_checkpoint, write_shards
from tiny_tokenizer import BOS_ID, EOS_ID, SPECIAL_TOKENS, tokenizer_json

# Standard deviations of W_a x by head. alpha = 0.1 x + 0.5 within [-5, 5]: the small ones stay
# between 0 and 1, the large ones are at exactly 0 or 1 for most tokens.
_ALPHA_STDS = (3.0, 12.0, 5.0, 1.0, 25.0, 4.0)


def config(case):
    """config.json of a case."""
    geometry = case.geometry
    fields = {
        "architectures": [_ARCHITECTURE_NAMES[case.architecture]],
        "model_type": case.architecture,
        "vocab_size": geometry.vocab,
        "hidden_size": geometry.hidden,
        "intermediate_size": geometry.intermediate,
        "num_hidden_layers": geometry.layers,
        "num_attention_heads": geometry.heads,
        "num_key_value_heads": geometry.kv_heads,
        "hidden_act": "silu",
        "max_position_embeddings": MAX_POSITIONS,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": geometry.tied,
        "bos_token_id": BOS_ID,
        "eos_token_id": EOS_ID,
    }
    if geometry.head_dim * geometry.heads != geometry.hidden:
        fields["head_dim"] = geometry.head_dim
    rope = {"rope_theta": case.rope_theta}
    if case.newer_spelling:
        scaling = case.rope_scaling or {"rope_type": "default"}
        fields |= {"rope_parameters": rope | scaling, "dtype": "float32"}
    else:
        fields |= rope | {"rope_scaling": case.rope_scaling, "torch_dtype": "float32"}
    if case.architecture == "llama":
        fields |= {"attention_bias": case.attention_bias, "mlp_bias": case.mlp_bias}
    else:
        fields |= {"use_sliding_window": False}
    if case.attention() is not None:
        fields["attention"] = case.attention()
    return fields


_ARCHITECTURE_NAMES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM"}


def tensors(case):
    """The case's weights by name, all float32, drawn in this order.

    Every projection's input has about unit variance, so a std of s / sqrt(columns) gives outputs
    of std s. Scores get a std near 1.5 and logits one near 2: neither flat nor one-hot.
    """
    stream = NormalStream(case.seed)
    geometry = case.geometry

    def projection(rows, columns, std):
        return stream.normal((rows, columns), std / math.sqrt(columns))

    def norm():
        return stream.normal((geometry.hidden,), 0.2, mean=1.0)

    weights = {"model.embed_tokens.weight": projection(geometry.vocab, geometry.hidden, 2.0)}
    for layer in range(geometry.layers):
        prefix = f"model.layers.{layer}."
        weights[prefix + "input_layernorm.weight"] = norm()
        weights |= _attention_tensors(case, stream, projection, prefix + "self_attn.")
        weights[prefix + "post_attention_layernorm.weight"] = norm()
        for part, rows, columns, std in (
            ("gate_proj", geometry.intermediate, geometry.hidden, 1.5),
            ("up_proj", geometry.intermediate, geometry.hidden, 1.5),
            ("down_proj", geometry.hidden, geometry.intermediate, 0.7),
        ):
            weights[f"{prefix}mlp.{part}.weight"] = projection(rows, columns, std)
            if case.mlp_bias:
                weights[f"{prefix}mlp.{part}.bias"] = stream.normal((rows,), 0.3)
    weights["model.norm.weight"] = norm()
    if not geometry.tied:
        weights["lm_head.weight"] = projection(geometry.vocab, geometry.hidden, 2.0)
    return weights


def _attention_tensors(case, stream, projection, prefix):
    geometry = case.geometry
    hidden, heads = geometry.hidden, geometry.heads
    queries, keys = heads * geometry.head_dim, geometry.kv_heads * geometry.head_dim
    weights = {}
    for part, rows, columns, std in (
        ("q_proj", queries, hidden, 1.2),
        ("k_proj", keys, hidden, 1.2),
        ("v_proj", keys, hidden, 1.2),
        ("o_proj", hidden, queries, 2.0),
    ):
        weights[f"{prefix}{part}.weight"] = projection(rows, columns, std)
        if case.attention_bias or (case.architecture == "qwen2" and part != "o_proj"):
            weights[f"{prefix}{part}.bias"] = stream.normal((rows,), 0.4)
    if case.affine is not None:
        alpha = projection(heads, hidden, 1.0)
        for head in range(heads):
            alpha[head] *= _ALPHA_STDS[head % len(_ALPHA_STDS)]
        weights[prefix + "alpha_proj.weight"] = alpha
        means = (heads,) if case.alpha_ma_per_head else (1,)
        weights[prefix + "alpha_ma"] = stream.uniform(means, 0.1, 0.9)
    if case.denominator == "learned_sink":
        weights[prefix + "sinks"] = stream.uniform((heads,), 0.0, 6.0)  # lse of 80 keys is near 6
    if case.gate != "none":
        rows = heads if case.gate == "headwise" else queries
        weights[prefix + "gate_proj.weight"] = projection(rows, hidden, 2.0)
    return weights


def prompt(case):
    """70 to 100 token ids: the first half any, the second half with repeats of the first."""
    stream = NormalStream(case.seed + 500_000)
    length = 70 + case.seed * 7 % 31
    first = length // 2
    ids = stream.integers(first, case.geometry.vocab)
    fresh = stream.integers(length - first, case.geometry.vocab)
    earlier = stream.integers(length - first, first)
    kinds = stream.integers(length - first, 3)
    repeats = zip(kinds, fresh, earlier, strict=True)
    return ids + [new if kind == 0 else ids[old] for kind, new, old in repeats]


def write(case, folder):
    """Writes the checkpoint of `case` into `folder`, which is made."""
    folder = pathlib.Path(folder)
    weights = tensors(case)
    _write_around(folder, config(case), case.geometry.vocab)
    write_shards(folder, weights, case.shards)


def _write_around(folder, fields, vocab_size):
    folder.mkdir(parents=True, exist_ok=True)
    special = {"bos_token": SPECIAL_TOKENS[BOS_ID], "eos_token": SPECIAL_TOKENS[EOS_ID]}
    for name, content in (
        ("config.json", fields),
        ("generation_config.json", {"bos_token_id": BOS_ID, "eos_token_id": EOS_ID}),
        ("tokenizer.json", tokenizer_json(vocab_size)),
        ("tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **special}),
    ):
        (folder / name).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def write_identity_affine(case, folder):
    """Writes plain `case` as an affine checkpoint of the same outputs: DESIGN's identity.

    W_a = 0 and a mean of 0.5 give alpha = 0.5 and beta = 0; W_o is doubled (exact in binary).
    """
    if case.attention() is not None:
        raise ValueError(f"{case.name} is not a plain softmax case; the identity starts from one")
    affine = {"alpha_activation": "linear_clipping", "normalizer": "visible"}
    weights = tensors(case)
    heads, hidden = case.geometry.heads, case.geometry.hidden
    zeros = 0 * NormalStream(0).normal((heads, hidden))
    for layer in range(case.geometry.layers):
        prefix = f"model.layers.{layer}.self_attn."
        weights[prefix + "o_proj.weight"] *= 2
        weights[prefix + "alpha_proj.weight"] = zeros
        weights[prefix + "alpha_ma"] = zeros[:, 0] + zeros.dtype.type(0.5)
    _write_around(
        pathlib.Path(folder), config(dataclasses.replace(case, affine=affine)), case.geometry.vocab
    )
    write_shards(folder, weights, case.shards)


def fingerprint(folder):
    """sha256 over name, type, shape and bytes of every tensor in a checkpoint folder."""
    digest = hashlib.sha256()
    for name, dtype, shape, data in read_checkpoint(folder):
        digest.update(f"{name} {dtype} {shape}\n".encode())
        digest.update(data)
    return digest.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="names; all when left out")
    arguments = parser.parse_args()
    known = [case.name for case in all_cases()]
    unknown = [name for name in arguments.cases if name not in known]
    if unknown:
        parser.error(f"no case {unknown[0]!r}; there are: {', '.join(known)}")
    for name in arguments.cases or known:
        write(case_named(name), arguments.folder / name)


if __name__ == "__main__":
    main()
