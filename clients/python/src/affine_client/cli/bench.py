"""`affine bench`: the load test."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any

from affine_client import __version__
from affine_client.bench.agreement import Agreement, shown_rows
from affine_client.bench.callers import FULL_GREEDY, Caller, GrpcCaller, HttpCaller
from affine_client.bench.experiment import Experiment, Outcome, measure
from affine_client.bench.goal import Goal
from affine_client.bench.record import Record
from affine_client.bench.served import Served, served
from affine_client.bench.sweep import heaviest_within_goal, saturation, sweep_table
from affine_client.cli.bench_flags import DESCRIPTION, EPILOG, add_flags
from affine_client.cli.bench_loads import check, experiments
from affine_client.cli.output_file import check_folder
from affine_client.cli.terminal import Terminal
from affine_client.client import Client
from affine_client.errors import AffineError
from affine_client.exposition import Exposition
from affine_client.http_get import fetch_page
from affine_client.parameters import CompletionParams
from affine_client.retry import NO_RETRIES


def add_parser(commands: Any, connection: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "bench",
        parents=[connection],
        help="measure speed under load",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_flags(parser)
    parser.set_defaults(run=run, parser=parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    problem = check(arguments)
    if problem:
        arguments.parser.error(problem)
    for file in (arguments.json, arguments.html):
        check_folder(file)
    if arguments.html and find_spec("matplotlib") is None:
        raise AffineError(
            "the page is drawn with matplotlib, which is not installed: "
            "pip install 'affine-client[report]'; or take the numbers alone with --json FILE"
        )
    with Client(arguments.address, api_key=arguments.api_key, retry=NO_RETRIES) as client:
        target = served(
            client,
            arguments.model,
            arguments.vocab_size,
            http=arguments.api == "http",
            api_key=arguments.api_key,
        )
        outcomes = asyncio.run(_measured(arguments, target, client, terminal))
    _show(arguments, outcomes, terminal)
    _write(arguments, target, outcomes, terminal)
    return _verdict(arguments, outcomes)


async def _measured(
    arguments: argparse.Namespace, target: Served, client: Client, terminal: Terminal
) -> list[Outcome]:
    caller = _caller(arguments, target)
    outcomes = []
    try:
        for experiment in experiments(arguments, target, client):
            outcomes.append(await _one(arguments, target, experiment, caller, terminal))
    finally:
        await caller.close()
    return outcomes


async def _one(
    arguments: argparse.Namespace,
    target: Served,
    experiment: Experiment,
    caller: Caller,
    terminal: Terminal,
) -> Outcome:
    def pages() -> Exposition:
        page = Exposition(fetch_page(arguments.address, "/metrics", arguments.api_key))
        return page.only("model_name", target.model)

    bar = _Bar(experiment, terminal)
    outcome = await measure(
        experiment,
        caller,
        arguments.goal or Goal(),
        bar.ended,
        pages if arguments.server_metrics and _shows_metrics(arguments) else None,
        arguments.tolerance,
    )
    bar.finish()
    return outcome


class _Bar:
    """Requests done, of those that are known beforehand."""

    def __init__(self, experiment: Experiment, terminal: Terminal) -> None:
        self._load = experiment.load
        planned = experiment.conversations
        self._total = (
            sum(len(one.turns) for one in planned) if isinstance(planned, Sequence) else None
        )
        self._terminal = terminal
        self._done = self._failed = 0

    def ended(self, record: Record) -> None:
        self._done += 1
        self._failed += record.error is not None
        # A bar that is full ends its line, so the last step is left to finish().
        total = self._total if self._total is not None else self._done + 1
        if self._done < total:
            self._terminal.progress(self._done, total, self._remark(), seldom=True)

    def finish(self) -> None:
        self._terminal.progress(self._done, self._done, self._remark())

    def _remark(self) -> str:
        return f"requests, {self._failed} failed, {self._load}"


def _caller(arguments: argparse.Namespace, target: Served) -> Caller:
    params: CompletionParams = {**FULL_GREEDY}
    params["temperature"] = arguments.temperature
    params["ignore_eos"] = not arguments.stop_at_eos
    if arguments.temperature > 0.0:
        params["seed"] = arguments.seed
    if arguments.api == "grpc":
        return GrpcCaller(arguments.address, target.model, arguments.api_key, params)
    return HttpCaller(
        arguments.address,
        target.model,
        arguments.api_key,
        {**params, "return_token_ids": True},
        chat=arguments.endpoint == "chat",
    )


def _shows_metrics(arguments: argparse.Namespace) -> bool:
    try:
        fetch_page(arguments.address, "/metrics", arguments.api_key)
    except AffineError:
        return False  # another server; --require-agreement tells
    return True


def _show(arguments: argparse.Namespace, outcomes: Sequence[Outcome], terminal: Terminal) -> None:
    if arguments.mode == "run":
        terminal.line(outcomes[0].report.block())
        if outcomes[0].agreement is not None:
            terminal.line()
            _show_agreement(outcomes[0].agreement, terminal)
    else:
        terminal.table(*sweep_table(outcomes))
        terminal.line()
        for line in findings(outcomes, arguments.goal_share):
            terminal.line(line)
    for outcome in outcomes:
        generator = outcome.report.generator
        if generator is not None and generator.remark:
            terminal.note(f"[{outcome.load}: {generator.remark}]")


def findings(outcomes: Sequence[Outcome], goal_share: float) -> list[str]:
    """What a sweep showed, in sentences."""
    best = max(outcomes, key=lambda outcome: outcome.report.summary()["output_throughput"])
    speed = best.report.summary()["output_throughput"]
    lines = [f"most output: {speed:.1f} tok/s, at {best.load}"]
    knee = saturation(outcomes)
    lines.append(
        f"saturated from {knee.load} on: within 5 % of the most output"
        if knee
        else "not saturated: the heaviest load still brought more"
    )
    if outcomes[0].report.goal.bounds:
        heaviest = heaviest_within_goal(outcomes, goal_share)
        goal = outcomes[0].report.goal
        lines.append(
            f"goal ({goal}) kept by {goal_share:.0%} of the requests "
            + (f"up to {heaviest.load}" if heaviest else "at no load")
        )
    amiss = [one.load for one in outcomes if one.agreement and one.agreement.disagreements]
    if amiss:
        lines.append(f"the server's own figures differ at {', '.join(amiss)}; see --json")
    elif all(one.agreement and not one.agreement.remark for one in outcomes):
        lines.append("the server's own figures agree at every load")
    return lines


def _show_agreement(agreed: Agreement, terminal: Terminal) -> None:
    terminal.table(("counts, and ms from the send", "here", "server", "agree"), shown_rows(agreed))
    if agreed.remark:
        terminal.note(f"[{agreed.remark}]")


def _write(
    arguments: argparse.Namespace, target: Served, outcomes: Sequence[Outcome], terminal: Terminal
) -> None:
    setting = _setting(arguments, target)
    if arguments.json:
        runs = [
            {
                "load": one.load,
                **one.report.json(),
                "server": _agreement_json(one.agreement),
            }
            for one in outcomes
        ]
        content = {**setting, **runs[0]} if arguments.mode == "run" else {**setting, "runs": runs}
        arguments.json.write_text(json.dumps(content) + "\n")
        terminal.note(f"[all figures are in {arguments.json}]")
    if arguments.html:
        # Matplotlib takes half a second to load, which nothing else should wait for.
        from affine_client.bench.page import page

        lines = findings(outcomes, arguments.goal_share) if arguments.mode == "sweep" else []
        arguments.html.write_text(page(setting, outcomes, lines), encoding="utf-8")
        terminal.note(f"[the page is {arguments.html}]")


def _setting(arguments: argparse.Namespace, target: Served) -> dict[str, Any]:
    """What must be the same for the same load again."""
    plain = (
        "address api endpoint concurrency rate burstiness burst max_in_flight requests duration "
        "trace_speed shared_prefix_tokens shared_prefixes think_time cancel_share temperature "
        "stop_at_eos warm_up seed"
    )
    setting = {name: getattr(arguments, name) for name in plain.split()}
    for name in ("prompt_tokens", "output_tokens", "turns"):
        setting[name] = str(getattr(arguments, name))
    for name in ("rate", "burstiness"):  # JSON knows no infinity
        if math.inf in (setting[name] if isinstance(setting[name], list) else [setting[name]]):
            setting[name] = "inf"
    if arguments.mode == "run" and not arguments.rate and not arguments.trace:
        setting["concurrency"] = (arguments.concurrency or [8])[0]
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "client": __version__,
        "model": target.model,
        **setting,
        "trace": str(arguments.trace or ""),
        "goal": str(arguments.goal or ""),
    }


def _agreement_json(agreed: Agreement | None) -> dict[str, Any] | None:
    if agreed is None:
        return None
    rows = {
        row.name: {"here": row.ours, "server": row.servers, "agrees": row.agrees}
        for row in agreed.rows
    }
    return {"remark": agreed.remark, "figures": rows}


def _verdict(arguments: argparse.Namespace, outcomes: Sequence[Outcome]) -> int:
    """Raises AffineError for failed requests, and for disagreement where that is asked for."""
    errors = [error for outcome in outcomes for error in outcome.report.errors]
    if errors:
        raise AffineError(f"{len(errors)} requests failed; the first: {errors[0]}")
    if arguments.require_agreement:
        for outcome in outcomes:
            agreed = outcome.agreement
            if agreed is None:
                raise AffineError("the server's /metrics has no figures to compare with")
            if agreed.remark or agreed.disagreements:
                raise AffineError(
                    f"{outcome.load}: "
                    + (agreed.remark or f"the server's {', '.join(agreed.disagreements)} differ")
                )
    return 0
