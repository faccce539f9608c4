#!/usr/bin/env python3
"""Compares two servers' decoding in pairs of runs that alternate, so that a machine whose speed varies
favours neither.

    tests/bench/pairs.py --a MODEL [FLAGS] --b MODEL [FLAGS] [--contexts 256,2048,8192] [--pairs 10]

A and B are affine_servers, alive at once and asked in turn: `--concurrency` streams each complete
`--output` tokens after a prompt of random ids that is in the prefix cache. Printed for each context: the
median output tokens/s of A and of B, and the median, least and largest of the pairs' ratios A / B.

    --a 'models/x' --b 'models/x --stability_sample_every=0'     what measuring the attention costs
    --a 'models/x-affine' --b 'models/x'                         what affine scaling costs
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from affine_client import Client
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "integration"))
from server_process import ServerProcess  # noqa: E402
from serving.machine import this_machine  # noqa: E402


@dataclass(frozen=True)
class Load:
    concurrency: int
    context: int  # tokens in the cache when the answer ends
    output: int  # tokens of an answer

    def prompts(self) -> list[list[int]]:
        draw = random.Random(self.context)
        length = self.context - self.output
        return [[draw.randrange(20, 4000) for _ in range(length)] for _ in range(self.concurrency)]


class Side:
    """One of the two servers."""

    def __init__(self, binary: Path, command: str, folder: Path, name: str) -> None:
        self.command = command
        model, *flags = shlex.split(command)
        self._server = ServerProcess(
            binary, ["--port=0", f"--model={model}", *flags], folder / f"{name}.log"
        )
        self._server.wait_ready()
        self._client = Client(self._server.address)
        self.model = self._client.model()

    def run(self, load: Load) -> float:
        """Output tokens a second, over all streams."""

        def complete(prompt: list[int]) -> int:
            answer = self._client.complete(
                prompt, max_tokens=load.output, ignore_eos=True, temperature=0.0
            )
            return answer.usage.output_tokens

        prompts = load.prompts()
        with ThreadPoolExecutor(load.concurrency) as pool:
            begin = time.perf_counter()
            tokens = sum(pool.map(complete, prompts))
            return tokens / (time.perf_counter() - begin)

    def stop(self) -> None:
        self._client.close()
        self._server.stop()


@contextlib.contextmanager
def sides(binary: Path, a: str, b: str) -> Iterator[tuple[Side, Side]]:
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        started = []
        for name, command in (("a", a), ("b", b)):
            started.append(Side(binary, command, Path(folder), name))
            stack.callback(started[-1].stop)
        yield started[0], started[1]


def measure(a: Side, b: Side, load: Load, pairs: int, progress: tqdm) -> dict:
    """The first pair fills caches and is thrown away."""
    results: dict[str, list[float]] = {"a": [], "b": []}
    for pair in range(pairs + 1):
        order = [("a", a), ("b", b)] if pair % 2 == 0 else [("b", b), ("a", a)]
        for name, side in order:
            speed = side.run(load)
            if pair > 0:
                results[name].append(speed)
            progress.update()
    ratios = [x / y for x, y in zip(results["a"], results["b"], strict=True)]
    return {
        "context": load.context,
        "concurrency": load.concurrency,
        "a_tokens_per_second": statistics.median(results["a"]),
        "b_tokens_per_second": statistics.median(results["b"]),
        "ratio": statistics.median(ratios),
        "least_ratio": min(ratios),
        "largest_ratio": max(ratios),
        "pairs": ratios,
    }


def table(rows: list[dict]) -> str:
    lines = ["| context | A tokens/s | B tokens/s | A / B, median | least | largest |"]
    lines.append("|---|---|---|---|---|---|")
    lines += [
        f"| {row['context']} | {row['a_tokens_per_second']:.1f} | {row['b_tokens_per_second']:.1f} "
        f"| {row['ratio']:.4f} | {row['least_ratio']:.4f} | {row['largest_ratio']:.4f} |"
        for row in rows
    ]
    return "\n".join(lines)


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--a", required=True, metavar="'MODEL FLAGS'", help="the first server")
    parser.add_argument("--b", required=True, metavar="'MODEL FLAGS'", help="the second server")
    parser.add_argument("--contexts", default="256,2048,8192", help="tokens (default %(default)s)")
    parser.add_argument("--pairs", type=int, default=10, help="(default %(default)s)")
    parser.add_argument("--concurrency", type=int, default=8, help="(default %(default)s)")
    parser.add_argument("--output", type=int, default=64, help="tokens (default %(default)s)")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--binary", type=Path, default=ROOT / "build/server/app/affine_server")
    return parser.parse_args(arguments)


def main() -> None:
    options = parsed()
    contexts = [int(word) for word in options.contexts.split(",")]
    with sides(options.binary, options.a, options.b) as (a, b):
        runs = 2 * (options.pairs + 1) * len(contexts)
        with tqdm(total=runs, unit="run", file=sys.stderr) as progress:
            rows = [
                measure(
                    a,
                    b,
                    Load(options.concurrency, context, options.output),
                    options.pairs,
                    progress,
                )
                for context in contexts
            ]
        described = {side: f"{s.command} ({s.model.dtype})" for side, s in (("a", a), ("b", b))}
    print(f"A: {described['a']}\nB: {described['b']}")
    machine = str(this_machine())
    print(f"{machine}; concurrency {options.concurrency}, {options.output} output tokens")
    print(table(rows))
    if options.json:
        options.json.write_text(
            json.dumps({"machine": machine, **described, "rows": rows}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
