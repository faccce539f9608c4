"""`python tests/bench/serving`: measure, print the table, write the files."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Sequence

from serving.arguments import Arguments, parse
from serving.machine import this_machine
from serving.measurement import Measurement
from serving.outcome import outcome
from serving.plan import visits
from serving.progress import Progress
from serving.report import Report
from serving.rows import comparisons, experiments
from serving.server_kinds import AFFINE, server_kinds


def main(words: Sequence[str] | None = None) -> int:
    """0 if all that was asked for of affine_server was measured, whether or not goals were met."""
    arguments = parse(words)
    logs = arguments.out / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    report = measure(arguments)
    (arguments.out / "serving.json").write_text(json.dumps(report.json(), indent=1) + "\n")
    (arguments.out / "serving.md").write_text(report.markdown())
    print(report.markdown(), end="")
    print(f"\nEvery run: {arguments.out / 'serving.json'}; logs: {logs}", file=sys.stderr)
    problems = AFFINE in report.left_out or any(run.problem for run in report.runs)
    return 1 if problems else 0


def measure(arguments: Arguments) -> Report:
    kinds = server_kinds(
        arguments.affine_server, arguments.model, arguments.plain_model, arguments.peers
    )
    began = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    lines = [line for line in comparisons() if line.row in arguments.rows]
    planned = visits(lines, arguments.repeats)
    with Progress(sum(len(visit.experiments) for visit in planned), arguments.repeats) as progress:
        measurement = Measurement(
            kinds,
            experiments(arguments.quick),
            arguments.vocab_size(),
            arguments.out / "logs",
            progress,
        )
        measurement.carry_out(planned)
    return Report(
        machine=this_machine(),
        began=began,
        settings={"repeats": arguments.repeats, "quick": arguments.quick, "rows": arguments.rows},
        kinds={visit.server: kinds[visit.server] for visit in planned},
        runs=measurement.runs,
        left_out=measurement.left_out,
        outcomes=[outcome(line, measurement.runs, measurement.left_out) for line in lines],
    )
