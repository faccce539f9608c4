"""The real affine_server as a child process on a free port."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from http_api import HttpApi

READY_SERVICE = "affine.v1.CompletionService"
SERVING = health_pb2.HealthCheckResponse.SERVING

# Loading the largest of the test models takes seconds; these are for a machine that is very busy.
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 90.0


class ServerProcess:
    """Starts on construction; `wait_ready` before use; `stop` asks for a drain.

    stdout and stderr are kept line by line and also written to `log_file` as they come.
    """

    def __init__(self, binary: Path, arguments: Sequence[str], log_file: Path) -> None:
        self._log = log_file.open("w", encoding="utf-8")
        self._changed = threading.Condition()
        self.stdout: list[str] = []
        self.stderr: list[str] = []
        self._open_pipes = 2
        self._process = subprocess.Popen(
            [str(binary), "--host=127.0.0.1", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
        )
        self._readers = [
            threading.Thread(target=self._read, args=(pipe, lines), daemon=True)
            for pipe, lines in (
                (self._process.stdout, self.stdout),
                (self._process.stderr, self.stderr),
            )
        ]
        for reader in self._readers:
            reader.start()
        self._port: int | None = None
        self.draining = False  # it has been asked to end

    def _read(self, pipe, lines: list[str]) -> None:
        for line in pipe:
            with self._changed:
                lines.append(line.rstrip("\n"))
                self._log.write(line)
                self._log.flush()
                self._changed.notify_all()
        with self._changed:
            self._open_pipes -= 1
            self._changed.notify_all()

    @property
    def port(self) -> int:
        """From the log line "listening"; waits for it."""
        if self._port is None:
            self._port = int(self.wait_log("listening")["port"])
        return self._port

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def events(self) -> list[dict]:
        """The JSON lines of the log so far."""
        with self._changed:
            return [json.loads(line) for line in self.stderr if line.startswith("{")]

    def wait_log(self, message: str, timeout: float = START_TIMEOUT_S) -> dict:
        """The first log event with that message, waiting for it."""
        found: list[dict] = []

        def there() -> bool:
            found.extend(event for event in self.events() if event.get("message") == message)
            return bool(found) or self._open_pipes == 0

        with self._changed:
            self._changed.wait_for(there, timeout)
        if not found:
            raise AssertionError(f"the server never logged {message!r}:\n{self.tail()}")
        return found[0]

    def wait_ready(self, timeout: float = START_TIMEOUT_S) -> None:
        """Returns once grpc.health.v1 Watch reports the completion service as serving."""
        with grpc.insecure_channel(self.address) as channel:
            request = health_pb2.HealthCheckRequest(service=READY_SERVICE)
            watch = health_pb2_grpc.HealthStub(channel).Watch(
                request, timeout=timeout, wait_for_ready=True
            )
            try:
                for update in watch:
                    if update.status == SERVING:
                        return
            except grpc.RpcError as problem:
                raise AssertionError(f"never ready: {problem.details()}\n{self.tail()}") from None
            finally:
                watch.cancel()
        raise AssertionError(f"the health watch ended before the server was ready\n{self.tail()}")

    def terminate(self) -> None:
        self.draining = True
        self._process.send_signal(signal.SIGTERM)

    def wait_exit(self, timeout: float = STOP_TIMEOUT_S) -> int:
        """The exit code, once all output is read. Kills a process that does not end in time."""
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise AssertionError(f"the server did not end in {timeout} s\n{self.tail()}") from None
        finally:
            for reader in self._readers:
                reader.join()
            self._log.close()
        return code

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        if self._process.poll() is None:
            self.terminate()
        return self.wait_exit()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def tail(self, lines: int = 30) -> str:
        with self._changed:
            return "\n".join([*self.stdout[-lines:], *self.stderr[-lines:]])

    def metric(self, name: str) -> float:
        """The sum of a metric's series on /metrics."""
        values = [
            float(line.rsplit(" ", 1)[1])
            for line in HttpApi(self.address).get("/metrics").text.splitlines()
            if line.startswith((name + "{", name + " "))
        ]
        assert values, f"/metrics has no {name}"
        return sum(values)

    def wait_metric(
        self, name: str, reached: Callable[[float], bool], timeout: float = 30.0
    ) -> float:
        """Scrapes until `reached(value)`; a scrape is a round trip, so nothing sleeps."""
        deadline = time.monotonic() + timeout
        while True:
            value = self.metric(name)
            if reached(value):
                return value
            assert time.monotonic() < deadline, f"{name} stayed at {value}\n{self.tail()}"

    def assert_idle(self) -> None:
        """No request runs or waits and no cache block is in use, by the next few steps."""
        for name in (
            "affine_num_requests_running",
            "affine_num_requests_waiting",
            "affine_kv_cache_blocks_used",
        ):
            self.wait_metric(name, lambda value: value == 0)
