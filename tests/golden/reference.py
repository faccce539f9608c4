"""The affine attention family by its definition, on Hugging Face's own Llama and Qwen2 code.

Written to be read beside the paper (arXiv 2602.23057), not to be fast: full weight matrices, no
log-sum-exp, no running sums. Projections, rotary embedding, norms, MLP and head are transformers'.
For query t, head h and visible keys j <= t, with scores s_j = q . k_j / sqrt(d):

    p_j = exp s_j / (sum_i exp s_i + e)    e = 0, 1 or exp(sink_h)
    w_j = alpha p_j + beta                 alpha = phi(W_a x), beta = (mean_alpha - alpha) / N
    o   = sum_j w_j v_j                    then o * sigmoid(W_g x), then the output projection

x is the attention layer's input, after the layer's input norm.
"""

import dataclasses
import json
import pathlib

import safetensors.torch
import torch
import transformers
from transformers.models.llama.modeling_llama import LlamaAttention
from transformers.models.qwen2.modeling_qwen2 import Qwen2Attention

IMPLEMENTATION = "affine_reference"  # the name under which transformers finds attend()


@dataclasses.dataclass(frozen=True)
class AttentionSpec:
    """The `attention` key of config.json."""

    denominator: str = "softmax"
    affine: dict | None = None
    gate: str = "none"


def probabilities(scores, visible, denominator, sinks):
    """p [batch, heads, queries, keys], 0 where not visible.

    scores like p; visible [queries, keys] bool; sinks [heads], for `learned_sink` alone.
    """
    scores = scores.masked_fill(~visible, -torch.inf)
    largest = scores.amax(-1, keepdim=True)
    if denominator == "softmax":
        scaled = torch.exp(scores - largest)
        return scaled / scaled.sum(-1, keepdim=True)
    extra = {"off_by_one": lambda: torch.zeros(1), "learned_sink": lambda: sinks}[denominator]()
    extra = extra.to(scores).view(1, -1, 1, 1)  # the logarithm of what is added below the line
    largest = torch.maximum(largest, extra)
    scaled = torch.exp(scores - largest)
    return scaled / (scaled.sum(-1, keepdim=True) + torch.exp(extra - largest))


def activation(x, name):
    """phi, element by element."""
    if name == "sigmoid":
        return torch.sigmoid(x)
    if name == "linear_clipping":
        return torch.clamp(0.1 * x + 0.5, 0.0, 1.0)
    raise ValueError(f"alpha_activation is {name!r}; allowed: linear_clipping, sigmoid")


def affine_weights(p, visible, alpha, alpha_ma, normalizer):
    """w = alpha p + beta on visible keys, 0 elsewhere; shaped like p.

    alpha [batch, heads, queries]; alpha_ma [heads] or [1]; normalizer "visible" or a number.
    """
    count = visible.sum(-1).to(p) if normalizer == "visible" else float(normalizer)
    beta = (alpha_ma.view(-1, 1) - alpha) / count
    return (alpha.unsqueeze(-1) * p + beta.unsqueeze(-1)) * visible


class AffineAttention:
    """Mixed in before a transformers attention class: the parts that the family adds to it."""

    def __init__(self, config, layer_idx, spec):
        super().__init__(config, layer_idx)
        self.spec = spec
        heads, hidden = config.num_attention_heads, config.hidden_size
        if spec.affine is not None:
            self.alpha_proj = torch.nn.Linear(hidden, heads, bias=False)
            self.alpha_ma = torch.nn.Parameter(torch.zeros(heads))
        if spec.denominator == "learned_sink":
            self.sinks = torch.nn.Parameter(torch.zeros(heads))
        if spec.gate != "none":
            rows = {"headwise": heads, "elementwise": heads * self.head_dim}[spec.gate]
            self.gate_proj = torch.nn.Linear(hidden, rows, bias=False)

    def forward(self, hidden_states, *args, **kwargs):
        self.layer_input = hidden_states  # attend() runs within this call and reads it
        return super().forward(hidden_states, *args, **kwargs)

    def alpha(self, x):
        """alpha [batch, heads, queries] of x [batch, queries, hidden]."""
        return activation(self.alpha_proj(x), self.spec.affine["alpha_activation"]).transpose(1, 2)

    def gate(self, x):
        """sigmoid(W_g x) as [batch, queries, heads, head_dim or 1], or 1 where there is none."""
        if self.spec.gate == "none":
            return 1.0
        size = 1 if self.spec.gate == "headwise" else self.head_dim
        return torch.sigmoid(self.gate_proj(x)).unflatten(-1, (-1, size))


class AffineLlamaAttention(AffineAttention, LlamaAttention):
    pass


class AffineQwen2Attention(AffineAttention, Qwen2Attention):
    pass


def attend(module, query, key, value, attention_mask, scaling, dropout=0.0, **kwargs):
    """transformers' attention interface: (output [batch, queries, heads, head_dim], weights).

    query [batch, heads, queries, head_dim]; key and value the same with key heads and all keys,
    the queries being the last positions. No padding: the causal mask is made here.
    """
    queries, keys = query.shape[2], key.shape[2]
    positions = torch.arange(keys - queries, keys).unsqueeze(1)
    visible = torch.arange(keys) <= positions
    key = key.repeat_interleave(module.num_key_value_groups, dim=1)
    value = value.repeat_interleave(module.num_key_value_groups, dim=1)
    scores = query @ key.transpose(2, 3) * scaling
    spec, x = module.spec, module.layer_input
    weights = probabilities(scores, visible, spec.denominator, getattr(module, "sinks", None))
    if spec.affine is not None:
        normalizer = spec.affine["normalizer"]
        weights = affine_weights(weights, visible, module.alpha(x), module.alpha_ma, normalizer)
    output = (weights @ value).transpose(1, 2) * module.gate(x)
    return output.contiguous(), weights


transformers.AttentionInterface.register(IMPLEMENTATION, attend)


def load_model(folder, dtype=torch.float64):
    """The checkpoint in `folder` as a transformers causal model with the family's attention.

    Every tensor of the checkpoint must have a place and every place a tensor; RuntimeError names
    those that don't.
    """
    folder = pathlib.Path(folder)
    fields = json.loads((folder / "config.json").read_text())
    spec = AttentionSpec(**(fields.get("attention") or {}))
    config = transformers.AutoConfig.from_pretrained(folder)
    config._attn_implementation = IMPLEMENTATION
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    kinds = {"llama": AffineLlamaAttention, "qwen2": AffineQwen2Attention}
    for index, layer in enumerate(model.model.layers):
        layer.self_attn = kinds[config.model_type](config, index, spec)
    tensors = {}
    for path in sorted(folder.glob("*.safetensors")):
        tensors |= safetensors.torch.load_file(path)
    for name in [name for name in tensors if name.endswith(".alpha_ma")]:
        tensors[name] = tensors[name].expand(config.num_attention_heads).clone()
    if config.tie_word_embeddings:
        tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"]
        model.tie_weights()
    model.load_state_dict(tensors, strict=True)
    return model.to(dtype).eval()


@torch.no_grad()
def log_probs(model, ids):
    """[len(ids), vocab]: row t is the log-distribution of the token after ids[: t + 1]."""
    logits = model(torch.tensor([ids]), use_cache=False).logits[0]
    return torch.log_softmax(logits, dim=-1)


def greedy(model, ids, count):
    """Up to `count` (token, log-probability, margin to the runner-up), most likely first.

    The whole sequence is computed anew for each token: no cache to trust.
    """
    ids, drawn = list(ids), []
    for _ in range(count):
        best = torch.topk(log_probs(model, ids)[-1], 2)
        (token, _), (first, second) = best.indices.tolist(), best.values.tolist()
        drawn.append((token, first, first - second))
        ids.append(token)
    return drawn
