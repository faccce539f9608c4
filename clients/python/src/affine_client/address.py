"""Where the server is, and the gRPC channel options for it."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

DEFAULT_ADDRESS = "127.0.0.1:8000"

# The server answers keepalive pings down to one in 10 s. A refused connection is tried again soon,
# since fail-fast calls would otherwise see one stale failure for a whole second.
CHANNEL_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
)


def server_address(given: str | None = None) -> str:
    """`given`, else the environment's AFFINE_ADDRESS, else DEFAULT_ADDRESS, as host:port.

    Takes http://host:port too. Raises ValueError when there is no port in it.
    """
    address = given or os.environ.get("AFFINE_ADDRESS") or DEFAULT_ADDRESS
    parts = urlsplit(address if "://" in address else f"//{address}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError as problem:
        raise ValueError(f"address {address!r}: {problem}") from None
    if parts.scheme not in ("", "http", "grpc") or not host or port is None:
        raise ValueError(f"address {address!r} is not of the form host:port, as {DEFAULT_ADDRESS}")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
