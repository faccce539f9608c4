"""The three kinds of chart: lines over layers, a histogram, heat maps of layer and head."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from affine_client.stability import WEIGHT_SUM_BINS

# Told apart by eyes of every kind, and by their dashes and marks where there is no colour.
_COLOURS = ("#0072b2", "#d55e00")
_DASHES = ("-", "--")
_MARKS = ("o", "s")

Paint = Callable[[Figure], None]


@dataclass(frozen=True)
class Line:
    """[layers] each; the band runs from `low` to `high`. NaN where nothing was measured."""

    name: str
    values: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


@dataclass(frozen=True)
class HeatMap:
    """`values` [layers][heads], NaN where nothing was measured; colours from `least` to `most`."""

    title: str
    values: Sequence[Sequence[float]]
    scale: str  # what the colours stand for, with its unit
    least: float
    most: float


def lines_over_layers(lines: Sequence[Line], label: str) -> Paint:
    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        shown = []
        for place, line in enumerate(lines):
            layers = range(len(line.values))
            colour = _COLOURS[place]
            axes.fill_between(layers, line.low, line.high, color=colour, alpha=0.15, linewidth=0)
            (drawn,) = axes.plot(
                layers,
                line.values,
                color=colour,
                linestyle=_DASHES[place],
                marker=_MARKS[place],
                markersize=3.5,
            )
            shown.append(drawn)
        _whole_numbers(axes, "layer")
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
        if len(lines) > 1:
            axes.legend(shown, [line.name for line in lines], loc="best")

    return paint


def histogram(
    names: Sequence[str], shares: Sequence[Sequence[float]], labels: tuple[str, str]
) -> Paint:
    """`shares` [names][WEIGHT_SUM_BINS], of 1 in each; `labels` of the x and the y axis."""
    edges = [(place - 1.5) / 10.0 for place in range(WEIGHT_SUM_BINS + 1)]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        shown = []
        for place, row in enumerate(shares):
            drawn = axes.stairs(
                [100.0 * share for share in row],
                edges,
                fill=place == 0,
                color=_COLOURS[place],
                alpha=0.55 if place == 0 else 1.0,
                linewidth=1.6,
                linestyle=_DASHES[place],
            )
            shown.append(drawn)
        axes.set_xticks([tick / 4.0 for tick in range(9)])
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])
        axes.set_ylim(bottom=0.0)
        axes.grid(alpha=0.3)
        if len(names) > 1:
            axes.legend(shown, list(names), loc="best")

    return paint


def heat_maps(rows: Sequence[Sequence[HeatMap]]) -> Paint:
    """[rows][columns]; the maps of a row share their scale. All have the same axes."""
    every = [one for row in rows for one in row]
    layers = max(len(one.values) for one in every)
    heads = max(len(one.values[0]) for one in every)

    def paint(figure: Figure) -> None:
        grid = figure.subplots(len(rows), len(rows[0]), squeeze=False, sharex=True, sharey=True)
        for row, places in zip(rows, grid, strict=True):
            for one, axes in zip(row, places, strict=True):
                image = _heat(axes, one)
                axes.set_xlim(-0.5, layers - 0.5)
                axes.set_ylim(-0.5, heads - 0.5)
                axes.set_title(one.title, fontsize=10)
                _whole_numbers(axes, "layer")
                axes.yaxis.set_major_locator(MaxNLocator(integer=True))
            places[0].set_ylabel("head")
            figure.colorbar(image, ax=list(places), label=row[0].scale)

    return paint


def _heat(axes: Axes, one: HeatMap) -> QuadMesh:
    layers, heads = len(one.values), len(one.values[0])
    most = one.most if one.most > one.least else one.least + 1e-9
    axes.set_facecolor("#dddddd")  # seen where nothing was measured
    turned = [
        [_or_nan(one.values[layer][head]) for layer in range(layers)] for head in range(heads)
    ]
    return axes.pcolormesh(
        [place - 0.5 for place in range(layers + 1)],
        [place - 0.5 for place in range(heads + 1)],
        turned,
        vmin=one.least,
        vmax=most,
        cmap="viridis",
        edgecolors="face",
        linewidth=0.2,
    )


def _or_nan(value: float) -> float:
    return value if math.isfinite(value) else math.nan


def _whole_numbers(axes: Axes, label: str) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(label)
