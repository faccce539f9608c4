"""The load test's plan and its loops: lengths, arrivals, conversations, and when they are sent."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Iterable
from itertools import islice, pairwise

import pytest
from affine_client import AffineError, Client
from affine_client.bench.arrivals import Arrivals
from affine_client.bench.experiment import Experiment, measure
from affine_client.bench.goal import Goal
from affine_client.bench.lengths import fixed, parse_lengths
from affine_client.bench.loop import Limits, LoadRun
from affine_client.bench.plan import Ask, Conversation, Turn
from affine_client.bench.record import Record
from affine_client.bench.served import with_texts
from affine_client.bench.workload import Workload
from affine_client.exposition import Exposition
from virtual_time import run_virtually

WORKLOAD = Workload(1000, fixed(8), fixed(4), seed="3")


def drawn(text: str, count: int = 4000) -> list[int]:
    lengths, source = parse_lengths(text), random.Random(1)
    return [lengths.draw(source) for _ in range(count)]


def test_lengths_follow_their_distribution() -> None:
    assert set(drawn("7", 9)) == {7}
    assert (min(drawn("3-9")), max(drawn("uniform:3-9"))) == (3, 9)
    assert sum(drawn("normal:100,10")) / 4000 == pytest.approx(100, rel=0.02)
    assert sorted(drawn("lognormal:100,0.5"))[2000] == pytest.approx(100, rel=0.05)
    chosen = drawn("choice:10*3,50")
    assert chosen.count(10) / 4000 == pytest.approx(0.75, abs=0.03)
    assert set(chosen) == {10, 50}
    assert max(drawn("lognormal:100,2,20-150")) == 150 and min(drawn("normal:5,9,2-99")) == 2


@pytest.mark.parametrize(
    "text", ["0", "9-3", "x", "normal:5", "normal:-1,2", "normal:1,2,3-4,5", "choice:", "zipf:2"]
)
def test_what_is_no_length_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no length.*lognormal:MEDIAN"):
        parse_lengths(text)


def times(arrivals: Arrivals, count: int = 4000) -> list[float]:
    return list(islice(arrivals.times(random.Random(5)), count))


def test_arrivals_keep_the_rate_with_gaps_as_uneven_as_asked() -> None:
    def unevenness(arrivals: Arrivals) -> float:  # deviation of the gaps over their mean
        gaps = [later - earlier for earlier, later in pairwise(times(arrivals))]
        mean = sum(gaps) / len(gaps)
        assert mean == pytest.approx(1 / arrivals.rate, rel=0.06)
        return math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) / mean

    assert unevenness(Arrivals(4.0)) == pytest.approx(1, rel=0.1)
    assert unevenness(Arrivals(4.0, burstiness=4)) == pytest.approx(0.5, rel=0.1)
    assert unevenness(Arrivals(4.0, burstiness=math.inf)) == pytest.approx(0, abs=1e-6)
    assert times(Arrivals(4.0)) == times(Arrivals(4.0))


def test_bursts_come_together_at_the_same_rate() -> None:
    came = times(Arrivals(10.0, burst=5))
    assert all(len(set(came[place : place + 5])) == 1 for place in range(0, 4000, 5))
    assert came[-1] == pytest.approx(400, rel=0.1)
    assert set(times(Arrivals(math.inf), 9)) == {0.0}


def test_conversations_depend_on_the_seed_alone() -> None:
    first = list(islice(WORKLOAD.conversations(), 6))
    assert first == list(islice(WORKLOAD.conversations(), 9))[:6]
    turns = [turn for conversation in first for turn in conversation.turns]
    assert [len(turn.ids) for turn in turns] == [8] * 6
    assert all(100 <= id < 1000 for turn in turns for id in turn.ids)
    assert len({turn.ids for turn in turns} | {WORKLOAD.warm_up(0).turns[0].ids}) == 7
    other = Workload(1000, fixed(8), fixed(4), seed="4")
    assert next(other.conversations()) != first[0]


def test_prefixes_turns_and_hang_ups_are_as_asked_for() -> None:
    workload = Workload(
        1000,
        fixed(4),
        fixed(50),
        seed="a",
        prefix_tokens=6,
        prefixes=3,
        turns=parse_lengths("1-3"),
        pause_s=2.0,
        cancel_share=0.25,
    )
    some = list(islice(workload.conversations(), 400))
    assert len({one.turns[0].ids[:6] for one in some}) == 3
    assert {len(one.turns) for one in some} == {1, 2, 3}
    later = [turn for one in some for turn in one.turns[1:]]
    assert all(len(turn.ids) == 4 and turn.pause_s == 2.0 for turn in later)
    every = [turn for one in some for turn in one.turns]
    cut = [turn.cancel_after for turn in every if turn.cancel_after is not None]
    assert len(cut) / len(every) == pytest.approx(0.25, abs=0.05)
    assert 1 <= min(cut) and max(cut) < 50


class FakeCaller:
    """Answers `tokens` tokens, each after `pace` seconds, as many at once as are asked for."""

    def __init__(self, pace: Callable[[int], float] = lambda _: 0.5) -> None:
        self._pace = pace  # of the n-th call
        self.asked: list[Ask] = []
        self.in_flight = self.most = 0

    async def __call__(self, ask: Ask, record: Record) -> None:
        pace = self._pace(len(self.asked))
        self.asked.append(ask)
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        for place in range(ask.output_tokens):
            await asyncio.sleep(pace)
            record.note((place + 1) * pace, 1)
            record.token_ids.append(place)
            if ask.cancel_after == place + 1:
                record.cancelled = True
                break
        self.in_flight -= 1

    async def close(self) -> None:
        pass


def run(
    conversations: Iterable[Conversation], caller: FakeCaller, limits: Limits = Limits()
) -> tuple[list[Record], float, list[Record]]:
    ended: list[Record] = []

    async def work() -> tuple[list[Record], float]:
        return await LoadRun(caller, limits, ended.append).run(conversations)

    records, duration = run_virtually(work())
    return records, duration, ended


def single(at: float | None = None, output: int = 2) -> Conversation:
    return Conversation((Turn((1, 2), output),), at)


def test_a_closed_loop_keeps_exactly_the_wanted_number_in_flight() -> None:
    caller = FakeCaller()
    records, duration, ended = run(islice(WORKLOAD.conversations(), 6), caller, Limits(callers=3))
    assert (caller.most, len(records), len(ended)) == (3, 6, 6)
    assert duration == pytest.approx(4.0)  # two waves of four tokens
    assert [record.started for record in records] == pytest.approx([0, 0, 0, 2, 2, 2])
    assert all(record.intended is None and record.delay == 0 for record in records)


def test_an_open_loop_sends_on_time_whatever_became_of_those_before() -> None:
    caller = FakeCaller(lambda _: 10.0)
    records, duration, _ = run([single(at) for at in (0.0, 1.0, 1.0, 2.5)], caller)
    assert [record.started for record in records] == pytest.approx([0, 1, 1, 2.5])
    assert (caller.most, duration) == (4, pytest.approx(22.5))


def test_what_waits_for_a_place_is_late_and_its_waiting_counts() -> None:
    """Coordinated omission: a server that stands still is measured by all who came meanwhile."""
    caller = FakeCaller(lambda call: 5.0 if call == 0 else 0.1)
    came = [single(at, output=1) for at in (0.0, 1.0, 2.0, 3.0)]
    records, _, _ = run(came, caller, Limits(in_flight=1))
    assert caller.most == 1
    assert [record.delay for record in records] == pytest.approx([0, 4, 3.1, 2.2])
    assert [record.first_token for record in records] == pytest.approx([5, 4.1, 3.2, 2.3])
    assert [record.latency for record in records] == pytest.approx([5, 4.1, 3.2, 2.3])


def test_none_begins_after_the_duration() -> None:
    records, duration, _ = run(WORKLOAD.conversations(), FakeCaller(), Limits(2, seconds=5.0))
    assert (len(records), duration) == (6, pytest.approx(6.0))
    late = WORKLOAD.conversations(Arrivals(2.0, burstiness=math.inf))
    records, _, _ = run(late, FakeCaller(), Limits(seconds=5.0))
    assert len(records) == 10


def test_each_turn_sends_what_was_said_before_again() -> None:
    talk = Conversation((Turn((1, 2), 2, text="a"), Turn((3,), 1, pause_s=4.0, text="b")), at=1.0)
    caller = FakeCaller()
    records, duration, _ = run([talk], caller)
    assert [ask.prompt for ask in caller.asked] == [[1, 2], [1, 2, 0, 1, 3]]
    assert caller.asked[1].messages == (("user", "a"), ("assistant", ""), ("user", "b"))
    assert [record.turn for record in records] == [0, 1]
    assert [record.started for record in records] == pytest.approx([1.0, 6.0])
    assert duration == pytest.approx(6.5)


def test_a_hang_up_ends_its_conversation() -> None:
    talk = Conversation((Turn((1,), 9, cancel_after=2), Turn((2,), 1)))
    records, _, _ = run([talk, single()], FakeCaller())
    assert [(record.cancelled, record.success) for record in records] == [
        (True, False),
        (False, True),
    ]
    assert records[0].error is None


def test_an_answer_without_tokens_counts_as_failed() -> None:
    records, _, _ = run([single(output=0)], FakeCaller())
    assert [record.error for record in records] == ["the answer held no token"]


def test_no_conversations_are_no_run() -> None:
    assert run([], FakeCaller()) == ([], 0.0, [])


def test_texts_for_chat_are_those_of_the_ids(client: Client) -> None:
    talk = Conversation((Turn((0, 1), 2), Turn((2,), 1, text="mine")))
    (told,) = with_texts(client, [talk], "fake")
    assert [turn.text for turn in told.turns] == [" red green", "mine"]
    assert [turn.ids for turn in told.turns] == [(0, 1), (2,)]


def server_page(finished: int, running: int = 0) -> Exposition:
    return Exposition(
        f'affine_requests_finished_total{{finished_reason="length"}} {finished}\n'
        f"affine_num_requests_running {running}\n"
    )


def test_the_servers_figures_are_those_of_the_load_without_its_warm_up() -> None:
    """Each reading comes while something runs still, and then again."""
    pages = iter(
        [server_page(5, running=1), server_page(6), server_page(8, running=1), server_page(9)]
    )
    warm = [single(output=1)]
    load = Experiment("x", 1.0, [single(output=1) for _ in range(3)], Limits(), warm)
    caller = FakeCaller(lambda _: 0.0)
    ended: list[Record] = []
    outcome = asyncio.run(
        measure(load, caller, Goal(), ended.append, lambda: next(pages), tolerance=0.1)
    )
    assert (len(caller.asked), len(ended), len(outcome.report.records)) == (4, 3, 3)
    assert outcome.agreement is not None
    counts = outcome.agreement.rows[0]
    assert (counts.name, counts.ours, counts.servers) == ("requests finished", 3, 3)
    assert outcome.report.generator is not None and outcome.report.generator.wall_s > 0


def test_a_server_without_such_figures_is_not_compared() -> None:
    load = Experiment("x", 1.0, [single(output=1)], Limits())
    caller = FakeCaller(lambda _: 0.0)
    outcome = asyncio.run(measure(load, caller, Goal(), lambda _: None, Exposition, tolerance=0.1))
    assert outcome.agreement is None


def test_an_empty_load_is_an_error() -> None:
    work = measure(Experiment("x", 1.0, [], Limits()), FakeCaller(), Goal(), print, None, 0.1)
    with pytest.raises(AffineError, match="nothing was sent"):
        run_virtually(work)
