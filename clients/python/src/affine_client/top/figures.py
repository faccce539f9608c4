"""From pages of /metrics to the figures of a model: gauges as they are, the rest over a time."""

from __future__ import annotations

from dataclasses import dataclass

from affine_client.exposition import Exposition

_QUANTILES = (0.5, 0.9, 0.99)
LATENCIES = {
    "first token": "time_to_first_token_seconds",
    "between tokens": "inter_token_latency_seconds",
    "in queue": "request_queue_time_seconds",
    "whole request": "e2e_request_latency_seconds",
}
ATTENTION = {
    "entropy, nats": "affine_attention_entropy_nats",
    "first token": "affine_attention_first_token_mass",
    "largest score": "affine_attention_largest_score",
    "weight sum": "affine_attention_total_weight",
    "sink": "affine_attention_sink_mass",
    "negative": "affine_attention_negative_mass",
    "alpha": "affine_attention_alpha_mean",
    "alpha drift": "affine_attention_alpha_drift",
}


@dataclass(frozen=True)
class Sample:
    """A page, and when it was read, by a monotonic clock in seconds."""

    at: float
    page: Exposition


@dataclass(frozen=True)
class Figures:
    """Of one model, over `seconds`. Shares are of 1, latencies in seconds; None: nothing to tell."""

    model: str
    seconds: float
    running: float | None
    waiting: float | None
    cache_usage: float | None
    cache_blocks: float | None
    output_tokens_per_s: float | None
    prompt_tokens_per_s: float | None
    requests_per_s: float | None
    preemptions: float | None
    prefix_hits: float | None  # share of the prompts' tokens
    drafts_accepted: float | None  # share of the guessed tokens
    latencies: dict[str, list[float | None]]  # p50, p90, p99
    attention: dict[str, list[float]]  # by layer
    not_finite: float | None  # queries with scores that were not finite, since the server's start
    unstable: dict[str, float]  # requests that passed a limit, since the server's start


def models_of(page: Exposition) -> list[str]:
    """Names of the served models that the page has figures of."""
    return sorted(page.by_label("model_name", *_names("num_requests_running")))


def figures_of(model: str, now: Sample, before: Sample | None) -> Figures:
    """Since `before`; without it since the server's start."""
    page = now.page.only("model_name", model)
    if before is None:
        begun = page.total("process_start_time_seconds")
        since, seconds = page, (now.at - begun if begun is not None else 0.0)
    else:
        since = page.minus(before.page.only("model_name", model))
        seconds = now.at - before.at
    finished = since.total("affine_requests_finished_total", "vllm:request_success_total")
    return Figures(
        model=model,
        seconds=seconds,
        running=page.total(*_names("num_requests_running")),
        waiting=page.total(*_names("num_requests_waiting")),
        cache_usage=page.total("affine_kv_cache_usage_ratio", "vllm:kv_cache_usage_perc"),
        cache_blocks=page.total("affine_kv_cache_blocks"),
        output_tokens_per_s=_rate(since.total(*_names("generation_tokens_total")), seconds),
        prompt_tokens_per_s=_rate(since.total(*_names("prompt_tokens_total")), seconds),
        requests_per_s=_rate(finished, seconds),
        preemptions=since.total(*_names("num_preemptions_total")),
        prefix_hits=_share(
            since.total(*_names("prefix_cache_hits_total")),
            since.total(*_names("prefix_cache_queries_total")),
        ),
        drafts_accepted=_share(
            since.total(*_names("spec_decode_num_accepted_tokens_total")),
            since.total(*_names("spec_decode_num_draft_tokens_total")),
        ),
        latencies={
            name: [since.quantile(share, *_names(stem)) for share in _QUANTILES]
            for name, stem in LATENCIES.items()
        },
        attention=_attention(page),
        not_finite=page.total("affine_attention_non_finite_total"),
        unstable=page.by_label("limit", "affine_attention_unstable_requests_total"),
    )


def _attention(page: Exposition) -> dict[str, list[float]]:
    found = {}
    for name, series in ATTENTION.items():
        layers = {int(layer): value for layer, value in page.by_label("layer", series).items()}
        if layers:
            found[name] = [layers[layer] for layer in sorted(layers)]
    return found


def _names(stem: str) -> tuple[str, str]:
    return f"affine_{stem}", f"vllm:{stem}"


def _rate(count: float | None, seconds: float) -> float | None:
    return None if count is None or seconds <= 0.0 else count / seconds


def _share(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole
