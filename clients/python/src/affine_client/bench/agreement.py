"""The load test's figures beside the server's own, of the same requests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from affine_client.bench.record import Record
from affine_client.exposition import Exposition

# Beside the relative tolerance: what network and two schedulers may take, seconds.
_SLACK_S = 0.01
_QUANTILES = (50, 90, 99)
_COUNTED = ("stop", "length", "unstable", "abort")


@dataclass(frozen=True)
class Compared:
    """One figure. Times in milliseconds. `agrees` is None where there is nothing to compare."""

    name: str
    ours: float | None
    servers: float | None
    agrees: bool | None = None


@dataclass(frozen=True)
class Agreement:
    rows: tuple[Compared, ...]
    remark: str | None = None  # why nothing was compared

    @property
    def disagreements(self) -> list[str]:
        return [row.name for row in self.rows if row.agrees is False]


def finished(page: Exposition) -> float:
    """Requests that left the server's engine, whatever became of them."""
    return sum(page.by_label("finished_reason", "affine_requests_finished_total").values())


def agreement(records: Sequence[Record], server: Exposition, tolerance: float) -> Agreement:
    """`server` is what its page counted during the run, of the model that was asked.

    Times count from the send here, as the server can't know of an earlier intention. Its means are
    exact; of its quantiles it knows the bucket, so ours need only lie in it, give or take
    `tolerance` (a share of 1) and 10 ms.
    """
    began = [record for record in records if record.stamps]
    whole = [record for record in began if record.success]
    counted = {
        reason: server.by_label("finished_reason", "affine_requests_finished_total").get(reason, 0)
        for reason in _COUNTED
    }
    # One that is hung up on near its end may be finished before the server notices.
    rows = [_count("requests finished", len(began), sum(counted.values()))]
    if counted["abort"] or len(whole) < len(began):
        cancelled = sum(record.cancelled for record in records)
        rows.append(Compared("of these cancelled", cancelled, counted["abort"]))
    if len(whole) == len(records):  # else the server counts tokens that nobody saw
        rows += [
            _count(
                "prompt tokens",
                sum(record.prompt_tokens for record in whole),
                server.total("affine_request_prompt_tokens_sum"),
            ),
            _count(
                "output tokens",
                sum(record.output_tokens for record in whole),
                server.total("affine_request_generation_tokens_sum"),
            ),
        ]
    amiss = [row.name for row in rows if row.agrees is False]
    times = (
        ("first token", "affine_time_to_first_token_seconds", [r.stamps[0] for r in began]),
        (
            "between tokens",
            "affine_inter_token_latency_seconds",
            [g for r in began for g in r.gaps],
        ),
        ("whole request", "affine_e2e_request_latency_seconds", [r.stamps[-1] for r in began]),
    )
    for name, histogram, seconds in times:
        rows += _times(name, histogram, seconds, server, None if amiss else tolerance)
    queue = "affine_request_queue_time_seconds"
    rows += [Compared("in the server's queue, mean", None, _ms(server.mean(queue)))]
    rows += [
        Compared(f"in the server's queue, p{p}", None, _ms(server.quantile(p / 100, queue)))
        for p in _QUANTILES
    ]
    remark = None
    if amiss:
        remark = (
            f"{', '.join(amiss)} differ: the server had requests of others meanwhile, so its times "
            "are not compared"
        )
    return Agreement(tuple(rows), remark)


def shown_rows(agreed: Agreement) -> list[list[str]]:
    """As text: figure, ours, the server's, and whether they agree."""
    rows = []
    for row in agreed.rows:
        form = ",.0f" if row.name.endswith(("finished", "cancelled", "tokens")) else ",.2f"
        values = ("–" if v is None else f"{v:{form}}" for v in (row.ours, row.servers))
        rows.append([row.name, *values, {True: "yes", False: "NO", None: ""}[row.agrees]])
    return rows


def _count(name: str, ours: int, servers: float | None) -> Compared:
    return Compared(name, ours, servers, None if servers is None else ours == servers)


def _times(
    name: str,
    histogram: str,
    seconds: Sequence[float],
    server: Exposition,
    tolerance: float | None,
) -> list[Compared]:
    mean = server.mean(histogram)
    if not seconds or mean is None:
        return []
    ours = sum(seconds) / len(seconds)
    rows = [Compared(f"{name}, mean", _ms(ours), _ms(mean), _near(ours, mean, mean, tolerance))]
    ordered = sorted(seconds)
    for p in _QUANTILES:
        # The value of that rank itself, which is in the bucket that the server's histogram names.
        value = ordered[max(0, math.ceil(p * len(ordered) / 100) - 1)]
        low, high = server.quantile_bucket(p / 100, histogram) or (0.0, 0.0)
        rows.append(
            Compared(
                f"{name}, p{p}",
                _ms(value),
                _ms(server.quantile(p / 100, histogram)),
                _near(value, low, high, tolerance),
            )
        )
    return rows


def _near(value: float, low: float, high: float, tolerance: float | None) -> bool | None:
    if tolerance is None:
        return None
    return low * (1.0 - tolerance) - _SLACK_S <= value <= high * (1.0 + tolerance) + _SLACK_S


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds
