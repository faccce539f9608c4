"""Which server runs which experiment, in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from serving.rows import Comparison


@dataclass(frozen=True)
class Visit:
    """One start of a server and the experiments that it then runs."""

    repeat: int  # from 0
    server: str
    experiments: tuple[str, ...]


def visits(lines: Sequence[Comparison], repeats: int) -> list[Visit]:
    """Every server once in each repeat, each repeat beginning with another one: what slows the
    machine for a while slows all of them. No server runs an experiment twice in a repeat."""
    wanted: dict[str, dict[str, None]] = {}
    for line in lines:
        for server in (line.ours, *line.others):
            wanted.setdefault(server, {})[line.experiment] = None
    servers = list(wanted)
    planned = []
    for repeat in range(repeats):
        turn = repeat % len(servers)
        for server in servers[turn:] + servers[:turn]:
            planned.append(Visit(repeat, server, tuple(wanted[server])))
    return planned
