"""The tensors of a checkpoint folder in torch, checked against what its config asks for."""

from pathlib import Path

import numpy as np
import torch

from affine_convert.affinize import affine_config
from affine_convert.errors import ConvertError
from affine_convert.floats import decode
from affine_convert.output_folder import read_json
from affine_convert.safetensors_reader import StoredTensor, read_folder
from affine_convert.training.decoder_config import (
    DecoderConfig,
    read_attention,
    read_decoder_config,
)

_TORCH = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def _layer_shapes(config: DecoderConfig, layer: int) -> dict[str, tuple[int, ...]]:
    hidden, inner, spec = config.hidden, config.intermediate, config.attention
    query, key = config.heads * config.head_dim, config.kv_heads * config.head_dim
    shapes = {
        "input_layernorm.weight": (hidden,),
        "post_attention_layernorm.weight": (hidden,),
        "self_attn.q_proj.weight": (query, hidden),
        "self_attn.k_proj.weight": (key, hidden),
        "self_attn.v_proj.weight": (key, hidden),
        "self_attn.o_proj.weight": (hidden, query),
        "mlp.gate_proj.weight": (inner, hidden),
        "mlp.up_proj.weight": (inner, hidden),
        "mlp.down_proj.weight": (hidden, inner),
    }
    if spec.affine:
        shapes["self_attn.alpha_proj.weight"] = (config.heads, hidden)
        shapes["self_attn.alpha_ma"] = (config.heads,)
    if spec.denominator == "learned_sink":
        shapes["self_attn.sinks"] = (config.heads,)
    if spec.gate != "none":
        rows = config.heads if spec.gate == "headwise" else query
        shapes["self_attn.gate_proj.weight"] = (rows, hidden)
    return {f"model.layers.{layer}.{name}": shape for name, shape in shapes.items()}


def expected_shapes(config: DecoderConfig) -> dict[str, tuple[int, ...]]:
    """Shapes of all tensors by name, but for biases, which any linear layer may have."""
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (config.vocab, config.hidden),
        "model.norm.weight": (config.hidden,),
    }
    if not config.tied:
        shapes["lm_head.weight"] = (config.vocab, config.hidden)
    for layer in range(config.layers):
        shapes |= _layer_shapes(config, layer)
    return shapes


def _to_torch(tensor: StoredTensor) -> torch.Tensor:
    return torch.from_numpy(decode(np.asarray(tensor.load()), tensor.dtype)).to(
        _TORCH[tensor.dtype]
    )


def _problems(
    shapes: dict[str, tuple[int, ...]], tensors: dict[str, StoredTensor], config: DecoderConfig
) -> list[str]:
    """All that is missing, wrongly shaped or unexpected, one entry each."""
    found = [f"{name} is missing" for name in shapes if name not in tensors]
    for name, tensor in tensors.items():
        if name in shapes:
            one_for_all = name.endswith(".alpha_ma") and tensor.shape == (1,)
            if tensor.shape != shapes[name] and not one_for_all:
                found.append(f"{name} is {list(tensor.shape)}, expected {list(shapes[name])}")
        elif name.endswith(".bias") and f"{name.removesuffix('bias')}weight" in shapes:
            rows = shapes[f"{name.removesuffix('bias')}weight"][0]
            if tensor.shape != (rows,):
                found.append(f"{name} is {list(tensor.shape)}, expected {[rows]}")
        elif not (name == "lm_head.weight" and config.tied) and "rotary_emb" not in name:
            found.append(f"{name} is unexpected")
    return found


def load_weights(folder: Path) -> tuple[DecoderConfig, dict[str, torch.Tensor]]:
    """Config and tensors, each in the type that it is stored in; alpha_ma as float32 [heads]."""
    config = read_decoder_config(read_json(folder / "config.json"))
    tensors = read_folder(folder)
    problems = _problems(expected_shapes(config), tensors, config)
    if problems:
        raise ConvertError(
            f"{folder} does not fit its config.json: {'; '.join(problems)}. Copy it again."
        )
    weights = {name: _to_torch(tensor) for name, tensor in tensors.items()}
    if config.tied:
        weights.pop("lm_head.weight", None)
    for name in [name for name in weights if name.endswith(".alpha_ma")]:
        weights[name] = weights[name].float().expand(config.heads).clone()
    return config, weights


def affinized(
    folder: Path,
    config: DecoderConfig,
    weights: dict[str, torch.Tensor],
    activation: str,
    normalizer: str | int,
) -> tuple[DecoderConfig, dict[str, torch.Tensor]]:
    """What `affinize` would write of `folder`, in memory: the same outputs, alpha = 0.5."""
    attention = read_attention(
        affine_config(read_json(folder / "config.json"), activation, normalizer)
    )
    made = dict(weights)
    for layer in range(config.layers):
        prefix = f"model.layers.{layer}.self_attn."
        made[f"{prefix}o_proj.weight"] = weights[f"{prefix}o_proj.weight"] * 2
        made[f"{prefix}alpha_proj.weight"] = torch.zeros(config.heads, config.hidden)
        made[f"{prefix}alpha_ma"] = torch.full((config.heads,), 0.5)
    return config.with_attention(attention), made
