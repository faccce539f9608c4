"""A decode that runs beside a load."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from dataclasses import dataclass, field

from affine_client.bench.record import Record
from serving.asker import Asker
from serving.figures import RunFailed


@dataclass
class _Watched(Record):
    begun: threading.Event = field(default_factory=threading.Event)

    def note(self, arrived: float, tokens: int) -> None:
        super().note(arrived, tokens)
        if self.stamps:
            self.begun.set()


class SteadyDecode:
    """One stream in a thread of its own, read until it is told to stop."""

    def __init__(self, asker: Asker, prompt: list[int], output_tokens: int) -> None:
        self._record = _Watched(started=0.0)
        self._ended_early = False
        self._loop = asyncio.new_event_loop()
        self._work = self._loop.create_task(asker.ask(prompt, output_tokens, self._record))
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def wait_first(self) -> None:
        """Returns at the first token, or at the end without one."""
        self._record.begun.wait()

    def stop(self) -> None:
        """Hangs up."""
        with contextlib.suppress(RuntimeError):  # it has ended, and its loop is closed
            self._loop.call_soon_threadsafe(self._work.cancel)
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

    def _read(self) -> None:
        try:
            self._loop.run_until_complete(self._work)
            self._ended_early = True
        except asyncio.CancelledError:
            pass  # as `stop` wants it
        except Exception as problem:  # told by longest_pause, in the thread that asks
            self._record.error = f"{type(problem).__name__}: {problem}"
        finally:
            self._loop.close()
            self._record.begun.set()
