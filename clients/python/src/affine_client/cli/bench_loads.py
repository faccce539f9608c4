"""From the flags of `affine bench` to the loads that are measured."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator
from itertools import islice

from affine_client.bench.arrivals import Arrivals
from affine_client.bench.experiment import Experiment
from affine_client.bench.loop import Limits
from affine_client.bench.plan import Conversation
from affine_client.bench.served import Served, with_texts
from affine_client.bench.trace import TraceReader
from affine_client.bench.workload import Workload
from affine_client.cli.bench_flags import SWEEP
from affine_client.client import Client
from affine_client.errors import AffineError

_REQUESTS = 32
# Of a sweep, at each load.
_LEAST_REQUESTS, _REQUESTS_EACH, _SECONDS_OF_RATE = 8, 4, 10.0


def check(arguments: argparse.Namespace) -> str | None:
    """What is wrong with flags that are right one by one."""
    given = [name for name in ("concurrency", "rate", "trace") if getattr(arguments, name)]
    if len(given) > 1 and given != ["concurrency", "trace"]:
        return f"--{given[0]} and --{given[1]} are different loads; give one of them"
    if arguments.mode == "sweep" and arguments.trace:
        return "a sweep takes --concurrency or --rate; a trace is one load"
    for name in given:
        if name != "trace" and arguments.mode == "run" and len(getattr(arguments, name)) > 1:
            return f"--{name} has several loads; measure them with: affine bench sweep"
    if arguments.endpoint == "chat" and arguments.api != "http":
        return "--endpoint chat goes over HTTP: give --api http too"
    if arguments.endpoint == "chat" and arguments.duration and not arguments.requests:
        return "--endpoint chat needs --requests, since their texts are made beforehand"
    if arguments.mode == "sweep" and math.inf in (arguments.rate or ()):
        return "--rate inf is no place on a sweep's axis"
    return None


def experiments(
    arguments: argparse.Namespace, served: Served, client: Client
) -> Iterator[Experiment]:
    """One for a run. Each of a sweep has requests of its own, so that no prefix is cached."""
    if arguments.trace:
        yield _trace(arguments, served, client)
        return
    for number, load in enumerate(_loads(arguments)):
        seed = str(arguments.seed) if arguments.mode == "run" else f"{arguments.seed} {number}"
        workload = _workload(arguments, served, seed)
        open_loop = bool(arguments.rate)
        arrivals = Arrivals(load, arguments.burstiness, arguments.burst) if open_loop else None
        callers = 1 if open_loop else int(load)
        count = _count(arguments, load, open_loop)
        conversations: Iterable[Conversation] = workload.conversations(arrivals)
        if count is not None:
            conversations = list(islice(conversations, count))
        yield Experiment(
            load=f"{load:g} requests/s" if open_loop else f"{callers} in flight",
            x=load,
            conversations=_for_chat(conversations, arguments, served, client),
            limits=Limits(callers, arguments.max_in_flight, arguments.duration),
            warm_up=_warm_up(arguments, workload, served, client),
        )


def _loads(arguments: argparse.Namespace) -> list[float]:
    if arguments.rate:
        return [float(rate) for rate in arguments.rate]
    default = SWEEP if arguments.mode == "sweep" else (8,)
    return [float(callers) for callers in arguments.concurrency or default]


def _count(arguments: argparse.Namespace, load: float, open_loop: bool) -> int | None:
    if arguments.requests or arguments.duration:
        return None if arguments.requests is None else int(arguments.requests)
    if arguments.mode == "run":
        return _REQUESTS
    each = load * (_SECONDS_OF_RATE if open_loop else _REQUESTS_EACH)
    return max(_LEAST_REQUESTS, math.ceil(each))


def _workload(arguments: argparse.Namespace, served: Served, seed: str) -> Workload:
    return Workload(
        vocab_size=served.vocab_size,
        prompt_tokens=arguments.prompt_tokens,
        output_tokens=arguments.output_tokens,
        seed=seed,
        prefix_tokens=arguments.shared_prefix_tokens,
        prefixes=arguments.shared_prefixes,
        turns=arguments.turns,
        pause_s=arguments.think_time,
        cancel_share=arguments.cancel_share,
    )


def _trace(arguments: argparse.Namespace, served: Served, client: Client) -> Experiment:
    def tokenize(text: str) -> tuple[int, ...]:
        return client.tokenize(text, model=served.model, add_special_tokens=False).ids

    reader = TraceReader(served.vocab_size, str(arguments.seed), tokenize, arguments.trace_speed)
    conversations = reader.read(arguments.trace)[: arguments.requests]
    timed = conversations[0].at is not None
    if timed and arguments.concurrency:
        raise AffineError(f"{arguments.trace} has times of its own; leave out --concurrency")
    callers = 8 if not arguments.concurrency else int(arguments.concurrency[0])
    workload = _workload(arguments, served, str(arguments.seed))
    return Experiment(
        load=f"trace {arguments.trace.name}" + ("" if timed else f", {callers} in flight"),
        x=float(callers),
        conversations=_for_chat(conversations, arguments, served, client),
        limits=Limits(callers, arguments.max_in_flight, arguments.duration),
        warm_up=_warm_up(arguments, workload, served, client),
    )


def _warm_up(
    arguments: argparse.Namespace, workload: Workload, served: Served, client: Client
) -> Iterable[Conversation]:
    warm = [workload.warm_up(number) for number in range(arguments.warm_up)]
    return _for_chat(warm, arguments, served, client)


def _for_chat(
    conversations: Iterable[Conversation],
    arguments: argparse.Namespace,
    served: Served,
    client: Client,
) -> Iterable[Conversation]:
    if arguments.endpoint != "chat":
        return conversations
    return with_texts(client, conversations, served.model)
