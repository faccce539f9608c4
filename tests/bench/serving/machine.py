"""The machine that a measurement was made on."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

# Instruction sets that decide which kernels the servers choose, as /proc/cpuinfo spells them.
_INSTRUCTION_SETS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_bf16")


@dataclass(frozen=True)
class Machine:
    processor: str
    cores: int  # that this process may use
    memory_gib: float
    instruction_sets: tuple[str, ...]

    def __str__(self) -> str:
        sets = " ".join(self.instruction_sets) or platform.machine()
        cores = f"{self.cores} core" + ("s" if self.cores != 1 else "")
        return f"{self.processor}, {cores}, {self.memory_gib:.1f} GiB, {sets}"


def this_machine(proc: Path = Path("/proc")) -> Machine:
    """Read from procfs; what it does not tell is called unknown or 0."""
    cpuinfo, meminfo = _first_values(proc / "cpuinfo"), _first_values(proc / "meminfo")
    flags = cpuinfo.get("flags", "").split()
    kib = meminfo.get("MemTotal", "0 kB").split()[0]
    return Machine(
        processor=cpuinfo.get("model name", "unknown processor"),
        cores=len(os.sched_getaffinity(0)),
        memory_gib=int(kib) / 2**20,
        instruction_sets=tuple(name for name in _INSTRUCTION_SETS if name in flags),
    )


def _first_values(file: Path) -> dict[str, str]:
    """The first value of each `name : value` line."""
    values: dict[str, str] = {}
    for line in file.read_text().splitlines():
        name, colon, value = line.partition(":")
        if colon:
            values.setdefault(name.strip(), value.strip())
    return values
