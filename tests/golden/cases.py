"""The golden cases: which tiny checkpoints there are, and what each of them is there to show.

Per architecture all 18 members of the attention family (3 denominators x affine or not x 3 gates),
spread over four geometries, then a few more for what the 18 leave out.
"""

import dataclasses
import itertools

ARCHITECTURES = ("llama", "qwen2")
DENOMINATORS = ("softmax", "off_by_one", "learned_sink")
GATES = ("none", "headwise", "elementwise")

MAX_POSITIONS = 256
FIXED_NORMALIZER = 128  # longer than any golden sequence, prompt and continuation together
GREEDY_TOKENS = 16

LINEAR_VISIBLE = {"alpha_activation": "linear_clipping", "normalizer": "visible"}
LINEAR_FIXED = {"alpha_activation": "linear_clipping", "normalizer": FIXED_NORMALIZER}
SIGMOID_VISIBLE = {"alpha_activation": "sigmoid", "normalizer": "visible"}
SIGMOID_FIXED = {"alpha_activation": "sigmoid", "normalizer": FIXED_NORMALIZER}

# Low frequencies are stretched from 64 positions on, so that a prompt of 80 tokens meets all of
# the three ranges: kept, interpolated and stretched.
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}


LINEAR_ROPE = {"rope_type": "linear", "factor": 2.0}


@dataclasses.dataclass(frozen=True)
class Geometry:
    """Sizes of a tiny decoder. `heads * head_dim` need not be `hidden`."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    tied: bool


GEOMETRIES = (
    Geometry(64, 2, 4, 4, 16, 96, 320, tied=True),  # every head its own keys
    Geometry(96, 2, 6, 3, 16, 160, 384, tied=False),  # 2 heads a group
    Geometry(48, 3, 3, 1, 64, 80, 512, tied=True),  # 3 heads a group, 192 columns from 48
    Geometry(72, 2, 6, 2, 16, 104, 331, tied=False),  # 96 columns from 72, an odd vocabulary
)


@dataclasses.dataclass(frozen=True)
class Case:
    """One tiny checkpoint; everything in it follows from these fields."""

    name: str
    seed: int
    architecture: str
    geometry: Geometry
    denominator: str = "softmax"
    affine: dict | None = None
    gate: str = "none"
    rope_scaling: dict | None = None
    rope_theta: float = 10000.0
    alpha_ma_per_head: bool = True  # False: one mean for the whole layer, shape [1]
    attention_bias: bool = False  # Llama only: biases on q, k, v and o (Qwen2 always has q, k, v)
    mlp_bias: bool = False  # Llama only
    newer_spelling: bool = False  # rope_parameters and dtype for rope_* and torch_dtype
    shards: int = 1  # files that the tensors are spread over; 1 writes no index

    def attention(self):
        """The `attention` key of config.json; None leaves it out, which means plain softmax."""
        if (self.denominator, self.affine, self.gate) == ("softmax", None, "none"):
            return None
        return {"denominator": self.denominator, "affine": self.affine, "gate": self.gate}


def _family(architecture, seed):
    members = itertools.product(DENOMINATORS, (None, LINEAR_VISIBLE), GATES)
    for index, (denominator, affine, gate) in enumerate(members):
        scale = "affine" if affine else "unscaled"
        yield Case(
            name=f"{architecture}-{denominator}-{scale}-{gate}",
            seed=seed + index,
            architecture=architecture,
            geometry=GEOMETRIES[(index + index // 6) % len(GEOMETRIES)],
            denominator=denominator,
            affine=affine,
            gate=gate,
        )


def _extras(architecture, seed):
    def extra(offset, what, geometry, **fields):
        return Case(f"{architecture}-{what}", seed + offset, architecture, geometry, **fields)

    small, grouped, wide, odd = GEOMETRIES
    yield extra(0, "sigmoid", grouped, affine=SIGMOID_VISIBLE)
    yield extra(
        1, "sigmoid-fixed", wide, denominator="learned_sink", affine=SIGMOID_FIXED, gate="headwise"
    )
    yield extra(
        2, "clipped-fixed", odd, denominator="off_by_one", affine=LINEAR_FIXED, gate="elementwise"
    )
    yield extra(3, "shared-mean", small, affine=LINEAR_VISIBLE, alpha_ma_per_head=False)
    yield extra(4, "shards", grouped, affine=LINEAR_VISIBLE, shards=2)
    yield extra(5, "rope-theta", odd, affine=LINEAR_VISIBLE, rope_theta=100000.0)
    yield extra(6, "rope-llama3", wide, rope_scaling=LLAMA3_ROPE)
    yield extra(7, "rope-llama3-affine", grouped, affine=LINEAR_VISIBLE, rope_scaling=LLAMA3_ROPE)
    yield extra(8, "rope-linear", small, rope_scaling=LINEAR_ROPE, newer_spelling=True)
    if architecture == "llama":
        yield extra(9, "biases", odd, affine=LINEAR_VISIBLE, attention_bias=True, mlp_bias=True)


def all_cases():
    """Every case, in a fixed order; seeds never repeat."""
    cases = []
    for index, architecture in enumerate(ARCHITECTURES):
        base = 1000 * (index + 1)
        cases += [*_family(architecture, base), *_extras(architecture, base + 100)]
    return tuple(cases)


def case_named(name):
    """The case of that name; KeyError otherwise."""
    return {case.name: case for case in all_cases()}[name]
