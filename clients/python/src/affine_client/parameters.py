"""The parameters of a completion: the one place of the package where one is added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

# Text, token ids, or a conversation: messages with `role`, `content` and perhaps `name`.
Prompt = str | Sequence[int] | Sequence[Mapping[str, str]]


class CompletionParams(TypedDict, total=False):
    """Parameters of a completion. One that is left out, or None, takes the server's default,
    which zero does not: `temperature=0` is greedy, `max_tokens=0` computes the prompt alone.
    Units, defaults and limits stand in proto/affine/v1/completion.proto.

    Names are those of the fields of CompleteRequest and SamplingParams there; from the field's kind
    wire.py knows how to send a value: a number or text, a list (of one text also the text alone), a
    map as a dict, token ids as a list, another message as a dict of its fields.
    """

    model: str | None
    max_tokens: int | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    seed: int | None
    min_p: float | None
    typical_p: float | None
    repetition_penalty: float | None
    frequency_penalty: float | None
    presence_penalty: float | None
    logit_bias: Mapping[int, float] | None
    allowed_token_ids: Sequence[int] | None
    bad_words: str | Sequence[str] | None
    min_tokens: int | None
    n: int | None
    best_of: int | None
    stop: str | Sequence[str] | None
    stop_token_ids: Sequence[int] | None
    include_stop_str_in_output: bool | None
    ignore_eos: bool | None
    echo: bool | None
    logprobs: int | None
    prompt_logprobs: int | None
    logprob_token_ids: Sequence[int] | None
    truncate_prompt_tokens: int | None
    structured_output: Mapping[str, Any] | None
    skip_special_tokens: bool | None
    request_id: str | None
    priority: int | None
    cache_salt: str | None
    timeout_ms: int | None
    max_ttft_ms: int | None
    max_time_per_token_ms: float | None
    stability: bool | None
    stability_heads: bool | None
