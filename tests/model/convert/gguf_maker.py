"""Small GGUF files with random weights, as llama.cpp's converter would write them."""

from pathlib import Path

import gguf
import numpy as np
from affine_convert.gguf_weights import permute

HIDDEN, INNER, HEADS, KV_HEADS, DIM = 16, 24, 4, 2, 4
TOKENS = ["a", "b", "ab", "<s>", "</s>", "[PAD5]"]
_TYPES = [1, 1, 1, 3, 3, 5]


def write_gguf(
    path: Path,
    architecture: str = "llama",
    pre: str = "llama-bpe",
    tensors: dict[str, np.ndarray] | None = None,
    **keys,
) -> dict[str, np.ndarray]:
    """Writes one layer; `tensors` and `keys` (of the architecture) are added.

    Returns the weights under their GGUF names, rows of q and k in Hugging Face's order.
    """
    random = np.random.default_rng(3)
    shapes = {
        "token_embd.weight": (len(TOKENS), HIDDEN),
        "output_norm.weight": (HIDDEN,),
        "blk.0.attn_norm.weight": (HIDDEN,),
        "blk.0.ffn_norm.weight": (HIDDEN,),
        "blk.0.attn_q.weight": (HEADS * DIM, HIDDEN),
        "blk.0.attn_k.weight": (KV_HEADS * DIM, HIDDEN),
        "blk.0.attn_v.weight": (KV_HEADS * DIM, HIDDEN),
        "blk.0.attn_output.weight": (HIDDEN, HEADS * DIM),
        "blk.0.ffn_gate.weight": (INNER, HIDDEN),
        "blk.0.ffn_up.weight": (INNER, HIDDEN),
        "blk.0.ffn_down.weight": (HIDDEN, INNER),
    }
    weights = {
        name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()
    }
    weights |= tensors or {}
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(5000000.0)
    for key, value in keys.items():
        add = writer.add_string if isinstance(value, str) else writer.add_uint32
        add(f"{architecture}.{key}", value)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(TOKENS)
    writer.add_token_types(_TYPES)
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(3)
    writer.add_eos_token_id(4)
    heads = {"attn_q": HEADS, "attn_k": KV_HEADS}
    for name, values in weights.items():
        part = name.split(".")[-2]
        permuted = architecture == "llama" and part in heads
        writer.add_tensor(name, permute(values, heads[part]) if permuted else values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return weights
