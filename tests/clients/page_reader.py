"""Reads a report's page as a browser would, and notes what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

# Elements without an end.
VOID = {"meta", "link", "br", "img", "input", "hr"}


@dataclass
class Page:
    tags: set[str] = field(default_factory=set)
    headings: list[str] = field(default_factory=list)  # h1
    pictures: list[str] = field(default_factory=list)  # ids of <figure>, in order
    drawn: list[str] = field(default_factory=list)  # of those, with an <svg>
    descriptions: dict[str, str] = field(default_factory=dict)  # a picture's <desc>
    rows: list[tuple[str, list[str]]] = field(default_factory=list)  # of tables: head, cells
    mistakes: list[str] = field(default_factory=list)  # elements or ids that do not match
    outside: list[str] = field(default_factory=list)  # what would be fetched


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self._open: list[str] = []
        self._ids: set[str] = set()
        self._wanted: set[str] = set()
        self._figure = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._see(tag, dict(attrs))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._see(tag, dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.page.mistakes.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        inside = self._open[-1] if self._open else ""
        if inside == "h1":
            self.page.headings.append(data)
        elif inside == "desc":
            self.page.descriptions[self._figure] = data
        elif inside == "th" and "tbody" in self._open:
            self.page.rows.append((data, []))
        elif inside == "td":
            self.page.rows[-1][1].append(data)

    def close(self) -> None:
        super().close()
        self.page.mistakes += [f"<{tag}> without end" for tag in self._open]
        self.page.mistakes += [f"no id {id}" for id in self._wanted - self._ids]

    def _see(self, tag: str, attributes: dict[str, str | None]) -> None:
        page = self.page
        page.tags.add(tag)
        id = attributes.get("id")
        if id in self._ids:
            page.mistakes.append(f"id {id} twice")
        if id:
            self._ids.add(id)
        if tag == "figure":
            self._figure = id or ""
            page.pictures.append(self._figure)
        if tag == "svg":
            page.drawn.append(self._figure)
            self._wanted |= set((attributes.get("aria-labelledby") or "none").split())
        for name in ("src", "href", "xlink:href", "data", "action"):
            target = attributes.get(name) or ""
            if target.startswith("#"):
                self._wanted.add(target[1:])
            elif target and not target.startswith("data:"):
                page.outside.append(target)
        if clip := attributes.get("clip-path"):
            self._wanted.add(clip.removeprefix("url(#").removesuffix(")"))


def read_page(file: Path) -> Page:
    reader = _Reader()
    reader.feed(file.read_text(encoding="utf-8"))
    reader.close()
    return reader.page
