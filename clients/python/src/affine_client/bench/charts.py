"""The charts of the load test's page: lines over loads, distributions, what happened when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

# Told apart by eyes of every kind, and by dashes and marks where there is no colour.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
_DASHES = ("-", "--", "-.", ":")
_MARKS = ("o", "s", "^", "D", "v", "P", "X")

Paint = Callable[[Figure], None]


@dataclass(frozen=True)
class Line:
    name: str
    xs: Sequence[float]
    ys: Sequence[float]


def lines(
    shown: Sequence[Line],
    labels: tuple[str, str],
    *,
    log_x: bool = False,
    log_y: bool = False,
    mark: tuple[float, str] | None = None,
) -> Paint:
    """`mark` is an upright line at an x, with its name."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place, line in enumerate(shown):
            axes.plot(
                line.xs,
                line.ys,
                label=line.name,
                color=_COLOURS[place % len(_COLOURS)],
                linestyle=_DASHES[place % len(_DASHES)],
                marker=_MARKS[place % len(_MARKS)],
                markersize=4.0,
            )
        if mark is not None:
            axes.axvline(mark[0], color="#888888", linestyle=":", label=mark[1])
        if log_x:
            _log_axis(axes, sorted({x for line in shown for x in line.xs}))
        if log_y:
            axes.set_yscale("log")
            _plain_ticks(axes.yaxis)
        else:
            axes.set_ylim(bottom=0.0)
        _finish(axes, labels, legend=len(shown) > 1 or mark is not None)

    return paint


def shares(shown: Sequence[tuple[str, Sequence[float]]], x_label: str) -> Paint:
    """For each x the share of values at most that large; `shown` are names and values above 0."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (name, values) in enumerate(shown):
            ordered = sorted(values)
            heights = [100.0 * (n + 1) / len(ordered) for n in range(len(ordered))]
            axes.step(
                *_thinned(ordered, heights),
                where="post",
                label=name,
                color=_COLOURS[place % len(_COLOURS)],
                linestyle=_DASHES[place % len(_DASHES)],
            )
        axes.set_xscale("log")
        _plain_ticks(axes.xaxis)
        axes.set_ylim(0.0, 101.0)
        _finish(axes, (x_label, "share at most that long (%)"), legend=len(shown) > 1)

    return paint


def over_time(
    requests: tuple[Sequence[float], Sequence[float]],
    first_tokens: tuple[Sequence[float], Sequence[float]],
) -> Paint:
    """Above the requests in flight, below each request's first token (ms); xs in seconds."""

    def paint(figure: Figure) -> None:
        upper, lower = figure.subplots(2, 1, sharex=True)
        upper.step(*requests, where="post", color=_COLOURS[0])
        upper.set_ylim(bottom=0.0)
        _finish(upper, ("", "requests in flight"), legend=False)
        lower.plot(*first_tokens, "o", color=_COLOURS[1], markersize=3.0)
        lower.set_ylim(bottom=0.0)
        _finish(lower, ("time since the start (s)", "first token (ms)"), legend=False)

    return paint


def _thinned(xs: Sequence[float], ys: Sequence[float]) -> tuple[list[float], list[float]]:
    """At most some 500 points: a page need not hold every gap between two tokens."""
    every = max(1, len(xs) // 500)
    places = sorted({*range(0, len(xs), every), len(xs) - 1})
    return [xs[place] for place in places], [ys[place] for place in places]


def _log_axis(axes: Axes, ticks: Sequence[float]) -> None:
    axes.set_xscale("log", base=2)
    _plain_ticks(axes.xaxis)
    axes.xaxis.set_major_locator(FixedLocator(ticks))


def _plain_ticks(axis: Axis) -> None:
    """Numbers as they are: matplotlib would write powers as formulas, which stay source here."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _finish(axes: Axes, labels: tuple[str, str], *, legend: bool) -> None:
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.grid(alpha=0.3)
    if legend:
        axes.legend(loc="best")
