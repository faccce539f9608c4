"""One attention layer's scores, softmax, sum and epilogue: the affine family without matrices.

softmax(s) V comes from the fused kernel; what is added below the line of a denominator is one more
key whose value is zero, and beta sum(V) is a running sum over the positions. So nothing here has
a weight for each pair of positions but the mask of that one more key.
"""

import torch
import torch.nn.functional as functional

from affine_convert.training.decoder_config import AttentionSpec


def alpha_of(logits: torch.Tensor, activation: str) -> torch.Tensor:
    """phi of W_a x, element by element; the clipped form is 0 below -5 and 1 above 5."""
    if activation == "sigmoid":
        return torch.sigmoid(logits)
    return torch.clamp(0.1 * logits + 0.5, 0.0, 1.0)


def _masked(query, key, value, sink):
    """softmax(s) V with one more key of score `sink` (per head) and value 0; any heads' shapes."""
    batch, heads, length, _ = query.shape
    nothing = key.new_zeros(batch, heads, 1, key.shape[-1])
    visible = torch.ones(length, length, dtype=torch.bool, device=query.device).tril()
    causal = torch.zeros(length, length, device=query.device).masked_fill(~visible, -torch.inf)
    extra = sink.float().view(heads, 1, 1).expand(heads, length, 1)
    mask = torch.cat([causal.expand(heads, length, length), extra], dim=-1).to(query.dtype)
    return functional.scaled_dot_product_attention(
        query, torch.cat([key, nothing], 2), torch.cat([value, nothing], 2), attn_mask=mask[None]
    )


def weighted_values(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    spec: AttentionSpec,
    sinks: torch.Tensor | None,
) -> torch.Tensor:
    """Sum of p_j v_j over visible keys, p under the denominator of `spec`; float32.

    query, key, value [batch, heads, length, head_dim], one key for each query head; sinks [heads]
    for `learned_sink` alone.
    """
    if spec.denominator == "softmax":
        attend = functional.scaled_dot_product_attention
        return attend(query, key, value, is_causal=True).float()
    # exp 0 = 1 is what off_by_one adds, exp of the sink what learned_sink adds.
    sink = query.new_zeros(query.shape[1]) if spec.denominator == "off_by_one" else sinks
    return _masked(query, key, value, sink).float()


def affine_sum(
    weighted: torch.Tensor,
    value: torch.Tensor,
    alpha: torch.Tensor,
    alpha_ma: torch.Tensor,
    normalizer: str | int,
) -> torch.Tensor:
    """alpha o + beta sum(V) over visible keys, in float32.

    weighted and value [batch, heads, length, head_dim]; alpha [batch, heads, length]; alpha_ma
    [heads]. N is t + 1 where `normalizer` is "visible", else that number.
    """
    length = value.shape[2]
    sums = value.float().cumsum(dim=2)
    count = float(normalizer) if normalizer != "visible" else None
    if count is None:
        count = torch.arange(1, length + 1, device=value.device, dtype=torch.float32)
    beta = (alpha_ma.view(1, -1, 1) - alpha) / count
    return alpha.unsqueeze(-1) * weighted + beta.unsqueeze(-1) * sums
