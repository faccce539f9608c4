"""Runs a workload with a fixed number of requests in flight."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from affine_client.bench.callers import Caller
from affine_client.bench.record import Record
from affine_client.bench.workload import Workload

Progress = Callable[[int, list[Record]], None]


def run_closed_loop(
    workload: Workload, concurrency: int, caller: Caller, progress: Progress
) -> tuple[list[Record], float]:
    """The records in the order of the workload's prompts, and the run's duration in seconds.

    `progress` is called in this thread with the number of finished requests. An interruption stops
    the callers after the requests they are in.
    """
    prompts = workload.prompts()
    records = [Record(started=0.0) for _ in prompts]
    changed = threading.Condition()
    state = {"next": 0, "finished": 0}

    def work() -> None:
        while True:
            with changed:
                index = state["next"]
                if index >= len(prompts):
                    return
                state["next"] = index + 1
            record = records[index]
            record.started = time.perf_counter() - begun
            try:
                caller(prompts[index], workload.output_tokens, record)
                if record.success and not record.stamps:
                    record.error = "the answer held no token"
            except BaseException as problem:
                record.error = f"{type(problem).__name__}: {problem}"
                raise
            finally:
                with changed:
                    state["finished"] += 1
                    changed.notify()

    begun = time.perf_counter()
    workers = [
        threading.Thread(target=work, daemon=True) for _ in range(min(concurrency, len(prompts)))
    ]
    for worker in workers:
        worker.start()
    try:
        seen = 0
        while seen < len(prompts):
            with changed:
                while state["finished"] == seen:
                    changed.wait()
                seen = state["finished"]
            progress(seen, records)
    finally:
        with changed:
            state["next"] = len(prompts)
    return records, time.perf_counter() - begun
