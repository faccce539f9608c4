"""What the server serves, as far as the load test must know: over gRPC, or of any HTTP server."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from affine_client.bench.plan import Conversation
from affine_client.client import Client
from affine_client.errors import AffineError
from affine_client.http_get import fetch_page


@dataclass(frozen=True)
class Served:
    model: str
    vocab_size: int


def served(
    client: Client,
    name: str | None,
    vocab_size: int | None,
    *,
    http: bool,
    api_key: str | None,
) -> Served:
    """Asks over gRPC what the flags leave open, but of a server of `http` and a known vocabulary
    only its /v1/models: it may be one without gRPC."""
    if vocab_size is None:
        model = client.model(name or "")
        return Served(model.name, model.vocab_size)
    if name is None:
        name = first_http_model(client.address, api_key) if http else client.model().name
    return Served(name, vocab_size)


def with_texts(
    client: Client, conversations: Iterable[Conversation], model: str
) -> list[Conversation]:
    """The same with the text of each turn's ids, for chat."""
    return [
        replace(
            conversation,
            turns=tuple(
                turn if turn.text else replace(turn, text=client.detokenize(turn.ids, model=model))
                for turn in conversation.turns
            ),
        )
        for conversation in conversations
    ]


def first_http_model(address: str, api_key: str | None) -> str:
    """The name of the first model of /v1/models."""
    try:
        models: Any = json.loads(fetch_page(address, "/v1/models", api_key))
        return str(models["data"][0]["id"])
    except (ValueError, LookupError, TypeError):
        raise AffineError(
            f"http://{address}/v1/models lists no model; name one with --model"
        ) from None
