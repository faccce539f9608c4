"""What the load test's page shows: of one run, and of a sweep."""

from __future__ import annotations

from collections.abc import Sequence

from affine_client.bench.charts import Line, Paint, lines, over_time, shares
from affine_client.bench.experiment import Outcome
from affine_client.bench.report import Report
from affine_client.bench.sweep import saturation
from affine_client.pages.picture import Picture
from affine_client.pages.svg import draw

_INCHES = (9.0, 3.8)
_LATENCIES = (
    ("ttft", "First token", "from the moment that a request was to be sent to its first token"),
    ("itl", "Between tokens", "between two tokens of an answer"),
    ("e2el", "Whole answer", "from the moment that a request was to be sent to its last token"),
)


def pictures_of(outcomes: Sequence[Outcome]) -> list[Picture]:
    if len(outcomes) == 1:
        return [*_distributions(outcomes), _timeline(outcomes[0].report)]
    return [*_over_loads(outcomes), _trade(outcomes), *_distributions(outcomes)]


def _over_loads(outcomes: Sequence[Outcome]) -> list[Picture]:
    xs = [outcome.x for outcome in outcomes]
    axis = "requests in flight" if "flight" in outcomes[0].load else "requests sent a second"
    knee = saturation(outcomes)
    mark = (knee.x, f"saturated from {knee.load}") if knee else None
    made = [_throughput(outcomes, xs, axis, mark)]
    for name, title, meaning in _LATENCIES:
        found = [
            Line(
                key.replace("median", "p50"),
                xs,
                [_figure(one, f"{key}_{name}_ms") for one in outcomes],
            )
            for key in ("median", "p90", "p95", "p99")
        ]
        label = f"{title.lower()} (ms)"
        paint = lines(found, (axis, label), log_x=True, log_y=True, mark=mark)
        made.append(
            _picture(
                f"{name}-by-load",
                f"{title} by load",
                f"Milliseconds {meaning}: percentiles over the requests of each load.",
                paint,
                f"Line chart of the {label} by {axis}. " + " ".join(map(_in_words, found)),
            )
        )
    return made


def _throughput(
    outcomes: Sequence[Outcome], xs: list[float], axis: str, mark: tuple[float, str] | None
) -> Picture:
    found = [Line("output", xs, [_figure(one, "output_throughput") for one in outcomes])]
    if outcomes[0].report.goal.bounds:
        found.append(Line("output of requests that kept the goal", xs, list(map(_good, outcomes))))
    return _picture(
        "throughput",
        "Throughput by load",
        "Output tokens a second. Where the line bends flat the server is saturated: more load brings "
        "more waiting, and no more tokens.",
        lines(found, (axis, "output tokens a second"), log_x=True, mark=mark),
        f"Line chart of output tokens a second by {axis}. " + " ".join(map(_in_words, found)),
    )


def _trade(outcomes: Sequence[Outcome]) -> Picture:
    xs = [_figure(one, "output_throughput") for one in outcomes]
    found = [
        Line(
            f"between tokens, {key.replace('median', 'p50')}",
            xs,
            [_figure(o, f"{key}_itl_ms") for o in outcomes],
        )
        for key in ("median", "p99")
    ]
    return _picture(
        "trade",
        "What throughput costs",
        "Each mark is a load: how fast all answers come together, and how fast a single one does.",
        lines(found, ("output tokens a second", "between tokens (ms)")),
        "Line chart of the time between tokens by throughput. " + " ".join(map(_in_words, found)),
    )


def _distributions(outcomes: Sequence[Outcome]) -> list[Picture]:
    made = []
    for name, title, meaning in _LATENCIES:
        found = []
        for outcome in outcomes:
            values = [1e3 * max(value, 1e-6) for value in outcome.report.latencies()[name]]
            if values:
                found.append((outcome.load, values))
        if not found:
            continue
        made.append(
            _picture(
                f"{name}-shares",
                f"{title}: distribution",
                f"The share of times {meaning} that are at most so long.",
                shares(found, f"{title.lower()} (ms)"),
                f"Cumulative distribution of the {title.lower()} in milliseconds. "
                + " ".join(f"{load}: {len(values)} values." for load, values in found),
            )
        )
    return made


def _timeline(report: Report) -> Picture:
    began = [record for record in report.records if record.stamps]
    steps = sorted(
        [(record.started, 1) for record in began]
        + [(record.started + record.stamps[-1], -1) for record in began]
    )
    xs, heights, height = [0.0], [0.0], 0
    for at, change in steps:
        height += change
        xs.append(at)
        heights.append(float(height))
    firsts = [(record.started, 1e3 * record.first_token) for record in began]
    return _picture(
        "timeline",
        "What happened when",
        "Above, how many requests were in flight; below, each request's first token, at the time "
        "that it was sent.",
        over_time((xs, heights), ([x for x, _ in firsts], [y for _, y in firsts])),
        f"Two charts over time: requests in flight, at most {max(heights):g}, and the first token "
        f"of each of {len(firsts)} requests.",
    )


def _picture(key: str, title: str, explanation: str, paint: Paint, words: str) -> Picture:
    return Picture(key, title, explanation, draw(key, title, words, _INCHES, paint))


def _figure(outcome: Outcome, name: str) -> float:
    return outcome.report.summary().get(name, float("nan"))


def _good(outcome: Outcome) -> float:
    report = outcome.report
    tokens = sum(record.output_tokens for record in report.records if report.goal.met(record))
    return tokens / report.duration


def _in_words(line: Line) -> str:
    points = ", ".join(f"{y:.4g} at {x:.4g}" for x, y in zip(line.xs, line.ys, strict=True))
    return f"{line.name}: {points}."
