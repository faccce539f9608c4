"""One HTML page that needs nothing else: no script, no style sheet, no file."""

from __future__ import annotations

import html
from collections.abc import Sequence

from affine_client.pages.picture import Picture

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
.numbers th { overflow-wrap: normal; }
.numbers tbody th { white-space: nowrap; }
figure { margin: 2.5rem 0; }
figure h2 { margin: 0 0 0.5rem; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { max-width: 48rem; }
.wide { overflow-x: auto; }
nav li { display: inline; margin-right: 1rem; }
nav ul { padding: 0; }
"""


def document(title: str, parts: Sequence[str]) -> str:
    """`parts` are HTML already; `title` is escaped here."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>{_STYLE}</style>\n"
        "</head>\n<body>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def contents(links: Sequence[tuple[str, str]]) -> str:
    """A list of (id, title) of the page's places."""
    items = "".join(f'<li><a href="#{key}">{escaped(title)}</a></li>' for key, title in links)
    return f"<nav><ul>{items}</ul></nav>"


def figure(picture: Picture) -> str:
    return (
        f'<figure id="{picture.key}"><h2>{escaped(picture.title)}</h2>{picture.svg or ""}'
        f"<figcaption>{escaped(picture.explanation)}</figcaption></figure>"
    )


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str, *, numbers: bool = False
) -> str:
    titles = "".join(f'<th scope="col">{escaped(head)}</th>' for head in heads)
    lines = "".join(
        f'<tr><th scope="row">{escaped(row[0])}</th>'
        + "".join(f"<td>{escaped(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    kind = ' class="numbers"' if numbers else ""
    return (
        f'<div class="wide"><table{kind}><caption>{escaped(caption)}</caption>'
        f"<thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def escaped(value: str) -> str:
    return html.escape(printable(value))


def printable(text: str) -> str:
    """`text` with U+FFFD for control characters and others that show nothing."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
