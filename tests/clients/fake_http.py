"""An HTTP server of 127.0.0.1 with fixed pages."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

METRICS = """\
# HELP vllm:num_requests_running Requests being computed.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="m"} 3
vllm:num_requests_waiting{model_name="m"} 1
vllm:kv_cache_usage_perc{model_name="m"} 0.25
vllm:prompt_tokens_total{model_name="m"} 12000
vllm:generation_tokens_total{model_name="m"} 3456
vllm:prefix_cache_queries_total 200
vllm:prefix_cache_hits_total 50
vllm:request_success_total{finished_reason="stop",model_name="m"} 7
vllm:request_success_total{finished_reason="length",model_name="m"} 4
vllm:time_to_first_token_seconds_bucket{le="0.1"} 50
vllm:time_to_first_token_seconds_bucket{le="0.2"} 90
vllm:time_to_first_token_seconds_bucket{le="2"} 100
vllm:time_to_first_token_seconds_bucket{le="+Inf"} 100
vllm:time_to_first_token_seconds_count 100
vllm:inter_token_latency_seconds_bucket{le="+Inf"} 0
"""


class FakeHttp:
    """GET answers from `pages`; POST /v1/completions streams `tokens` events."""

    def __init__(self, tokens: int = 3, status: int = 200) -> None:
        self.pages = {
            "/metrics": METRICS,
            "/v1/models": json.dumps({"data": [{"id": "over-http"}]}),
        }
        self.bodies: list[dict] = []
        self.headers: list[dict[str, str]] = []
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                fake.headers.append(dict(self.headers))
                page = fake.pages.get(self.path)
                self.send_response(200 if page is not None else 404)
                self.end_headers()
                self.wfile.write((page or "").encode())

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fake.bodies.append(body)
                self.send_response(status)
                self.end_headers()
                if status != 200:
                    self.wfile.write(b'{"error": {"message": "no"}}')
                    return
                for _ in range(tokens):
                    self.wfile.write(b'data: {"choices": [{"text": "x"}]}\n\n')
                usage = {"prompt_tokens": len(body["prompt"]), "completion_tokens": tokens}
                event = json.dumps({"choices": [], "usage": usage})
                self.wfile.write(f"data: {event}\n\ndata: [DONE]\n\n".encode())

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
