"""One measured run: warm-up, the server's figures before, the load, the server's figures after."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from affine_client.bench.agreement import Agreement, agreement, finished
from affine_client.bench.callers import Caller
from affine_client.bench.generator_load import generator_load
from affine_client.bench.goal import Goal
from affine_client.bench.loop import Limits, LoadRun, Progress
from affine_client.bench.plan import Conversation
from affine_client.bench.report import Report
from affine_client.errors import AffineError
from affine_client.exposition import Exposition

# The server counts an answer's end a moment after its last piece, and a hang-up when it notices.
_SETTLE_S = 2.0
_PROBE_EVERY_S = 0.05

Pages = Callable[[], Exposition]  # reads /metrics; blocks


@dataclass(frozen=True)
class Experiment:
    """`load` says in words what was asked for; `x` is its number on a sweep's axis."""

    load: str
    x: float
    conversations: Iterable[Conversation]
    limits: Limits
    warm_up: Iterable[Conversation] = ()


@dataclass(frozen=True)
class Outcome:
    load: str
    x: float
    report: Report
    agreement: Agreement | None  # None: the server shows no figures


async def measure(
    experiment: Experiment,
    caller: Caller,
    goal: Goal,
    progress: Progress,
    pages: Pages | None,
    tolerance: float,
) -> Outcome:
    """Raises AffineError when a request of the warm-up fails."""
    warm, _ = await LoadRun(caller, experiment.limits, lambda _: None).run(experiment.warm_up)
    for record in warm:
        if record.error is not None:
            raise AffineError(f"the warm-up request failed: {record.error}")
    before = await _settled(pages, None)
    run = LoadRun(caller, experiment.limits, progress)
    with generator_load() as generator:
        records, duration = await run.run(experiment.conversations)
    if not records:
        raise AffineError("the load is empty: nothing was sent")
    report = Report(records, duration, goal, generator)
    compared = None
    if pages is not None and before is not None:
        due = finished(before) + sum(bool(record.stamps) for record in records)
        after = await _settled(pages, due)
        if after is not None:
            compared = agreement(records, after.minus(before), tolerance)
    return Outcome(experiment.load, experiment.x, report, compared)


async def _settled(pages: Pages | None, due: float | None) -> Exposition | None:
    """The page once nothing runs and `due` requests have finished, or after two seconds as it is
    then; None of a server that shows no such figures."""
    if pages is None:
        return None
    clock = asyncio.get_running_loop().time
    deadline = clock() + _SETTLE_S
    while True:
        page = await asyncio.to_thread(pages)
        if page.total("affine_requests_finished_total") is None:
            return None
        idle = page.total("affine_num_requests_running") == 0
        if (idle and (due is None or finished(page) >= due)) or clock() >= deadline:
            return page
        await asyncio.sleep(_PROBE_EVERY_S)
