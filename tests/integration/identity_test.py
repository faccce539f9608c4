"""The plain model made affine by the identity (W_a = 0, a mean of 0.5, W_o doubled), answers as
the plain one."""

from __future__ import annotations

from pathlib import Path

import pytest
from grpc_api import GrpcApi
from servers import Servers

PROMPTS = (
    "The capital of France is",
    "def fibonacci(n):",
    "Once upon a time, in a small village,",
    "1, 2, 3, 4,",
    "Der schnelle braune Fuchs",
)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_affine_model_gives_the_plain_models_tokens(
    servers: Servers, identity_model: Path, plain_model: Path, dtype: str
) -> None:
    affine = servers.start(identity_model, f"--dtype={dtype}", "--kv_cache_gib=0.5")
    plain = servers.start(plain_model, f"--dtype={dtype}", "--kv_cache_gib=0.5")
    with GrpcApi(affine.address) as one, GrpcApi(plain.address) as other:
        for prompt in PROMPTS:
            fields = {"max_tokens": 64, "temperature": 0, "ignore_eos": True, "logprobs": 0}
            mine, theirs = one.complete(prompt, **fields), other.complete(prompt, **fields)
            assert list(mine.token_ids) == list(theirs.token_ids), prompt
            assert [token.logprob for token in mine.logprobs] == pytest.approx(
                [token.logprob for token in theirs.logprobs], abs=1e-3
            )
