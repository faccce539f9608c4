"""What the commands write to: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Any, TextIO

from affine_client.errors import InvalidArgument

_BOLD, _DIM, _RED, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[0m"


class Terminal:
    """Colours appear only on a terminal, and not at all where NO_COLOR is set."""

    def __init__(
        self, out: TextIO | None = None, err: TextIO | None = None, source: TextIO | None = None
    ) -> None:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):  # a locale without the answer's letters shows ?
                stream.reconfigure(errors="replace")
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self._source = source or sys.stdin
        self._drawn = 0.0  # when the bar was, by the monotonic clock

    def text_of(self, argument: str, name: str) -> str:
        """`argument`, or for "-" all of stdin. Raises InvalidArgument if that is not UTF-8."""
        if argument != "-":
            return argument
        try:
            return self._source.read()
        except UnicodeDecodeError as problem:
            raise InvalidArgument(f"{name} on stdin is not UTF-8: {problem}") from None

    def write(self, text: str) -> None:
        """Writes to stdout at once, adding nothing."""
        self._out.write(text)
        self._out.flush()

    def line(self, text: str = "") -> None:
        self.write(text + "\n")

    def redraw(self, lines: Sequence[str]) -> None:
        """Puts `lines` in place of what the screen shows; where there is none, after it."""
        text = "".join(f"{line}\n" for line in lines)
        self.write(f"\x1b[H\x1b[J{text}" if self._out.isatty() else f"{text}\n")

    def json(self, value: Any, *, indent: int | None = 2) -> None:
        self.line(json.dumps(value, indent=indent, ensure_ascii=False))

    def note(self, text: str) -> None:
        """A remark beside the result, on stderr."""
        self._err.write(self._styled(text, _DIM, self._err) + "\n")
        self._err.flush()

    def error(self, text: str) -> None:
        """One line on stderr, whatever line breaks `text` has."""
        label = self._styled("affine: error:", _RED, self._err)
        self._err.write(f"{label} {' '.join(text.split())}\n")
        self._err.flush()

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Columns as wide as they need; the last one is not padded. Without `heads`, rows alone."""
        every = [heads, *rows] if heads else list(rows)
        widths = [max(len(row[column]) for row in every) for column in range(len(every[0]))]
        for index, row in enumerate(every):
            padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            text = "  ".join(padded).rstrip()
            self.line(self._styled(text, _BOLD, self._out) if heads and index == 0 else text)

    def progress(self, done: int, total: int, remark: str, *, seldom: bool = False) -> None:
        """Redraws a bar on stderr's line; shows nothing where stderr is no terminal. `seldom` skips
        what comes within a tenth of a second of the last."""
        if not self._err.isatty():
            return
        now = time.monotonic()
        if seldom and now < self._drawn + 0.1:
            return
        self._drawn = now
        width = 30
        filled = width * done // max(total, 1)
        bar = "█" * filled + "░" * (width - filled)
        self._err.write(f"\r\x1b[K{bar} {done}/{total} {remark}" + ("\n" if done == total else ""))
        self._err.flush()

    def end_line(self) -> None:
        """Leaves a half-drawn line on stderr, if that is a terminal."""
        if self._err.isatty():
            self._err.write("\n")
            self._err.flush()

    def _styled(self, text: str, style: str, stream: TextIO) -> str:
        if os.environ.get("NO_COLOR") or not stream.isatty():
            return text
        return f"{style}{text}{_PLAIN}"
