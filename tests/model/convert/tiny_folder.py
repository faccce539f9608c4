"""A tiny checkpoint folder with random weights."""

import json
from pathlib import Path

import numpy as np
from affine_convert.floats import encode
from affine_convert.safetensors_writer import PlannedTensor, write_safetensors

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "head_dim": 4,
    "hidden_size": 8,
    "intermediate_size": 12,
    "max_position_embeddings": 32,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "num_key_value_heads": 1,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "vocab_size": 16,
}


def shapes(layers: int = CONFIG["num_hidden_layers"]) -> dict[str, tuple[int, ...]]:
    """Shapes of all tensors by name."""
    found: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (16, 8),
        "model.norm.weight": (8,),
        "lm_head.weight": (16, 8),
    }
    for layer in range(layers):
        found |= {
            f"model.layers.{layer}.{name}.weight": shape
            for name, shape in {
                "input_layernorm": (8,),
                "post_attention_layernorm": (8,),
                "self_attn.q_proj": (8, 8),
                "self_attn.k_proj": (4, 8),
                "self_attn.v_proj": (4, 8),
                "self_attn.o_proj": (8, 8),
                "mlp.gate_proj": (12, 8),
                "mlp.up_proj": (12, 8),
                "mlp.down_proj": (8, 12),
            }.items()
        }
    return found


def write_tiny(
    folder: Path,
    dtype: str = "BF16",
    changes: dict | None = None,
    layers: int = CONFIG["num_hidden_layers"],
) -> Path:
    """Writes the folder; `changes` go into its config. `dtype` is F32, F16 or BF16."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(7)
    planned = []
    for name, shape in shapes(layers).items():
        stored = encode(random.standard_normal(shape).astype(np.float32), dtype)
        planned.append(PlannedTensor(name, dtype, shape, lambda stored=stored: stored))
    config = {**CONFIG, "num_hidden_layers": layers, **(changes or {})}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text("{}")
    write_safetensors(folder / "model.safetensors", planned, "tiny")
    return folder
