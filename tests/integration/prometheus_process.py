"""Debian's Prometheus as a child process, with the alerts of deploy/prometheus in a hurry."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import yaml
from http_api import HttpApi

T = TypeVar("T")
DEADLINE_S = 60.0  # for a machine that is very busy; all of it takes seconds


def hurried(rules: str) -> str:
    """The same rules, with one second where an alert waits for minutes."""
    text, changed = re.subn(r"^(\s+for:) \S+$", r"\1 1s", rules, flags=re.M)
    assert changed
    return text


class PrometheusProcess:
    """Scrapes `targets` and evaluates its rules five times a second; `stop` it at the end.

    It runs on `configuration` with shorter intervals and these targets. Its first scrape comes
    after 5 seconds, which no setting shortens; so let tests share it.
    """

    def __init__(self, targets: Sequence[str], configuration: Path, folder: Path) -> None:
        program = shutil.which("prometheus")
        assert program, "prometheus is missing: apt-get install prometheus"
        config = yaml.safe_load(configuration.read_text())
        config["global"] = {"scrape_interval": "200ms", "evaluation_interval": "200ms"}
        (job,) = config["scrape_configs"]
        job["static_configs"] = [{"targets": list(targets)}]
        for name in config["rule_files"]:
            (folder / name).write_text(hurried((configuration.parent / name).read_text()))
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(config))
        self._log = folder / "prometheus.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [
                    program,
                    f"--config.file={folder / 'prometheus.yaml'}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    "--web.listen-address=127.0.0.1:0",
                    "--log.format=json",
                ],
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        self._api: HttpApi | None = None

    def stop(self) -> int:
        self._process.terminate()
        try:
            return self._process.wait(DEADLINE_S)
        finally:
            self._process.kill()

    def eventually(self, look: Callable[[], T]) -> T:
        """What `look` returns, once that is neither empty nor None nor False."""
        deadline = time.monotonic() + DEADLINE_S
        while not (found := look()):
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(0.05)  # a poll, not a wait for the state
        return found

    def _address(self) -> str | None:
        """From its log: the port was the system's choice."""
        text = self._log.read_text().rpartition("\n")[0]  # the last line may lack its end
        lines = [json.loads(line) for line in text.splitlines()]
        addresses = [line["address"] for line in lines if line.get("msg") == "Listening on"]
        return addresses[0] if addresses else None

    def get(self, path: str, **parameters: str) -> Any:
        """The data of an API call that must succeed."""
        if self._api is None:
            self._api = HttpApi(self.eventually(self._address))
            self.eventually(lambda: self._api.get("/-/ready").status == 200)
        answer = self._api.get(f"/api/v1/{path}?{urlencode(parameters)}")
        assert answer.status == 200, answer.text
        return answer.json["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """An instant vector: [{"metric": labels, "value": [time, text]}, ...]"""
        return self.get("query", query=expression)["result"]

    def alert(self, name: str, **labels: str) -> dict[str, Any] | None:
        """The alert of that name and those labels, pending or firing."""
        wanted = {"alertname": name, **labels}.items()
        found = [each for each in self.get("alerts")["alerts"] if wanted <= each["labels"].items()]
        return found[0] if found else None
