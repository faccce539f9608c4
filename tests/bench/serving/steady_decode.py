"""A decode that runs beside a load."""

from __future__ import annotations

import contextlib
import threading
import time

from affine_client.bench.callers import HttpCaller, note_event
from affine_client.bench.record import Record
from serving.figures import RunFailed


class SteadyDecode:
    """One stream in a thread of its own, read until it is told to stop."""

    def __init__(self, caller: HttpCaller, prompt: list[int], output_tokens: int) -> None:
        self._record = Record(started=0.0)
        self._begun = threading.Event()  # the first token, or the end without one
        self._stopping = threading.Event()
        self._ended_early = False
        self._thread = threading.Thread(target=self._read, args=(caller, prompt, output_tokens))
        self._thread.start()

    def wait_first(self) -> None:
        self._begun.wait()

    def stop(self) -> None:
        """Hangs up after the next event; a server that is full of prompts may take its time."""
        self._stopping.set()
        self._thread.join()

    def longest_pause(self) -> float:
        """Seconds between two events of the stream, after `stop`."""
        if self._record.error is not None:
            raise RunFailed(f"the decode beside the load failed: {self._record.error}")
        if self._ended_early:
            raise RunFailed(
                f"the decode beside the load ended before it, after {sum(self._record.counts)} "
                "tokens; let it have more"
            )
        return max(self._record.pauses)

    def _read(self, caller: HttpCaller, prompt: list[int], output_tokens: int) -> None:
        sent = time.perf_counter()
        try:
            with contextlib.closing(caller.events(prompt, output_tokens)) as events:
                for event in events:
                    note_event(event, time.perf_counter() - sent, self._record)
                    if self._record.stamps:
                        self._begun.set()
                    if self._stopping.is_set():
                        return
            self._ended_early = True
        except Exception as problem:  # told by longest_pause, in the thread that asks
            self._record.error = f"{type(problem).__name__}: {problem}"
        finally:
            self._begun.set()
