"""The servers that are compared: how each is started, and what it needs to be there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SERVED_NAME = "served"
PORT = "{port}"  # in a command, for the port that the process is given

AFFINE, SOFTMAX = "affine_server", "affine_server softmax"
NO_SPECULATION = "affine_server, no speculation"
INT8, INT4 = "affine_server int8", "affine_server int4"
LLAMA, LLAMA_LONG = "llama-server", "llama-server long"
LLAMA_Q8, LLAMA_Q4 = "llama-server q8_0", "llama-server q4_0"
VLLM = "vLLM"

# Tokens for each of llama-server's slots: the longest request that a slot takes.
_SHORT_SLOTS, _SHORT_SLOT_TOKENS = 32, 1024
_LONG_SLOTS, _LONG_SLOT_TOKENS = 8, 8192


@dataclass(frozen=True)
class ServerKind:
    """One server in one setting. `needs` are files without which it is left out."""

    name: str
    command: tuple[str, ...]
    ready_path: str  # answers 200 once requests are taken
    fields: Mapping[str, Any]  # in each request, so that events tell how many tokens they hold
    needs: tuple[Path, ...]
    has_step_metrics: bool = False  # /metrics shows affine_step_seconds
    environment: Mapping[str, str] = field(default_factory=dict)

    def missing(self) -> str | None:
        """The first needed file that is not there."""
        return next((str(path) for path in self.needs if not path.exists()), None)


def server_kinds(
    binary: Path, model: Path, plain_model: Path, peers: Path | None
) -> dict[str, ServerKind]:
    """All of them by name. `peers` is a folder as tests/bench/README.md lays it out."""
    kinds = [
        _affine(AFFINE, binary, model),
        _affine(SOFTMAX, binary, plain_model),
        _affine(NO_SPECULATION, binary, model, "--speculative_tokens=0"),
        _affine(INT8, binary, model, "--weights=int8"),
        _affine(INT4, binary, model, "--weights=int4"),
    ]
    folder = peers or Path("(no --peers given)")
    kinds += [
        _llama(LLAMA, folder, "bf16", _SHORT_SLOTS, _SHORT_SLOT_TOKENS),
        _llama(LLAMA_LONG, folder, "bf16", _LONG_SLOTS, _LONG_SLOT_TOKENS),
        _llama(LLAMA_Q8, folder, "q8_0", _SHORT_SLOTS, _SHORT_SLOT_TOKENS),
        _llama(LLAMA_Q4, folder, "q4_0", _SHORT_SLOTS, _SHORT_SLOT_TOKENS),
        _vllm(folder),
    ]
    return {kind.name: kind for kind in kinds}


def _affine(name: str, binary: Path, model: Path, *flags: str) -> ServerKind:
    return ServerKind(
        name=name,
        command=(
            str(binary),
            f"--model={model}",
            f"--served_model_name={SERVED_NAME}",
            "--host=127.0.0.1",
            f"--port={PORT}",
            *flags,
        ),
        ready_path="/ready",
        fields={"return_token_ids": True},
        needs=(binary, model),
        has_step_metrics=True,
    )


def _llama(name: str, peers: Path, weights: str, slots: int, slot_tokens: int) -> ServerKind:
    binary = peers / "llama.cpp/vendor/llama.cpp/build/bin/llama-server"
    model = peers / f"smollm2-{weights}.gguf"
    context, threads = slots * slot_tokens, len(os.sched_getaffinity(0))
    flags = f"-c {context} -np {slots} -t {threads} --host 127.0.0.1 --no-webui --no-kv-unified"
    return ServerKind(
        name=name,
        command=(str(binary), "-m", str(model), "--port", PORT, *flags.split()),
        ready_path="/health",
        fields={"timings_per_token": True},
        needs=(binary, model),
    )


def _vllm(peers: Path) -> ServerKind:
    binary, model = peers / "vllm/bin/vllm", peers / "smollm2-bf16"
    flags = "--host 127.0.0.1 --dtype bfloat16 --max-model-len 8192 --enable-prefix-caching"
    preloaded = (
        Path("/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4"),
        peers / "vllm/lib/libiomp5.so",
    )
    return ServerKind(
        name=VLLM,
        command=(
            *(str(binary), "serve", str(model), "--port", PORT),
            *("--served-model-name", SERVED_NAME, *flags.split()),
        ),
        ready_path="/health",
        fields={"return_token_ids": True},
        needs=(binary, model),
        environment={
            "HF_HUB_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "VLLM_CPU_KVCACHE_SPACE": "2",  # GiB
            "PATH": f"{binary.parent}:{os.environ.get('PATH', '')}",
            "LD_PRELOAD": ":".join(str(path) for path in preloaded if path.exists()),
        },
    )
