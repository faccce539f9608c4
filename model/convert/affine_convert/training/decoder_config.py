"""The parts of config.json that a forward pass depends on."""

from dataclasses import dataclass, replace

from affine_convert.errors import ConvertError

_DENOMINATORS = ("softmax", "off_by_one", "learned_sink")
_GATES = ("none", "headwise", "elementwise")
_ACTIVATIONS = ("linear_clipping", "sigmoid")
_ROPE_TYPES = ("default", "linear", "llama3")


@dataclass(frozen=True)
class AttentionSpec:
    """The `attention` key: which member of the family the checkpoint is."""

    denominator: str = "softmax"
    activation: str | None = None  # of alpha; None where attention is not affine
    normalizer: str | int | None = None  # "visible", or a fixed number of tokens
    gate: str = "none"

    @property
    def affine(self) -> bool:
        """Whether weights are alpha p + beta."""
        return self.activation is not None

    def to_json(self) -> dict:
        """The value of the `attention` key."""
        affine = {"alpha_activation": self.activation, "normalizer": self.normalizer}
        return {
            "denominator": self.denominator,
            "affine": affine if self.affine else None,
            "gate": self.gate,
        }


@dataclass(frozen=True)
class DecoderConfig:
    """Sizes and kinds of a Llama or Qwen2 decoder."""

    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    positions: int  # most tokens of a sequence
    norm_epsilon: float
    rope_theta: float
    rope_scaling: dict | None
    tied: bool
    attention: AttentionSpec

    def with_attention(self, attention: AttentionSpec) -> "DecoderConfig":
        """The same decoder as another member of the family."""
        return replace(self, attention=attention)

    @property
    def most_tokens(self) -> int:
        """Of one sequence; a fixed normalizer caps it, for weights would turn negative beyond."""
        fixed = self.attention.normalizer
        return min(self.positions, fixed) if isinstance(fixed, int) else self.positions


def _choice(name: str, value: object, allowed: tuple) -> str:
    if value not in allowed:
        raise ConvertError(
            f"config.json: {name} is {value!r}. Allowed is one of "
            f"{', '.join(map(str, allowed))}. Correct the file."
        )
    return value


def _count(config: dict, name: str, absent: int | None = None) -> int:
    value = config.get(name)
    value = absent if value is None else value
    if type(value) is not int or not 1 <= value <= 1 << 27:
        raise ConvertError(
            f"config.json: {name} is {value!r}. Allowed is a number from 1 to {1 << 27}. "
            "Correct the file."
        )
    return value


def read_attention(config: dict) -> AttentionSpec:
    """The `attention` key; absent means plain softmax. Raises ConvertError."""
    attention = config.get("attention") or {}
    affine = attention.get("affine") or {}
    denominator = _choice("denominator", attention.get("denominator", "softmax"), _DENOMINATORS)
    gate = _choice("gate", attention.get("gate", "none"), _GATES)
    if not affine:
        return AttentionSpec(denominator, gate=gate)
    activation = _choice("alpha_activation", affine.get("alpha_activation"), _ACTIVATIONS)
    normalizer = affine.get("normalizer")
    if normalizer != "visible":
        normalizer = _count(affine, "normalizer")
    return AttentionSpec(denominator, activation, normalizer, gate)


def _rope(config: dict) -> tuple[float, dict | None]:
    """Base and scaling, from either spelling that Hugging Face has used."""
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    kind = rope.get("rope_type", rope.get("type", "default"))
    _choice("rope_type", kind, _ROPE_TYPES)
    theta = rope.get("rope_theta", config.get("rope_theta", 10000.0))
    return float(theta), None if kind == "default" else {**rope, "rope_type": kind}


def read_decoder_config(config: dict) -> DecoderConfig:
    """What a forward pass needs of config.json. Raises ConvertError."""
    names = config.get("architectures")
    if names not in (["LlamaForCausalLM"], ["Qwen2ForCausalLM"]):
        raise ConvertError(
            f"config.json: architectures is {names}. Allowed is ['LlamaForCausalLM'] or "
            "['Qwen2ForCausalLM']. Take another checkpoint."
        )
    _choice("hidden_act", config.get("hidden_act", "silu"), ("silu",))
    _choice("use_sliding_window", config.get("use_sliding_window") or False, (False,))
    hidden, heads = _count(config, "hidden_size"), _count(config, "num_attention_heads")
    theta, scaling = _rope(config)
    return DecoderConfig(
        hidden=hidden,
        intermediate=_count(config, "intermediate_size"),
        layers=_count(config, "num_hidden_layers"),
        heads=heads,
        kv_heads=_count(config, "num_key_value_heads", heads),
        head_dim=_count(config, "head_dim", hidden // heads),
        vocab=_count(config, "vocab_size"),
        positions=_count(config, "max_position_embeddings"),
        norm_epsilon=float(config.get("rms_norm_eps", 1e-6)),
        rope_theta=theta,
        rope_scaling=scaling,
        tied=bool(config.get("tie_word_embeddings", False)),
        attention=read_attention(config),
    )
