"""A thousand requests, each alone and then in random company, where prompts are cut up, prefixes are
found in the cache, callers hang up and sequences are preempted: the answers are the same bits."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import pytest
from affine_client.exposition import Exposition
from http_api import HttpApi
from mixed_load import LONGEST, Answer, Asked, alone, in_company, mixed_requests
from server_process import ServerProcess
from servers import Servers

CASE = "llama-learned_sink-affine-elementwise"  # every part of the attention family at once
CONCURRENCY = 32
SMALL_VOCAB, REAL_VOCAB = 512, 49000
MAX_MODEL_LEN = 256

assert LONGEST <= MAX_MODEL_LEN


@dataclass(frozen=True)
class Caches:
    """GiB for little more than one sequence of MAX_MODEL_LEN, and for all 32 that are asked for."""

    tight: float
    roomy: float


CACHES = {"float32": Caches(0.001, 0.03), "bfloat16": Caches(0.0005, 0.03)}


@pytest.fixture(scope="module")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random; a step of it takes so long that 32 callers keep up."""
    import tiny_checkpoint
    from cases import Geometry, case_named

    geometry = Geometry(
        hidden=192,
        layers=6,
        heads=6,
        kv_heads=2,
        head_dim=32,
        intermediate=512,
        vocab=SMALL_VOCAB,
        tied=True,
    )
    folder = tmp_path_factory.mktemp("models") / "small"
    tiny_checkpoint.write(dataclasses.replace(case_named(CASE), geometry=geometry), folder)
    return folder


def assert_company_changes_nothing(
    servers: Servers, model: Path, requests: list[Asked], caches: Caches, *flags: str
) -> None:
    """Alone on one thread in whole prompts; then on two threads, once with room for 32 at a time, once
    with so little that they drive each other out."""
    flags = (f"--max_model_len={MAX_MODEL_LEN}", *flags)
    whole = servers.start(model, "--threads=1", *flags)
    expected = alone(HttpApi(whole.address), requests)
    assert whole.metric("affine_prefix_cache_hits_total") == 0
    assert whole.metric("affine_num_preemptions_total") == 0
    assert whole.stop() == 0

    for cache_gib, step_tokens in ((caches.roomy, 100), (caches.tight, 40)):
        crowded = servers.start(
            model,
            f"--max_num_batched_tokens={step_tokens}",
            f"--max_num_seqs={CONCURRENCY}",
            f"--kv_cache_gib={cache_gib}",
            "--threads=2",
            *flags,
        )
        got = in_company(HttpApi(crowded.address), requests, CONCURRENCY, seed=step_tokens)
        assert_same(requests, got, expected)
        assert_was_company(crowded, requests)
        assert (crowded.metric("affine_num_preemptions_total") > 0) == (cache_gib == caches.tight)
        assert crowded.stop() == 0


def assert_same(requests: list[Asked], got: list[Answer], expected: list[Answer]) -> None:
    for number, (asked, answer, right) in enumerate(zip(requests, got, expected, strict=True)):
        same = answer == right if asked.hang_up_after is None else answer.begins(right)
        assert same, f"request {number}: {asked}\n{answer}\n{right}"


def assert_was_company(server: ServerProcess, requests: list[Asked]) -> None:
    """That prefixes were found, and that the server saw callers hang up."""
    server.assert_idle()
    assert server.metric("affine_prefix_cache_hits_total") > 0
    left = sum(asked.hang_up_after is not None for asked in requests)
    page = Exposition(HttpApi(server.address).get("/metrics").text)
    aborted = page.by_label("finished_reason", "affine_requests_finished_total")["abort"]
    assert left / 4 <= aborted <= left  # some are done before the server sees that nobody reads


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("dtype", CACHES)
def test_answers_of_a_small_model_are_the_same_in_company(
    servers: Servers, small_model: Path, dtype: str, count: int
) -> None:
    requests = mixed_requests(count, SMALL_VOCAB, seed=1 if count == 60 else 2)
    assert_company_changes_nothing(
        servers, small_model, requests, CACHES[dtype], f"--dtype={dtype}"
    )


@pytest.mark.slow
def test_thirty_answers_of_the_real_model_are_the_same_in_company(
    servers: Servers, real_model: Path
) -> None:
    requests = mixed_requests(30, REAL_VOCAB, seed=3)
    assert_company_changes_nothing(servers, real_model, requests, Caches(0.0075, 0.25))
