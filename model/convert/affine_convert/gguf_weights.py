"""From GGUF tensors to Hugging Face ones: names, and the order of rotary rows."""

import re

import numpy as np

from affine_convert.errors import ConvertError
from affine_convert.floats import encode
from affine_convert.gguf_model import GgufModel
from affine_convert.safetensors_writer import PlannedTensor

_TOP = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_LAYER = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
#: Frequency divisors of Llama-3's rotary scaling; they become `rope_scaling` in config.json.
ROPE_FREQUENCIES = "rope_freqs.weight"


def hugging_face_name(name: str) -> str:
    """The name that a GGUF tensor has in a Hugging Face checkpoint. Raises ConvertError."""
    match = re.fullmatch(r"(?:blk\.(\d+)\.)?(\w+)\.(weight|bias)", name)
    if match:
        layer, part, kind = match.groups()
        known = (_TOP if layer is None else _LAYER).get(part)
        if known:
            return f"{known}.{kind}" if layer is None else f"model.layers.{layer}.{known}.{kind}"
    raise ConvertError(
        f"The GGUF file has the tensor {name}, which a plain Llama or Qwen2 lacks. "
        "Convert a model of one of these kinds."
    )


def permute(rows: np.ndarray, heads: int) -> np.ndarray:
    """Rows [heads * d, ...] from halves (i, i + d/2) to neighbours (2i, 2i + 1), as in GGUF."""
    halves = rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:])
    return halves.swapaxes(1, 2).reshape(rows.shape)


def unpermute(rows: np.ndarray, heads: int) -> np.ndarray:
    """The inverse of permute: the order that Hugging Face's rotate_half expects."""
    pairs = rows.reshape(heads, rows.shape[0] // heads // 2, 2, *rows.shape[1:])
    return pairs.swapaxes(1, 2).reshape(rows.shape)


def _load(model: GgufModel, name: str, dtype: str) -> np.ndarray:
    values = model.load(name)
    heads = {
        "attn_q": model.hyper("attention.head_count"),
        "attn_k": model.hyper("attention.head_count_kv", model.hyper("attention.head_count")),
    }
    part = name.split(".")[-2]
    # llama.cpp rotates neighbours in `llama` models and halves in `qwen2` ones.
    if model.architecture == "llama" and part in heads:
        values = unpermute(values, heads[part])
    if not np.isfinite(values).all():
        raise ConvertError(f"{name} holds NaN or infinity. Take another file of the model.")
    return encode(values, dtype)


def plan_weights(model: GgufModel, dtype: str) -> list[PlannedTensor]:
    """All tensors of the checkpoint, to be stored as `dtype` (F32 or BF16)."""
    return [
        PlannedTensor(
            hugging_face_name(name),
            dtype,
            model.shape(name),
            lambda name=name: _load(model, name, dtype),
        )
        for name in model.tensor_names()
        if name != ROPE_FREQUENCIES
    ]
