"""From matplotlib's figures to SVG that stands inside a page. Imported only by who draws."""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Callable
from typing import Any

import matplotlib
from matplotlib.figure import Figure

# Text stays text: it can be read aloud, found and copied, and names are never taken for formulas.
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "affine",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
}
_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}
_ID = re.compile(r'\b(id="|xlink:href="#|url\(#)')
_ROOT = re.compile(r'<svg [^>]*viewBox="([^"]*)"[^>]*>')
_SHEET = re.compile(r"<style.*?</style>", re.DOTALL)


def draw(
    key: str,
    title: str,
    description: str,
    inches: tuple[float, float],
    paint: Callable[[Figure], None],
) -> str:
    """An <svg> element of what `paint` puts on a figure of that size.

    `title` and `description` are for who cannot see it. Ids begin with `key`, so that several
    pictures stand in one page.
    """
    # Matplotlib's own options are set for this picture alone.
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that its font lacks; the browser's has them
        figure = Figure(figsize=inches, layout="constrained")
        paint(figure)
        target = io.StringIO()
        figure.savefig(target, format="svg", metadata=_NO_METADATA)
    drawn = _SHEET.sub("", target.getvalue())  # a sheet would hold for the whole page
    root = _ROOT.search(drawn)
    if root is None:
        raise RuntimeError("matplotlib's SVG has no root with a viewBox")
    body = _ID.sub(rf"\g<1>{key}-", drawn[root.end() :])
    return (
        f'<svg viewBox="{root[1]}" role="img" aria-labelledby="{key}-title {key}-description" '
        'style="stroke-linejoin: round; stroke-linecap: butt">'
        f'<title id="{key}-title">{html.escape(title)}</title>'
        f'<desc id="{key}-description">{html.escape(description)}</desc>{body.rstrip()}'
    )
