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
    """GET answers from `pages`; POST streams `tokens` events, `chunked` on a connection that stays
    open, else until it closes it."""

    def __init__(self, tokens: int = 3, status: int = 200, *, chunked: bool = False) -> None:
        self.pages = {
            "/metrics": METRICS,
            "/v1/models": json.dumps({"data": [{"id": "over-http"}]}),
        }
        self.bodies: list[dict] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []  # of POST
        self.connections = 0
        self.closes = False  # hangs up after each answer, and does not say so
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1" if chunked else "HTTP/1.0"

            def setup(self) -> None:
                super().setup()
                fake.connections += 1

            def do_GET(self) -> None:
                fake.headers.append(dict(self.headers))
                page = fake.pages.get(self.path)
                self.send_response(200 if page is not None else 404)
                self.end_headers()
                self.wfile.write((page or "").encode())

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fake.bodies.append(body)
                fake.headers.append(dict(self.headers))
                fake.paths.append(self.path)
                self.send_response(status)
                if chunked:
                    self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                try:
                    self._answer(body)
                except OSError:
                    self.close_connection = True  # the caller has hung up
                self.close_connection = self.close_connection or fake.closes

            def _answer(self, body: dict) -> None:
                if status != 200:
                    self._say(b'{"error": {"message": "no"}}')
                    return
                piece = {"delta": {"content": "x"}} if "messages" in body else {"text": "x"}
                for _ in range(tokens):
                    self._say(f"data: {json.dumps({'choices': [piece]})}\n\n".encode())
                size = len(body.get("prompt", ()))
                usage = {"prompt_tokens": size, "completion_tokens": tokens}
                event = json.dumps({"choices": [], "usage": usage})
                self._say(f"data: {event}\n\ndata: [DONE]\n\n".encode())
                if chunked:
                    self.wfile.write(b"0\r\n\r\n")

            def _say(self, data: bytes) -> None:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if chunked else data)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True  # a kept connection has no end
        self.address = f"127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self._thread.start()

    def stop(self) -> None:
        """May be called again."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
