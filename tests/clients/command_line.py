"""Runs the command line `affine` within the tests' process."""

from __future__ import annotations

import io

from affine_client.cli.main import main
from affine_client.cli.terminal import Terminal


class TerminalText(io.StringIO):
    """A stream that says it is a terminal, or not."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


class CommandLine:
    """Runs `affine` in this process and keeps what it wrote."""

    def __init__(self, is_terminal: bool = False) -> None:
        self._is_terminal = is_terminal
        self.out = self.err = ""

    def __call__(self, *arguments: str, stdin: str = "") -> int:
        out, err = TerminalText(self._is_terminal), TerminalText(self._is_terminal)
        try:
            return main(arguments, Terminal(out, err, io.StringIO(stdin)))
        finally:
            self.out, self.err = out.getvalue(), err.getvalue()
