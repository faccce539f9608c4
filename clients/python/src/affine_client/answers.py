"""What the server answers, as plain data. Field meanings are those of affine.v1."""

from __future__ import annotations

from dataclasses import dataclass, field

from affine_client.stability import StabilitySummary


@dataclass(frozen=True)
class Alternative:
    id: int
    logprob: float
    text: str


@dataclass(frozen=True)
class TokenLogProb:
    """A token under the model's own distribution, which no parameter of sampling changes."""

    id: int
    logprob: float  # natural logarithm
    rank: int  # 1 is the most likely token
    text: str
    top: tuple[Alternative, ...] = ()  # most likely first
    chosen: tuple[Alternative, ...] = ()  # of logprob_token_ids, in their order


@dataclass(frozen=True)
class Usage:
    prompt_tokens: int
    cached_tokens: int  # of the prompt's, found in the cache
    output_tokens: int


@dataclass(frozen=True)
class Chunk:
    """A settled piece of an answer; texts and ids of all its pieces concatenate to the whole."""

    text: str
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[TokenLogProb, ...] = ()
    prompt_logprobs: tuple[TokenLogProb, ...] = ()  # first piece only
    prompt_token_ids: tuple[int, ...] = ()  # first piece only
    model: str = ""  # first piece only
    request_id: str = ""
    finish_reason: str | None = None  # "stop", "length" or "unstable", an answer's last piece only
    usage: Usage | None = None  # of all answers, the stream's last piece only
    stability: StabilitySummary | None = None  # with `stability`, an answer's last piece only
    index: int = 0  # which answer this is a piece of: [0, n)


@dataclass(frozen=True)
class Answer:
    """One of the answers that `n` asks for."""

    text: str
    token_ids: tuple[int, ...]
    finish_reason: str  # "stop", "length", or "unstable": the attention passed a server's limit
    logprobs: tuple[TokenLogProb, ...] = ()
    stability: StabilitySummary | None = None  # with `stability`


@dataclass(frozen=True)
class Completion:
    """The first, or only, answer, and with `n` above 1 the others."""

    text: str
    token_ids: tuple[int, ...]
    finish_reason: str  # "stop", "length", or "unstable": the attention passed a server's limit
    usage: Usage  # of all answers; the prompt counts once
    model: str
    request_id: str
    logprobs: tuple[TokenLogProb, ...] = ()
    prompt_logprobs: tuple[TokenLogProb, ...] = ()
    prompt_token_ids: tuple[int, ...] = ()
    stability: StabilitySummary | None = None  # with `stability`
    other_answers: tuple[Answer, ...] = ()

    @property
    def answers(self) -> tuple[Answer, ...]:
        """All of them, this one first; with `best_of` the best is first."""
        first = Answer(
            self.text, self.token_ids, self.finish_reason, self.logprobs, self.stability
        )
        return (first, *self.other_answers)


@dataclass(frozen=True)
class Tokens:
    ids: tuple[int, ...]
    pieces: tuple[str, ...]  # each token alone, invalid UTF-8 replaced by U+FFFD
    max_model_len: int


@dataclass(frozen=True)
class Attention:
    denominator: str  # "softmax", "off_by_one" or "learned_sink"
    alpha_activation: str  # "none", "linear_clipping" or "sigmoid"
    fixed_normalizer: int | None  # N of affine scaling; None: the number of visible keys
    gate: str  # "none", "headwise" or "elementwise"

    @property
    def description(self) -> str:
        """In words, on one line."""
        parts = [f"{self.denominator} denominator"]
        if self.alpha_activation != "none":
            over = self.fixed_normalizer or "visible keys"
            parts.append(f"affine ({self.alpha_activation}, N = {over})")
        if self.gate != "none":
            parts.append(f"{self.gate} gate")
        return ", ".join(parts)


@dataclass(frozen=True)
class Model:
    name: str
    architecture: str
    dtype: str
    device: str
    attention: Attention
    vocab_size: int
    max_model_len: int  # prompt and output tokens together
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    hidden_size: int
    num_parameters: int
    block_size: int  # tokens in a cache block
    num_blocks: int
    block_bytes: int  # of one block over all layers
    weight_bytes: int
    bos_token_id: int | None
    server_version: str
    eos_token_ids: tuple[int, ...] = field(default=())
    weights: str = ""  # of linear layers: a dtype, "int8" or "int4"; empty: an older server

    @property
    def precision(self) -> str:
        """Type of the computation and, where it is another, of the weights."""
        if self.weights in ("", self.dtype):
            return self.dtype
        return f"{self.dtype}, weights in {self.weights}"
