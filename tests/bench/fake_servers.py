"""Programs that stand in for the servers."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

FAKE = Path(__file__).resolve().parent / "fake_completion_server.py"


class FakeServers:
    """affine_server, its models, and a folder of peers, all of them fake_completion_server.py."""

    def __init__(self, folder: Path) -> None:
        self.requests_file = folder / "requests"
        self.affine_server = self._program(folder / "affine_server", "affine")
        self.model, self.plain_model = (self._model(folder / name) for name in ("affine", "plain"))
        self.peers = folder / "peers"
        llama = "llama.cpp/vendor/llama.cpp/build/bin/llama-server"
        self.llama_server = self._program(self.peers / llama, "llama")
        self.vllm = self._program(self.peers / "vllm/bin/vllm", "vllm")
        self._model(self.peers / "smollm2-bf16")
        for weights in ("bf16", "q8_0", "q4_0"):
            (self.peers / f"smollm2-{weights}.gguf").touch()

    def arguments(self, out: Path) -> list[str]:
        return [
            f"--affine_server={self.affine_server}",
            f"--model={self.model}",
            f"--plain_model={self.plain_model}",
            f"--peers={self.peers}",
            f"--out={out}",
        ]

    def _program(self, file: Path, kind: str) -> Path:
        command = shlex.join([sys.executable, str(FAKE), kind, str(self.requests_file)])
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        file.chmod(0o755)
        return file

    @staticmethod
    def _model(folder: Path) -> Path:
        folder.mkdir(parents=True)
        (folder / "config.json").write_text('{"vocab_size": 512}')
        return folder
