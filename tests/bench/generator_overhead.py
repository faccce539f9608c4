#!/usr/bin/env python3
"""What the load generator itself costs: processor time a token, over gRPC and over HTTP.

    generator_overhead.py [--tokens N]

The answers are those of a fake server in another process, which makes them as fast as it can, so
that all of this process's time is the generator's own.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from itertools import islice
from pathlib import Path

from affine_client.bench.callers import Caller, GrpcCaller, HttpCaller
from affine_client.bench.generator_load import generator_load
from affine_client.bench.lengths import fixed
from affine_client.bench.loop import Limits, LoadRun
from affine_client.bench.workload import Workload

FAKES = Path(__file__).resolve().parents[1] / "clients"
_SERVE = """
import sys
sys.path.insert(0, {folder!r})
from fake_http import FakeHttp
from fake_service import FakeServer
grpc, http = FakeServer(), FakeHttp(tokens={tokens}, chunked=True)
print(grpc.address, http.address, flush=True)
sys.stdin.read()
grpc.stop()
http.stop()
"""


async def measured(caller: Caller, tokens: int) -> tuple[float, float]:
    """Microseconds of processor time a token, and tokens a second."""
    load = list(islice(Workload(1000, fixed(128), fixed(tokens), "0").conversations(), 64))
    with generator_load() as generator:
        records, duration = await LoadRun(caller, Limits(callers=16), lambda _: None).run(load)
    await caller.close()
    errors = [record.error for record in records if record.error]
    if errors:
        raise SystemExit(f"{len(errors)} requests failed; the first: {errors[0]}")
    count = sum(sum(record.counts) for record in records)
    return 1e6 * generator.cpu_s / count, count / duration


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=200, help="of an answer (default: 200)")
    tokens = parser.parse_args().tokens
    code = _SERVE.format(folder=str(FAKES), tokens=tokens)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        grpc, http = server.stdout.readline().split()
        for name, make in (
            ("gRPC", lambda: GrpcCaller(grpc, "fake", None)),
            ("HTTP", lambda: HttpCaller(http, "fake", None)),
        ):

            async def work(make=make) -> tuple[float, float]:
                return await measured(make(), tokens)

            each, speed = asyncio.run(work())
            print(f"{name}: {each:.0f} microseconds a token, at {speed:,.0f} tokens a second")
        server.stdin.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
