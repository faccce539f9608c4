"""Sends requests to one server, for who does not run an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from affine_client.bench.callers import FULL_GREEDY, HttpCaller
from affine_client.bench.loop import Limits, LoadRun
from affine_client.bench.plan import Ask, Conversation, Turn
from affine_client.bench.record import Record

Progress = Callable[[Record], None]  # a request has ended


class Asker:
    """Thread-safe: every call has an event loop and connections of its own."""

    def __init__(self, address: str, model: str, fields: Mapping[str, Any]) -> None:
        self._address = address
        self._model = model
        self._fields = {**FULL_GREEDY, **fields}

    def closed_loop(
        self,
        prompts: Sequence[Sequence[int]],
        output_tokens: int,
        concurrency: int,
        progress: Progress,
    ) -> tuple[list[Record], float]:
        """The records in the order of `prompts`, and the duration in seconds."""
        load = [Conversation((Turn(tuple(prompt), output_tokens),)) for prompt in prompts]

        async def work() -> tuple[list[Record], float]:
            caller = self._caller()
            try:
                return await LoadRun(caller, Limits(callers=concurrency), progress).run(load)
            finally:
                await caller.close()

        return asyncio.run(work())

    def one(self, prompt: list[int], output_tokens: int) -> Record:
        """Of a request that is alone."""
        return self.closed_loop([prompt], output_tokens, 1, lambda _: None)[0][0]

    async def ask(self, prompt: list[int], output_tokens: int, record: Record) -> None:
        """One request within the caller's event loop; cancelling it hangs up."""
        caller = self._caller()
        try:
            await caller(Ask(prompt, output_tokens), record)
        finally:
            await caller.close()

    def _caller(self) -> HttpCaller:
        return HttpCaller(self._address, self._model, None, self._fields)
