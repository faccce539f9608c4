"""config.json and generation_config.json from GGUF metadata."""

import math

import numpy as np

from affine_convert.errors import ConvertError
from affine_convert.gguf_model import ARCHITECTURES, GgufModel
from affine_convert.gguf_weights import ROPE_FREQUENCIES


def llama3_divisors(head_dim: int, theta: float, scaling: dict) -> np.ndarray:
    """[head_dim / 2] divisors of the rotary frequencies under `scaling`, in float64."""
    frequencies = theta ** (-np.arange(0, head_dim, 2) / head_dim)
    wavelengths = 2 * math.pi / frequencies  # tokens
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    kept = scaling["original_max_position_embeddings"] / wavelengths
    smooth = np.clip((kept - low) / (high - low), 0.0, 1.0)
    return 1.0 / ((1.0 - smooth) / scaling["factor"] + smooth)


def _llama3_scaling(model: GgufModel, head_dim: int, theta: float) -> dict:
    """What rope_freqs was made from. GGUF keeps the divisors alone, so the known form is tried."""
    divisors = model.load(ROPE_FREQUENCIES).astype(np.float64)
    scaling = {
        "rope_type": "llama3",
        "factor": float(divisors.max()),
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    expected = llama3_divisors(head_dim, theta, scaling)
    if divisors.shape != expected.shape or not np.allclose(divisors, expected, rtol=1e-4):
        raise ConvertError(
            f"{ROPE_FREQUENCIES} is not Llama-3's scaling (low 1, high 4, original length 8192). "
            "Take the model's safetensors files instead."
        )
    return scaling


def _rope_scaling(model: GgufModel, head_dim: int, theta: float) -> dict | None:
    if ROPE_FREQUENCIES in model.tensor_names():
        return _llama3_scaling(model, head_dim, theta)
    kind = model.hyper("rope.scaling.type", "none")
    if kind == "none":
        return None
    if kind == "linear":
        return {"rope_type": "linear", "factor": model.hyper("rope.scaling.factor")}
    raise ConvertError(
        f"rope.scaling.type is {kind!r}. Allowed are none, linear and Llama-3's. "
        "Convert another model."
    )


def _token_ids(model: GgufModel) -> dict:
    """bos, eos and pad ids; eos is a list where chats end with a token of their own."""
    ids = {}
    for ours, theirs in (("bos", "bos"), ("eos", "eos"), ("pad", "padding")):
        token = model.find(f"tokenizer.ggml.{theirs}_token_id")
        if token is not None:
            ids[f"{ours}_token_id"] = token
    end_of_turn = model.find("tokenizer.ggml.eot_token_id")
    if end_of_turn is not None and end_of_turn != ids.get("eos_token_id"):
        ids["eos_token_id"] = [ids.get("eos_token_id", end_of_turn), end_of_turn]
    return ids


def make_config(model: GgufModel, dtype: str) -> dict:
    """config.json; `dtype` is float32 or bfloat16. Raises ConvertError for mixtures of experts."""
    if model.hyper("expert_count", 0) > 0:
        raise ConvertError("The model is a mixture of experts. Allowed are dense models.")
    hidden = model.hyper("embedding_length")
    heads = model.hyper("attention.head_count")
    if not isinstance(heads, int):
        raise ConvertError("attention.head_count differs by layer. Allowed is one number.")
    head_dim = model.hyper("attention.key_length", hidden // heads)
    theta = model.hyper("rope.freq_base", 10000.0)
    names = set(model.tensor_names())
    return {
        "architectures": [ARCHITECTURES[model.architecture]],
        "model_type": model.architecture,
        "attention_bias": "blk.0.attn_q.bias" in names,
        "attention_dropout": 0.0,
        **_token_ids(model),
        "head_dim": head_dim,
        "hidden_act": "silu",
        "hidden_size": hidden,
        "initializer_range": 0.02,
        "intermediate_size": model.hyper("feed_forward_length"),
        "max_position_embeddings": model.hyper("context_length"),
        "mlp_bias": "blk.0.ffn_up.bias" in names,
        "num_attention_heads": heads,
        "num_hidden_layers": model.hyper("block_count"),
        "num_key_value_heads": model.hyper("attention.head_count_kv", heads),
        "rms_norm_eps": model.hyper("attention.layer_norm_rms_epsilon"),
        "rope_scaling": _rope_scaling(model, head_dim, theta),
        "rope_theta": theta,
        "tie_word_embeddings": "output.weight" not in names,
        "torch_dtype": dtype,
        "use_cache": True,
        "vocab_size": model.shape("token_embd.weight")[0],
    }


def make_generation_config(model: GgufModel) -> dict:
    """generation_config.json."""
    return {"_from_model_config": True, **_token_ids(model)}
