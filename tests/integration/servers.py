"""The servers of one test or module."""

from __future__ import annotations

from pathlib import Path

from server_process import ServerProcess


class Servers:
    """Starts servers for one test or module, and checks at its end how each of them left."""

    def __init__(self, binary: Path, folder: Path) -> None:
        self._binary = binary
        self._folder = folder
        self._started: list[ServerProcess] = []

    def start(self, model: Path, *flags: str) -> ServerProcess:
        """Ready when this returns."""
        log = self._folder / f"server-{len(self._started)}.log"
        arguments = ["--port=0", f"--model={model}", *flags]
        server = ServerProcess(self._binary, arguments, log)
        self._started.append(server)
        server.wait_ready()
        return server

    def finish(self) -> None:
        problems = []
        for server in self._started:
            try:
                if server.running and not server.draining:
                    server.assert_idle()
            except (AssertionError, OSError) as problem:
                problems.append(f"{type(problem).__name__}: {problem}")
            code = server.stop()
            if code != 0:
                problems.append(f"exit code {code}:\n{server.tail()}")
        assert not problems, "\n".join(problems)
