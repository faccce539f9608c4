"""A measured model as the report speaks of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from affine_client.pages.document import printable
from affine_client.report.measurement import Measurement

_LONGEST_IN_PICTURES = 48


@dataclass(frozen=True)
class Subject:
    """`letter` is "A" or "B"; it tells two models apart, since two servers may give one name."""

    letter: str
    alone: bool  # there is no B
    measurement: Measurement

    @property
    def name(self) -> str:
        """As text for pictures: one line of bounded length, with the letter unless alone."""
        name = printable(self.measurement.model.name)
        if len(name) > _LONGEST_IN_PICTURES:
            name = name[: _LONGEST_IN_PICTURES - 1] + "…"
        return name if self.alone else f"{self.letter}: {name}"


def subjects_of(measurements: Sequence[Measurement]) -> tuple[Subject, ...]:
    """One or two."""
    alone = len(measurements) == 1
    return tuple(
        Subject(letter, alone, one) for letter, one in zip("AB", measurements, strict=False)
    )
