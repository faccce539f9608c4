"""Between plain Python values and the messages of affine.v1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from google.protobuf import json_format

from affine_client._proto import completion_pb2 as pb
from affine_client.answers import (
    Alternative,
    Answer,
    Attention,
    Chunk,
    Completion,
    Model,
    TokenLogProb,
    Tokens,
    Usage,
)
from affine_client.errors import InvalidArgument
from affine_client.parameters import CompletionParams, Prompt
from affine_client.stability import StabilitySummary
from affine_client.stability_wire import summary_of

_SAMPLING = frozenset(pb.SamplingParams.DESCRIPTOR.fields_by_name)


def completion_request(prompt: Prompt, params: CompletionParams) -> pb.CompleteRequest:
    """The message; raises InvalidArgument for a value that the wire cannot carry, and TypeError
    for a name that is no parameter."""
    unknown = set(params) - set(CompletionParams.__annotations__)
    if unknown:
        raise TypeError(f"no such parameter: {', '.join(sorted(unknown))}")
    request = pb.CompleteRequest()
    _fill_prompt(request, prompt)
    for name, value in params.items():
        if value is not None:
            fill(request.sampling if name in _SAMPLING else request, name, value)
    return request


def _fill_prompt(request: pb.CompleteRequest, prompt: Prompt) -> None:
    if isinstance(prompt, str):
        assign(request, "text", prompt, "prompt")
    elif prompt and isinstance(prompt[0], Mapping):
        fill(request, "chat", {"messages": [*prompt]})
    else:
        request.token_ids.SetInParent()
        extend(request.token_ids.ids, prompt, "prompt")


def fill(message: Any, name: str, value: Any) -> None:
    """Sets the field `name` of whatever kind, or raises InvalidArgument naming it."""
    field = message.DESCRIPTOR.fields_by_name[name]
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        _fill_map(getattr(message, name), name, value)
    elif field.is_repeated:
        extend(getattr(message, name), [value] if isinstance(value, str) else value, name)
    elif kind is pb.TokenIds.DESCRIPTOR:
        getattr(message, name).SetInParent()  # none at all is not the same as left out
        extend(getattr(message, name).ids, value, name)
    elif kind is not None:
        try:
            json_format.ParseDict(value, getattr(message, name))
        except (json_format.ParseError, AttributeError, TypeError) as problem:
            raise InvalidArgument(f"{name} is {value!r:.80}: {problem}") from None
        getattr(message, name).SetInParent()
    else:
        assign(message, name, value, name)


def _fill_map(target: Any, name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise InvalidArgument(f"{name} is {value!r:.80}: it must be a dict")
    for key, item in value.items():
        try:
            target[key] = item
        except (ValueError, TypeError, UnicodeError) as problem:
            raise InvalidArgument(f"{name}[{key!r:.40}] is {item!r:.80}: {problem}") from None


def assign(message: Any, field: str, value: Any, name: str) -> None:
    """Sets a field, or raises InvalidArgument naming it when the wire cannot carry the value."""
    try:
        setattr(message, field, value)
    except (ValueError, TypeError, UnicodeError) as problem:
        raise InvalidArgument(f"{name} is {value!r:.80}: {problem}") from None


def extend(target: Any, values: Iterable[Any], name: str) -> None:
    """Extends a list, or raises InvalidArgument naming the first value that does not fit."""
    for index, value in enumerate(values):
        try:
            target.append(value)
        except (ValueError, TypeError, UnicodeError) as problem:
            raise InvalidArgument(f"{name}[{index}] is {value!r:.80}: {problem}") from None


def completion_of(answer: pb.CompleteResponse) -> Completion:
    return Completion(
        text=answer.text,
        token_ids=tuple(answer.token_ids),
        finish_reason=_finish_reason(answer.finish_reason) or "",
        usage=_usage(answer.usage),
        model=answer.model,
        request_id=answer.request_id,
        logprobs=_scored(answer.logprobs),
        prompt_logprobs=_scored(answer.prompt_logprobs),
        prompt_token_ids=tuple(answer.prompt_token_ids),
        stability=_stability(answer),
        other_answers=tuple(_answer(other) for other in answer.other_answers),
    )


def _answer(answer: pb.Answer) -> Answer:
    return Answer(
        text=answer.text,
        token_ids=tuple(answer.token_ids),
        finish_reason=_finish_reason(answer.finish_reason) or "",
        logprobs=_scored(answer.logprobs),
        stability=_stability(answer),
    )


def _stability(
    answer: pb.CompleteResponse | pb.CompleteChunk | pb.Answer,
) -> StabilitySummary | None:
    return summary_of(answer.stability) if answer.HasField("stability") else None


def chunk_of(chunk: pb.CompleteChunk) -> Chunk:
    return Chunk(
        text=chunk.text,
        token_ids=tuple(chunk.token_ids),
        logprobs=_scored(chunk.logprobs),
        prompt_logprobs=_scored(chunk.prompt_logprobs),
        prompt_token_ids=tuple(chunk.prompt_token_ids),
        model=chunk.model,
        request_id=chunk.request_id,
        finish_reason=_finish_reason(chunk.finish_reason),
        usage=_usage(chunk.usage) if chunk.HasField("usage") else None,
        stability=_stability(chunk),
        index=chunk.index,
    )


def tokens_of(answer: pb.TokenizeResponse) -> Tokens:
    return Tokens(tuple(answer.ids), tuple(answer.tokens), answer.max_model_len)


def model_of(model: pb.ModelDescription) -> Model:
    special = ("attention", "bos_token_id", "eos_token_ids")
    plain = {f.name: getattr(model, f.name) for f in fields(Model) if f.name not in special}
    return Model(
        **plain,
        attention=Attention(
            denominator=model.attention.denominator,
            alpha_activation=model.attention.alpha_activation,
            fixed_normalizer=model.attention.fixed_normalizer or None,
            gate=model.attention.gate,
        ),
        bos_token_id=model.bos_token_id if model.HasField("bos_token_id") else None,
        eos_token_ids=tuple(model.eos_token_ids),
    )


def _finish_reason(reason: int) -> str | None:
    if reason == pb.FINISH_REASON_UNSPECIFIED:
        return None
    return str(pb.FinishReason.Name(reason)).removeprefix("FINISH_REASON_").lower()


def _usage(usage: pb.Usage) -> Usage:
    return Usage(usage.prompt_tokens, usage.cached_tokens, usage.output_tokens)


def _scored(tokens: Iterable[pb.TokenLogProb]) -> tuple[TokenLogProb, ...]:
    return tuple(
        TokenLogProb(
            id=token.id,
            logprob=token.logprob,
            rank=token.rank,
            text=token.text,
            top=_alternatives(token.top),
            chosen=_alternatives(token.chosen),
        )
        for token in tokens
    )


def _alternatives(tokens: Iterable[pb.TokenLogProb.Alternative]) -> tuple[Alternative, ...]:
    return tuple(Alternative(token.id, token.logprob, token.text) for token in tokens)
