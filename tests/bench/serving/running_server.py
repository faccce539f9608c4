"""A server under measurement, as a child process."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from affine_client.exposition import Exposition
from serving.asker import Asker
from serving.figures import StepTimes
from serving.server_kinds import PORT, SERVED_NAME, ServerKind

START_TIMEOUT_S = 300.0  # vLLM compiles before it is ready
STOP_TIMEOUT_S = 60.0
_PROBE_EVERY_S = 0.1


class ServerRefused(Exception):
    """It ended before it was ready; the message is the last line that it wrote."""


class RunningServer:
    """Ready when constructed. One thread at a time, but for `asker`, which is thread-safe."""

    def __init__(self, kind: ServerKind, log_file: Path) -> None:
        self.kind = kind
        self._log_file = log_file
        port = _free_port()
        self.address = f"127.0.0.1:{port}"
        self.asker = Asker(self.address, SERVED_NAME, kind.fields)
        with log_file.open("wb") as log:
            self._process = subprocess.Popen(
                [word.replace(PORT, str(port)) for word in kind.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(kind),
                start_new_session=True,  # vLLM's own children end with it
            )
        try:
            self._wait_ready()
        except BaseException:
            self.stop()
            raise

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of GET; OSError or HTTPException where nothing answers."""
        connection = HTTPConnection(self.address, timeout=10.0)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        finally:
            connection.close()

    def step_times(self) -> StepTimes | None:
        """None of a server that does not show them."""
        if not self.kind.has_step_metrics:
            return None
        page = Exposition(self.get("/metrics")[1])
        step = page.total("affine_step_seconds_sum")
        model = page.total("affine_step_model_seconds_sum")
        return None if step is None or model is None else StepTimes(step, model)

    def stop(self) -> None:
        """SIGTERM to the process and its children; kills what is left after a time."""
        self._signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            pass  # what is left is killed below
        self._signal(signal.SIGKILL)
        self._process.wait()

    def last_line(self) -> str:
        lines = self._log_file.read_text("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else "it wrote nothing"

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, HTTPException):  # not listening yet
                if self.get(self.kind.ready_path)[0] == 200:
                    return
            try:
                code = self._process.wait(_PROBE_EVERY_S)
            except subprocess.TimeoutExpired:
                continue
            raise ServerRefused(f"exit code {code}: {self.last_line()}")
        raise ServerRefused(f"not ready after {START_TIMEOUT_S:.0f} s: {self.last_line()}")

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # all of the group has ended
            os.killpg(self._process.pid, number)


@contextlib.contextmanager
def running(kind: ServerKind, log_file: Path) -> Iterator[RunningServer]:
    server = RunningServer(kind, log_file)
    try:
        yield server
    finally:
        server.stop()


def _free_port() -> int:
    """One that was free a moment ago: the peers can't be told to choose their own."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        return int(holder.getsockname()[1])


def _environment(kind: ServerKind) -> dict[str, str]:
    """Ours, without settings of OpenBLAS, which one server would heed and another not."""
    ours = {name: text for name, text in os.environ.items() if not name.startswith("OPENBLAS_")}
    return {**ours, **{name: text for name, text in kind.environment.items() if text}}
