"""One analysis of a page: its picture, and the words beside it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Picture:
    """`svg` is None where no model has what it shows; `explanation` then says so."""

    key: str  # the id of its place in the page
    title: str
    explanation: str
    svg: str | None
