"""A Llama or Qwen2 decoder as a function of its weights, for whole sequences without a cache."""

from collections.abc import Callable

import torch
import torch.nn.functional as functional

from affine_convert.training.affine_attention import affine_sum, alpha_of, weighted_values
from affine_convert.training.decoder_config import DecoderConfig
from affine_convert.training.rotary import Rotary

#: Called with the layer and its alpha [batch, heads, length], float32, detached.
AlphaObserver = Callable[[int, torch.Tensor], None]


class Decoder:
    """The forward pass. Norms, alpha, beta and the residual stream are float32.

    `weights` holds tensors under their checkpoint names. Linear layers compute in `dtype`; a weight
    of another type is converted as it is used, so trainable ones may stay float32.
    """

    def __init__(
        self,
        config: DecoderConfig,
        weights: dict[str, torch.Tensor],
        dtype: torch.dtype,
        length: int,
    ):
        """`length`: most tokens of a sequence."""
        self.config = config
        self.weights = weights
        self._dtype = dtype
        embeddings = weights["model.embed_tokens.weight"]
        self._rotary = Rotary(config, length, str(embeddings.device))

    def hidden(self, ids: torch.Tensor, observe: AlphaObserver | None = None) -> torch.Tensor:
        """Normed last hidden states [batch, length, hidden] of ids [batch, length]."""
        x = functional.embedding(ids, self.weights["model.embed_tokens.weight"]).float()
        for layer in range(self.config.layers):
            prefix = f"model.layers.{layer}."
            normed = self._norm(x, f"{prefix}input_layernorm")
            x = x + self._attention(normed, layer, observe)
            x = x + self._mlp(self._norm(x, f"{prefix}post_attention_layernorm"), f"{prefix}mlp.")
        return self._norm(x, "model.norm")

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """[..., vocab] in float32, of rows of `hidden`."""
        head = "model.embed_tokens" if self.config.tied else "lm_head"
        return self._linear(hidden, head).float()

    def _norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + self.config.norm_epsilon)
        return (x * scale * self.weights[f"{name}.weight"].float()).to(self._dtype)

    def _linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        bias = self.weights.get(f"{name}.bias")
        weight = self.weights[f"{name}.weight"].to(self._dtype)
        return functional.linear(
            x.to(self._dtype), weight, None if bias is None else bias.to(self._dtype)
        )

    def _mlp(self, x: torch.Tensor, prefix: str) -> torch.Tensor:
        gate = functional.silu(self._linear(x, f"{prefix}gate_proj"))
        return self._linear(gate * self._linear(x, f"{prefix}up_proj"), f"{prefix}down_proj")

    def _heads(self, x: torch.Tensor, name: str) -> torch.Tensor:
        """[batch, heads, length, head_dim]"""
        return self._linear(x, name).unflatten(-1, (-1, self.config.head_dim)).transpose(1, 2)

    def _attention(
        self, x: torch.Tensor, layer: int, observe: AlphaObserver | None
    ) -> torch.Tensor:
        prefix, spec = f"model.layers.{layer}.self_attn.", self.config.attention
        group = self.config.heads // self.config.kv_heads
        query = self._rotary.turn(self._heads(x, f"{prefix}q_proj"))
        key = self._rotary.turn(self._heads(x, f"{prefix}k_proj")).repeat_interleave(group, 1)
        value = self._heads(x, f"{prefix}v_proj").repeat_interleave(group, 1)
        output = weighted_values(query, key, value, spec, self.weights.get(f"{prefix}sinks"))
        if spec.affine:
            alpha = self._alpha(x, prefix)
            if observe:
                observe(layer, alpha.detach())
            mean = self.weights[f"{prefix}alpha_ma"].float()
            output = affine_sum(output, value, alpha, mean, spec.normalizer)
        output = output.transpose(1, 2)  # [batch, length, heads, head_dim]
        if spec.gate != "none":
            output = output * self._gate(x, prefix)
        return self._linear(output.flatten(2), f"{prefix}o_proj")

    def _alpha(self, x: torch.Tensor, prefix: str) -> torch.Tensor:
        """[batch, heads, length], in float32 whatever the linear layers compute in."""
        weight = self.weights[f"{prefix}alpha_proj.weight"].float()
        logits = functional.linear(x.float(), weight).transpose(1, 2)
        return alpha_of(logits, self.config.attention.activation)

    def _gate(self, x: torch.Tensor, prefix: str) -> torch.Tensor:
        """sigmoid(W_g x) as [batch, length, heads, head_dim or 1]."""
        size = 1 if self.config.attention.gate == "headwise" else self.config.head_dim
        return torch.sigmoid(self._linear(x, f"{prefix}gate_proj").float()).unflatten(
            -1, (-1, size)
        )
