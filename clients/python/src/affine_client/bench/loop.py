"""Runs conversations: in a closed loop, or each at its own time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from affine_client.bench.callers import Caller
from affine_client.bench.plan import Ask, Conversation
from affine_client.bench.record import Record

Progress = Callable[[Record], None]  # a request has ended


@dataclass(frozen=True)
class Limits:
    """`callers`: how many conversations of a closed loop run at once, and those without a time.
    `in_flight`: of an open loop, requests beyond it wait, and their waiting counts. `seconds`: none
    begins after so many."""

    callers: int = 1
    in_flight: int | None = None
    seconds: float | None = None


class LoadRun:
    """One run; make a new one for each. Within one event loop, whose clock it reads."""

    def __init__(self, caller: Caller, limits: Limits, progress: Progress) -> None:
        self._caller = caller
        self._limits = limits
        self._progress = progress
        self._gate = asyncio.Semaphore(limits.in_flight) if limits.in_flight else None
        self._clock = asyncio.get_running_loop().time
        self._begun = 0.0
        self._records: list[list[Record]] = []  # of each conversation that began

    async def run(self, conversations: Iterable[Conversation]) -> tuple[list[Record], float]:
        """The records in the order of the conversations and their turns, and the seconds from the
        start to the last answer's end. If it is cancelled, so is what it has in flight."""
        self._begun = self._clock()
        waiting = iter(conversations)
        first = next(waiting, None)
        if first is None:
            return [], 0.0
        if first.at is None:
            await self._closed(_chained(first, waiting))
        else:
            await self._open(_chained(first, waiting))
        duration = self._clock() - self._begun
        return [record for records in self._records for record in records], duration

    async def _closed(self, conversations: Iterator[Conversation]) -> None:
        async def work() -> None:
            while not self._over():
                conversation = next(conversations, None)
                if conversation is None:
                    return
                await self._converse(conversation, self._place())

        async with asyncio.TaskGroup() as group:
            for _ in range(self._limits.callers):
                group.create_task(work())

    async def _open(self, conversations: Iterator[Conversation]) -> None:
        async with asyncio.TaskGroup() as group:
            for conversation in conversations:
                at = conversation.at or 0.0
                if self._limits.seconds is not None and at >= self._limits.seconds:
                    return
                # Behind its time it only lets others run: they would never get to.
                await asyncio.sleep(max(0.0, self._begun + at - self._clock()))
                group.create_task(self._converse(conversation, self._place()))

    def _over(self) -> bool:
        seconds = self._limits.seconds
        return seconds is not None and self._clock() - self._begun >= seconds

    def _place(self) -> list[Record]:
        self._records.append([])
        return self._records[-1]

    async def _converse(self, conversation: Conversation, records: list[Record]) -> None:
        """A turn that failed or was hung up on ends its conversation."""
        history: list[int] = []
        messages: list[tuple[str, str]] = []
        due = conversation.at
        for number, turn in enumerate(conversation.turns):
            if turn.pause_s > 0.0:
                due = self._clock() - self._begun + turn.pause_s
                await asyncio.sleep(turn.pause_s)
            prompt = history + list(turn.ids)
            messages.append(("user", turn.text))
            ask = Ask(prompt, turn.output_tokens, turn.cancel_after, tuple(messages))
            record = Record(0.0, intended=due, turn=number)
            records.append(record)
            await self._send(ask, record)
            self._progress(record)
            if not record.success:
                return
            history = prompt + record.token_ids
            messages.append(("assistant", "".join(record.texts)))
            due = None

    async def _send(self, ask: Ask, record: Record) -> None:
        if self._gate is None:
            await self._call(ask, record)
            return
        if record.intended is None:
            record.intended = self._clock() - self._begun
        async with self._gate:
            await self._call(ask, record)

    async def _call(self, ask: Ask, record: Record) -> None:
        record.started = self._clock() - self._begun
        await self._caller(ask, record)
        if record.success and not record.stamps:
            record.error = "the answer held no token"


def _chained(first: Conversation, rest: Iterator[Conversation]) -> Iterator[Conversation]:
    yield first
    yield from rest
