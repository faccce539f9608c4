"""The report as one HTML page that needs nothing else: no script, no style sheet, no file."""

from __future__ import annotations

from collections.abc import Sequence

from affine_client.pages.document import contents, document, escaped, figure, table
from affine_client.pages.picture import Picture
from affine_client.report.subject import Subject
from affine_client.report.tables import by_layer, facts, figures


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
        f"<h1>{escaped('Attention of ' + names)}</h1>",
        f"<p>{escaped(_opening(subjects, text_name))}</p>",
        contents(links),
        '<h2 id="facts">What was measured</h2>',
        table(heads, facts(subjects, text_name, made), "What the figures are of"),
        '<h2 id="figures">Figures</h2>',
        table(
            figure_heads,
            figures(subjects),
            "Means over all layers, heads and queries, each query counted once",
            numbers=True,
        ),
        *map(figure, pictures),
        '<h2 id="by-layer">The same by layer</h2>',
        *map(_layers, subjects),
    ]
    return document("Attention of " + names, parts)


def _opening(subjects: Sequence[Subject], text_name: str) -> str:
    them = "this model" if len(subjects) == 1 else "each of these models"
    return (
        f"The text {text_name} was cut into prompts by tokens and sent to {them}, which made no "
        "token of its own. At every position, every head's attention was measured; the figures are "
        "exact sums over all requests, each weighted with its queries. A last, shorter prompt is "
        "kept and counts with the queries that it has. The analyses are those of arXiv 2602.23057."
    )


def _layers(subject: Subject) -> str:
    titles, rows = by_layer(subject)
    means = table(titles, rows, "Means over heads and queries", numbers=True)
    return f"<details><summary>{escaped(subject.name)}</summary>{means}</details>"
