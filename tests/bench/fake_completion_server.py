#!/usr/bin/env python3
"""Stands in for affine_server, llama-server and vLLM: `fake_completion_server.py KIND FLAGS...`.

It answers at once and tells the tokens of its events as a server of its KIND does, two in every event
after the first. --weights is a flag that it does not know. A long answer comes a token at a time,
until the caller hangs up.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

LONG = 1000  # tokens
PACE_S = 0.002  # between the tokens of a long answer


class Handler(BaseHTTPRequestHandler):
    kind = "affine"
    requests_file = Path()
    lock = threading.Lock()
    steps = 0

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        page = (
            f"affine_step_seconds_sum {1.25 * self.steps}\n"
            f"affine_step_model_seconds_sum {1.0 * self.steps}\n"
        )
        self.wfile.write(page.encode() if self.path == "/metrics" else b"ok")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with Handler.lock, self.requests_file.open("a") as file:
            Handler.steps += 1
            file.write(json.dumps({"kind": self.kind, "body": body}) + "\n")
        self.send_response(200)
        self.end_headers()
        try:
            self._stream(body)
        except OSError:
            self.close_connection = True  # the caller has hung up

    def _stream(self, body: dict) -> None:
        tokens = body["max_tokens"]
        ends = range(1, tokens + 1) if tokens > LONG else [*range(1, tokens, 2), tokens]
        for before, after in pairwise([0, *ends]):
            if tokens > LONG:
                threading.Event().wait(PACE_S)
            self._event({"choices": [{"text": "x", **self._ids(after - before)}], **self._n(after)})
        usage = {"prompt_tokens": len(body["prompt"]), "completion_tokens": tokens}
        self._event({"choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def _ids(self, count: int) -> dict:
        return {} if self.kind == "llama" else {"token_ids": [7] * count}

    def _n(self, count: int) -> dict:
        return {"timings": {"predicted_n": count}} if self.kind == "llama" else {}

    def _event(self, event: dict) -> None:
        self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True


def main() -> int:
    kind, requests_file, *words = sys.argv[1:]
    flags = " ".join(words)
    if "--weights" in flags:
        print("starting\nunknown flag --weights", file=sys.stderr)
        return 2
    Handler.kind, Handler.requests_file = kind, Path(requests_file)
    port = re.search(r"--port[ =](\d+)", flags)
    assert port is not None, flags
    Server(("127.0.0.1", int(port[1])), Handler).serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
