"""The report as one HTML page that needs nothing else: no script, no style sheet, no file."""

from __future__ import annotations

import html
from collections.abc import Sequence

from affine_client.report.picture import Picture
from affine_client.report.subject import Subject, printable
from affine_client.report.tables import by_layer, facts, figures

# What a model's name or a picture might bring in stays without effect.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_STYLE = """
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; background: #fff; color: #222;
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 0.5rem; }
table { border-collapse: collapse; font-size: 0.9rem; }
caption { text-align: left; padding: 0.4rem 0; }
th, td { border-bottom: 1px solid #ddd; padding: 0.25rem 1.2rem 0.25rem 0; text-align: left;
  vertical-align: top; overflow-wrap: anywhere; }
.numbers td { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
figure { margin: 2.5rem 0; }
figure h2 { margin: 0 0 0.5rem; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { max-width: 48rem; }
.wide { overflow-x: auto; }
nav li { display: inline; margin-right: 1rem; }
nav ul { padding: 0; }
"""


def page(
    subjects: Sequence[Subject], pictures: Sequence[Picture], text_name: str, made: str
) -> str:
    """`text_name` is the text file's name, `made` the report's date. Everything but the pictures is
    escaped here; they are by who drew them."""
    names = " and ".join(subject.measurement.model.name for subject in subjects)
    heads = ["", *(subject.letter for subject in subjects)] if len(subjects) > 1 else ["", "value"]
    figure_heads = ["figure", *heads[1:]] + (["B − A"] if len(subjects) > 1 else [])
    links = [("facts", "What was measured"), ("figures", "Figures")]
    links += [(picture.key, picture.title) for picture in pictures]
    parts = [
        f"<h1>{_text('Attention of ' + names)}</h1>",
        f"<p>{_text(_opening(subjects, text_name))}</p>",
        "<nav><ul>"
        + "".join(f'<li><a href="#{key}">{_text(title)}</a></li>' for key, title in links)
        + "</ul></nav>",
        '<h2 id="facts">What was measured</h2>',
        _table(heads, facts(subjects, text_name, made), "What the figures are of"),
        '<h2 id="figures">Figures</h2>',
        _table(
            figure_heads,
            figures(subjects),
            "Means over all layers, heads and queries, each query counted once",
            numbers=True,
        ),
        *map(_figure, pictures),
        '<h2 id="by-layer">The same by layer</h2>',
        *map(_layers, subjects),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text('Attention of ' + names)}</title>\n<style>{_STYLE}</style>\n"
        "</head>\n<body>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def _opening(subjects: Sequence[Subject], text_name: str) -> str:
    them = "this model" if len(subjects) == 1 else "each of these models"
    return (
        f"The text {text_name} was cut into prompts by tokens and sent to {them}, which made no "
        "token of its own. At every position, every head's attention was measured; the figures are "
        "exact sums over all requests, each weighted with its queries. A last, shorter prompt is "
        "kept and counts with the queries that it has. The analyses are those of arXiv 2602.23057."
    )


def _figure(picture: Picture) -> str:
    return (
        f'<figure id="{picture.key}"><h2>{_text(picture.title)}</h2>{picture.svg or ""}'
        f"<figcaption>{_text(picture.explanation)}</figcaption></figure>"
    )


def _layers(subject: Subject) -> str:
    titles, rows = by_layer(subject)
    table = _table(titles, rows, "Means over heads and queries", numbers=True)
    return f"<details><summary>{_text(subject.name)}</summary>{table}</details>"


def _table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str, *, numbers: bool = False
) -> str:
    titles = "".join(f'<th scope="col">{_text(head)}</th>' for head in heads)
    lines = "".join(
        f'<tr><th scope="row">{_text(row[0])}</th>'
        + "".join(f"<td>{_text(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    kind = ' class="numbers"' if numbers else ""
    return (
        f'<div class="wide"><table{kind}><caption>{_text(caption)}</caption>'
        f"<thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _text(value: str) -> str:
    return html.escape(printable(value))
